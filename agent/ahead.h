/* ahead: the policy's hooks, which speak before the client is asked. */
#pragma once

#include <stdbool.h>

#include "exec/orchestrator/orchestrator_ops.h"

struct agent;
struct session;

/* Fills in what an orchestrator needs to know of the hooks there are. False: there is none. */
bool ahead_decider(const struct agent *agent, struct orchestrator_decider *ret);
/* ops->decide: @arg is the session. */
int ahead_decide(size_t decider, const struct orchestrator_question *question, void *arg);
/* The orchestrator waits for @id no more. False: it is none of theirs. */
bool ahead_drop(struct session *session, const char *id);
bool ahead_has(const struct session *session, const char *id);
void ahead_free_all(struct session *session);
