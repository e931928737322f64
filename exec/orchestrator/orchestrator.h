/* orchestrator: takes one request of an agent from "may it?" to a result: approval, confinement, an
 * attempt, and at most one retry that widens only what was refused. One per session. It is handed
 * operations, and touches no socket, process or file itself.
 *
 * Whatever happens is told from the loop, never inside the call that asked. No operation is called
 * from inside a function of this header, and any of these may be called from inside an operation.
 * Ids and numbers that are over, unknown or answered before change nothing, and that is said. */
#pragma once

#include "exec/orchestrator/orchestrator_ops.h"

struct err;
struct loop;
struct orchestrator;

#define ORCHESTRATOR_ID_MAX        33 /* 128 bits, lower-case hexadecimal, and NUL */
#define ORCHESTRATOR_CALLS_MAX     4096
#define ORCHESTRATOR_APPROVALS_MAX 4096 /* remembered; one more is not */
#define ORCHESTRATOR_DECIDERS_MAX  16

enum orchestrator_mode {
	ORCHESTRATOR_NEVER, /* nobody is asked; the sandbox is the protection */
	ORCHESTRATOR_UNTRUSTED,
	ORCHESTRATOR_ON_REQUEST,
	ORCHESTRATOR_ON_FAILURE,
	ORCHESTRATOR_GRANULAR
};
/* What may be asked about, in ORCHESTRATOR_GRANULAR. */
enum orchestrator_category {
	ORCHESTRATOR_MAY_ASK_SANDBOX = 1 << 0,
	ORCHESTRATOR_MAY_ASK_RULES = 1 << 1,
	ORCHESTRATOR_MAY_ASK_PERMISSIONS = 1 << 2,
	ORCHESTRATOR_MAY_ASK_ELICITATION = 1 << 3,
	ORCHESTRATOR_MAY_ASK_NETWORK = 1 << 4,
	ORCHESTRATOR_MAY_ASK_ALL = (1 << 5) - 1
};
/* "untrusted", "on-request", "on-failure", "never", or "granular:WORD,WORD…" of sandbox, rules,
 * permissions, elicitation, network (as true: may be asked), or "reject:WORD,WORD…" (the same,
 * inverted). 0, or -EINVAL with @why. */
int orchestrator_mode_parse(const char *text, enum orchestrator_mode *ret_mode,
			    unsigned int *ret_categories, struct err *why);

struct orchestrator_config {
	const struct orchestrator_ops *ops; /* kept */
	void *arg;                          /* of every operation */
	enum orchestrator_mode mode;
	unsigned int categories;           /* GRANULAR */
	const struct command_rules *rules; /* kept; NULL: there are none */
	/* A retry may be offered with nothing around it, where no file is denied. */
	bool may_unconfine;
	bool may_leave_by_rule; /* `command allow … unconfined` is more than allow */
	bool judges_programs;   /* what a confined run executes is judged by the rules again */
	bool is_strict;         /* a reviewer sees everything that runs, and hooks decide nothing */
	int64_t question_ms;    /* to answer a question; 0: ORCHESTRATOR_QUESTION_MS */
	const struct orchestrator_decider *deciders; /* kept; in the order they are put to */
	size_t decider_count;
};
#define ORCHESTRATOR_QUESTION_MS (5 * 60 * INT64_C(1000))

/* Returned owned. Keeps @loop. NULL with @why: the configuration cannot be. */
struct orchestrator *orchestrator_new(struct loop *loop, const struct orchestrator_config *config,
				      struct err *why);
/* Nothing is called any more: no operation, no done. Not from inside one. NULL is fine. */
void orchestrator_free(struct orchestrator *orchestrator);
/* Other rules from now on: @rules is kept instead. What has not started yet is judged again. */
void orchestrator_set_rules(struct orchestrator *orchestrator, const struct command_rules *rules);

/* 0 and the number of the call: @request->done runs once. -EINVAL, -E2BIG, -EBUSY (too many) with
 * @why: it does not, and nothing happened. */
int orchestrator_start(struct orchestrator *orchestrator,
		       const struct orchestrator_request *request, uint64_t *ret_call,
		       struct err *why);
/* Ends it: a running attempt is stopped, and what it printed is kept. -ENOENT. */
int orchestrator_cancel(struct orchestrator *orchestrator, uint64_t call);

struct orchestrator_answer {
	enum orchestrator_choice choice;
	int64_t expires_ms; /* SESSION: forgotten after so long; 0: with the session */
	bool is_nobody;     /* DENY: and no person said so; nobody was asked */
	const char *words;  /* a denial's, for whoever asked; may be NULL */
	size_t proposal;    /* ALWAYS: this line of those proposed alone, from 1; 0: all of them */
};
/* A person's answer to what ops->ask() was given. -ENOENT: there is no such question, or not any
 * more; -EPERM: it was not put to @client; -EINVAL: this choice, or line, was not offered, the
 * question stays open. All with @why. */
int orchestrator_answer(struct orchestrator *orchestrator, const char *id, uint64_t client,
			const struct orchestrator_answer *answer, struct err *why);
/* A program's to what ops->decide() was given. -ENOENT with @why. */
int orchestrator_decide(struct orchestrator *orchestrator, const char *id,
			enum orchestrator_decision decision, const char *words, struct err *why);
/* Nobody answers for @client any more: what it was asked is denied. Returns how many. */
size_t orchestrator_client_gone(struct orchestrator *orchestrator, uint64_t client);

/* -ENOENT: no such attempt, or it had ended. @outcome is copied; its output stays the caller's and
 * must live until the request is done. */
int orchestrator_attempt_ended(struct orchestrator *orchestrator, uint64_t attempt,
			       const struct orchestrator_outcome *outcome);
/* @error: 0, or -errno: the lines are not in the policy, and the answer counts for once. -ENOENT.
 */
int orchestrator_stored(struct orchestrator *orchestrator, uint64_t number, int error);

/* Has too many denials on it, so persons are asked in its place, until it is closed again. */
bool orchestrator_is_breaker_open(const struct orchestrator *orchestrator, size_t decider);
void orchestrator_close_breaker(struct orchestrator *orchestrator, size_t decider);

/* What is remembered for this session: an approval or a denial. */
struct orchestrator_approval {
	const char *id; /* to revoke it */
	bool is_denial;
	const char *text; /* for people, made visible */
	uint64_t client;  /* who said so */
	int64_t left_ms;  /* -1: as long as the session */
};
/* Calls @each for all of them, oldest first; it must not change them. */
void orchestrator_approvals(const struct orchestrator *orchestrator,
			    void (*each)(const struct orchestrator_approval *approval, void *arg),
			    void *arg);
/* -ENOENT. What runs goes on. */
int orchestrator_revoke(struct orchestrator *orchestrator, const char *id);
