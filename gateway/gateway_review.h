/* gateway_review: lets programs answer in place of a person about something other than a
 * destination: a command, a patch, permissions, an elicitation (docs/decisions/0024).
 * sallyport-reviewer(7). */
#pragma once

#include <stdint.h>

#include "gateway/gateway.h"
#include "policies/policies_agent.h"

/* Which of struct gateway_helpers. */
enum gateway_review_by {
	GATEWAY_REVIEW_BY_ALL,      /* the hooks, and then the reviewer */
	GATEWAY_REVIEW_BY_HOOKS,    /* all hooks for the kind; one denial is enough */
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
	int64_t timeout_ms; /* of each program, if it is less than the program's own; 0: its own */
};
enum gateway_review_outcome {
	GATEWAY_REVIEW_NONE,   /* no answer: ask a person. The next two mean the same */
	GATEWAY_REVIEW_LATE,   /* a program did not answer in time: that is no denial */
	GATEWAY_REVIEW_FAILED, /* a program crashed, or its answer was malformed */
	GATEWAY_REVIEW_ALLOW,  /* for once */
	GATEWAY_REVIEW_DENY,
};
struct gateway_review_result {
	enum gateway_review_outcome outcome;
	const char *by, *reason; /* visible text, or "" */
};
typedef void (*gateway_review_fn)(const struct gateway_review_result *result, void *arg);
/* Borrows @request. @done runs once, from the loop, after the result was recorded as `reviewed`; it
 * does not run if the review is withdrawn or the gateway freed before. NULL with @why: no such
 * kind, or too many wait. */
#define GATEWAY_REVIEWS_MAX 256
struct gateway_review *gateway_review(struct gateway *gw,
				      const struct gateway_review_request *request,
				      gateway_review_fn done, void *arg, struct err *why);
void gateway_review_withdraw(struct gateway_review *review); /* NULL is fine */

/* A person has the question, and the reviewer, whose answers are only compared, is asked
 * separately. NULL: there is no such reviewer, or too many reviews are open: nothing is compared
 * then. End it with gateway_review_compare() before the gateway is freed. */
struct gateway_review *gateway_review_watch(struct gateway *gw,
					    const struct gateway_review_request *request);
/* @by_person: the person's answer; ASK: none. Frees @watch; NULL is fine. */
void gateway_review_compare(struct gateway_review *watch, enum policy_action by_person);
