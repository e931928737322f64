/* wish: what the client asks to be done or decided: commands, permissions. Each serves a
 * submission: see submission.c. */
#pragma once

struct agent;
struct err;
struct orchestrator_request;
struct submission;

int wish_exec(struct agent *agent, const struct submission *submission, struct err *why);
int wish_permissions(struct agent *agent, const struct submission *submission, struct err *why);
int wish_elicitation(struct agent *agent, const struct submission *submission, struct err *why);
/* A question of the client's own, put through the same approval as its commands. */
int wish_begin_question(const struct submission *submission, struct orchestrator_request *request,
			struct err *why);
