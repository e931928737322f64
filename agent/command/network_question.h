/* network_question: puts the gateway's questions about destinations to the client. The gateway
 * calls these, with the agent as their argument: see struct gateway_embedded. */
#pragma once

struct approver_end;
struct approver_question;

void network_question_ask(const struct approver_question *question, void *agent);
void network_question_changed(const struct approver_question *question, void *agent);
/* Also called after the client's own answer, which was told already. */
void network_question_retract(const struct approver_end *end, void *agent);

/* The name of the decider if nobody may be asked; it is not a person. */
extern const char network_question_nobody[];
