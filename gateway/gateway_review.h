/* gateway_review: what programs may say for a person of something that is no destination: a
 * command, a patch, permissions, an elicitation (docs/decisions/0131, 0181). sallyport-reviewer(7).
 */
#pragma once

#include <stdint.h>

#include "gateway/gateway.h"
#include "policies/policies_agent.h"

/* Which of struct gateway_helpers. */
enum gateway_review_by {
	GATEWAY_REVIEW_BY_ALL,   /* the hooks, and then the reviewer */
	GATEWAY_REVIEW_BY_HOOKS, /* all of them that are for the kind; one that denies is enough */
	GATEWAY_REVIEW_BY_REVIEWER, /* if it may answer */
};
/* Text may be NULL. */
struct gateway_review_request {
	enum policy_helper_kind kind; /* not network */
	enum gateway_review_by by;
	uint64_t exec;           /* 0: none yet */
	const char *const *argv; /* NULL-terminated */
	const char *cwd, *confinement, *justification, *rule;
	const char *detail; /* of the patch, the permissions, the elicitation */
	int64_t timeout_ms; /* of each program, if that is less than its own; 0: its own */
};
enum gateway_review_outcome {
	GATEWAY_REVIEW_NONE,   /* nothing was said: ask a person. So it is with the next two */
	GATEWAY_REVIEW_LATE,   /* one did not answer in time: that is no denial */
	GATEWAY_REVIEW_FAILED, /* one crashed, or said what is no answer */
	GATEWAY_REVIEW_ALLOW,  /* this once */
	GATEWAY_REVIEW_DENY,
};
struct gateway_review_result {
	enum gateway_review_outcome outcome;
	const char *by, *reason; /* visible text, or "" */
};
typedef void (*gateway_review_fn)(const struct gateway_review_result *result, void *arg);
/* Borrows @request. @done runs once, from the loop, after it was recorded as `reviewed`; not when
 * it is withdrawn, or the gateway freed, before. NULL with @why: no such kind, or too many wait. */
#define GATEWAY_REVIEWS_MAX 256
struct gateway_review *gateway_review(struct gateway *gw,
				      const struct gateway_review_request *request,
				      gateway_review_fn done, void *arg, struct err *why);
void gateway_review_withdraw(struct gateway_review *review); /* NULL is fine */

/* A person has the question, and the reviewer, which only watches, is asked for itself. NULL:
 * nobody watches, or too much is watched: then nothing is compared. End it with
 * gateway_review_compare(), before the gateway is freed. */
struct gateway_review *gateway_review_watch(struct gateway *gw,
					    const struct gateway_review_request *request);
/* What the person said, ASK: nothing; @watch is dead. NULL is fine. */
void gateway_review_compare(struct gateway_review *watch, enum policy_action by_person);
