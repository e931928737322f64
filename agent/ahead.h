/* ahead: the policy's hooks and the reviewer, which speak before the client is asked; or, of a
 * reviewer that only watches, beside it. */
#pragma once

#include <stdbool.h>

#include "exec/orchestrator/orchestrator_ops.h"
#include "gateway/gateway_review.h"

struct agent;
struct session;

#define AHEAD_DECIDERS_MAX 2
/* What an orchestrator needs to know of them, and who each of them is. */
struct ahead_table {
	struct orchestrator_decider list[AHEAD_DECIDERS_MAX];
	enum gateway_review_by by[AHEAD_DECIDERS_MAX];
	size_t count;
};
void ahead_deciders(const struct agent *agent, struct ahead_table *ret);

/* ops->decide: @arg is the session. */
int ahead_decide(size_t decider, const struct orchestrator_question *question, void *arg);
/* The orchestrator waits for @id no more. False: it is none of theirs. */
bool ahead_drop(struct session *session, const char *id);
bool ahead_has(const struct session *session, const char *id);
void ahead_free_all(struct session *session);

/* A person has @question. NULL: nobody watches; else for gateway_review_compare(). */
struct gateway_review *ahead_watch(const struct session *session,
				   const struct orchestrator_question *question);
