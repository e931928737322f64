/* orchestrator: takes one request of an agent from the permission check to a result: approval,
 * confinement, an exec of the command, and at most one retry that widens only what was refused.
 * There is one per session. It calls the operations it is given, and uses no socket, process or
 * file itself.
 *
 * Every event is reported from the loop, never inside the call that caused it. No operation is
 * called from inside a function of this header, and any of these may be called from inside an
 * operation. An id or number that is unknown, over or already answered changes nothing, and an
 * error says so. */
#pragma once

#include "exec/orchestrator/orchestrator_ops.h"

struct err;
struct loop;
struct orchestrator;

/* Returned owned. Keeps @loop. NULL with @why: the configuration is invalid. */
struct orchestrator *orchestrator_new(struct loop *loop, const struct orchestrator_config *config,
				      struct err *why);
/* Nothing is called afterwards: no operation, no done. Must not be called from inside one. NULL is
 * fine. */
void orchestrator_free(struct orchestrator *orchestrator);
/* Replaces the rules: @rules is kept instead. What has not started yet is judged again. */
void orchestrator_set_rules(struct orchestrator *orchestrator, const struct command_rules *rules);

/* For what is judged from now on, also a retry. */
void orchestrator_set_mode(struct orchestrator *orchestrator, enum orchestrator_mode mode,
			   unsigned int categories);

/* 0 and the number of the request: @wanted->done runs once. -EINVAL, -E2BIG, -EBUSY (too many) with
 * @why: it does not run, and nothing has changed. */
int orchestrator_start(struct orchestrator *orchestrator, const struct orchestrator_request *wanted,
		       uint64_t *ret_request, struct err *why);
/* Ends the request: a running exec is stopped, and its output is kept. -ENOENT. */
int orchestrator_cancel(struct orchestrator *orchestrator, uint64_t request);

/* A person's answer to what was passed to ops->ask(). -ENOENT: the question is unknown or over;
 * -EPERM: it was not put to @client; -EINVAL: this choice, or line, was not offered, and the
 * question stays open. All with @why. */
int orchestrator_answer(struct orchestrator *orchestrator, const char *id, uint64_t client,
			const struct orchestrator_answer *answer, struct err *why);
/* The answer of a program, by its name, to what was passed to ops->decide(). -ENOENT with @why. */
int orchestrator_decide(struct orchestrator *orchestrator, const char *id,
			enum orchestrator_decision decision, const char *by, const char *words,
			struct err *why);
/* No person answers for @client any more: its questions are denied. Returns how many. */
size_t orchestrator_client_gone(struct orchestrator *orchestrator, uint64_t client);

/* -ENOENT: the exec is unknown, or had ended. @outcome is copied; its output stays the caller's and
 * must live until the request is done. */
int orchestrator_exec_ended(struct orchestrator *orchestrator, uint64_t exec,
			    const struct orchestrator_outcome *outcome);
/* @error: 0, or -errno: the lines were not added to the policy, and the answer counts once.
 * -ENOENT. */
int orchestrator_stored(struct orchestrator *orchestrator, uint64_t number, int error);

/* True if too many of its reviews were denials: from then on persons are asked instead. */
bool orchestrator_is_breaker_open(const struct orchestrator *orchestrator, size_t decider);

/* An answer remembered for this session: an approval or a denial. */
struct orchestrator_approval {
	const char *id; /* to revoke it */
	bool is_denial;
	const struct orchestrator_access *access; /* that it grants; NULL: it grants none */
	const char *text;                         /* for people, control characters escaped */
	uint64_t client;                          /* that gave the answer */
	int64_t left_ms;                          /* -1: until the end of the session */
};
/* Calls @each for all of them, oldest first; it must not change them. */
void orchestrator_approvals(const struct orchestrator *orchestrator,
			    void (*each)(const struct orchestrator_approval *approval, void *arg),
			    void *arg);
/* @sandbox with the files and sockets that remembered answers grant to every exec: returned owned.
 */
struct exec_sandbox *orchestrator_widen(const struct orchestrator *orchestrator,
					const struct exec_sandbox *sandbox);
/* -ENOENT. Running execs continue. */
int orchestrator_revoke(struct orchestrator *orchestrator, const char *id);
