/* asking: what the orchestrator of a session asks for, on its way to the client. */
#pragma once

#include <jansson.h>

#include "exec/orchestrator/orchestrator_ops.h"

struct agent;
struct asked;
struct session;
enum agent_question_kind;

/* The operations of every session's orchestrator; their argument is the session. */
extern const struct orchestrator_ops asking_ops;

/* Notes that @id was put to the client; @session NULL: by the gateway. Borrowed. */
struct asked *asking_note(struct agent *agent, const char *id, enum agent_question_kind kind,
			  struct session *session);
struct asked *asking_find(const struct agent *agent, const char *id); /* NULL: not open */
void asking_forget(struct agent *agent, struct asked *asked);         /* NULL is fine */
void asking_forget_session(struct session *session);
const char *asking_kind_name(enum agent_question_kind kind);
/* Is there a destination with it whose domain a person would have to type? */
bool asking_warns(const struct session *session, const struct orchestrator_question *question);
/* The words of @choices, BIT(enum orchestrator_choice), as the client says them: owned. */
json_t *asking_choices(unsigned int choices);
/* The place of each word in the list is the enum's; NULL-terminated. */
extern const char *const asking_choice_words[];
