/* approvals: answers that are remembered for the session, by key. They can expire, be listed and be
 * revoked. */
#pragma once

#include <sys/queue.h>

#include "exec/orchestrator/questions/key.h"
#include "exec/orchestrator/orchestrator_ops.h"

struct approvals_entry {
	TAILQ_ENTRY(approvals_entry) entry;
	struct key key;
	struct orchestrator_access access; /* that it grants; name NULL: none. Owned */
	char id[ORCHESTRATOR_ID_MAX];
	bool is_denial;
	uint64_t client;
	int64_t ends_ms; /* loop_now_ms(); 0: never */
};
struct approvals {
	TAILQ_HEAD(, approvals_entry) list; /* oldest first */
	size_t count;
};

void approvals_init(struct approvals *approvals);
void approvals_done(struct approvals *approvals);
enum approvals_says { APPROVALS_NOTHING, APPROVALS_ALLOWED, APPROVALS_DENIED };
enum approvals_says approvals_look(struct approvals *approvals, const struct key *key,
				   int64_t now_ms);
/* Allowed if all keys are allowed; denied if one is denied; nothing if there is no key. */
enum approvals_says approvals_look_all(struct approvals *approvals, const struct key_list *keys,
				       int64_t now_ms);
struct approvals_new {
	const struct key *key;                    /* copied */
	const struct orchestrator_access *access; /* that it grants; copied. NULL: none */
	bool is_denial;
	uint64_t client;
	int64_t ends_ms;
};
/* Replaces the earlier answer for this key. False: there are too many, or no random numbers; the
 * earlier answer is forgotten in that case, too. */
bool approvals_add(struct approvals *approvals, const struct approvals_new *add, int64_t now_ms);
/* @sandbox with all that remembered answers grant and that it does not deny: returned owned. */
struct exec_sandbox *approvals_widen(const struct approvals *approvals,
				     const struct exec_sandbox *sandbox, int64_t now_ms);
int approvals_revoke(struct approvals *approvals, const char *id); /* -ENOENT */

/* An id that cannot be guessed. -EIO: no random numbers. */
int approvals_new_id(char ret[ORCHESTRATOR_ID_MAX]);
