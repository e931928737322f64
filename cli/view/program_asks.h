/* program_asks: --intercept-exec: asks people about the programs that a rule asks about. Equal
 * programs, with the same words in the same directory and by the same rule, are one question. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/policies.h"

struct command_verdict;
struct gateway;
struct loop;
struct orchestrator_judged;
struct program_asks;

/* The end of a question. Borrowed. */
struct program_answer {
	const struct orchestrator_judged *judged; /* the first one */
	const uint64_t *ids;                      /* of all */
	size_t id_count;
	bool is_allowed;
	const char *how; /* "denied by ana (uid 1000) on tty"; for people */
};

struct program_asks_config {
	struct loop *loop;
	struct gateway *gateway;
	uint64_t exec; /* the command's number at the gateway */
	int64_t timeout_ms;
	bool may_wait; /* also without an approver: one may come */
	/* Both run from the loop, after the answer was recorded. */
	void (*done)(const struct program_answer *answer, void *arg);
	void (*on_abort)(void *arg); /* the command must end */
	void *arg;
};

/* Returned owned. Keeps @config's loop, gateway and arg. */
struct program_asks *program_asks_new(const struct program_asks_config *config);
/* Ends all questions; done() does not run any more. NULL is fine. */
void program_asks_free(struct program_asks *asks);
/* What an earlier answer says about it: it was allowed for the session, or has just been denied.
 * ASK: nothing. */
enum policy_action program_asks_know(struct program_asks *asks,
				     const struct orchestrator_judged *judged);
/* Copies its arguments. @may_keep: an answer may hold for the session; not if the command can
 * change the file. POLICY_NONE: a question is open. Else the reason why none is: nobody can answer,
 * or there are too many. */
enum policy_reason program_asks_add(struct program_asks *asks,
				    const struct orchestrator_judged *judged,
				    const struct command_verdict *verdict, bool may_keep);
