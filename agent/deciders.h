/* deciders: asks the policy's hooks and the reviewer before the client; a reviewer that only
 * watches is asked at the same time as the client. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct deciders;
struct gateway_review;
struct orchestrator_decider;
struct orchestrator_question;
struct session;

/* The deciders of @session, and their open questions. Returned owned. */
struct deciders *deciders_new(struct session *session);
void deciders_free(struct deciders *deciders); /* NULL is fine */
/* The deciders, as the orchestrator needs to know them. */
const struct orchestrator_decider *deciders_list(const struct deciders *deciders,
						 size_t *ret_count);

/* ops->decide: @arg is the session. */
int deciders_ask(size_t decider, const struct orchestrator_question *question, void *arg);
/* The orchestrator does not wait for @id any more. False: no decider was asked @id. */
bool deciders_drop(struct session *session, const char *id);
bool deciders_has(const struct session *session, const char *id);

/* Call it when @question is put to a person. NULL: no reviewer watches; else for
 * gateway_review_compare(). */
struct gateway_review *deciders_watch(const struct session *session,
				      const struct orchestrator_question *question);
