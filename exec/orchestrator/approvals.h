/* approvals: what was answered for the session, by key: with an end, a list, and a way back. */
#pragma once

#include <sys/queue.h>

#include "exec/orchestrator/key.h"
#include "exec/orchestrator/orchestrator.h"

struct approvals_entry {
	TAILQ_ENTRY(approvals_entry) entry;
	struct key key;
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
/* Allowed where every key is; denied where one is; nothing where there is none. */
enum approvals_says approvals_look_all(struct approvals *approvals, const struct key_list *keys,
				       int64_t now_ms);
struct approvals_new {
	const struct key *key; /* copied */
	bool is_denial;
	uint64_t client;
	int64_t ends_ms;
};
/* In place of what was said of this key before. False: there are too many, or no random numbers;
 * what was said before is forgotten all the same. */
bool approvals_add(struct approvals *approvals, const struct approvals_new *add, int64_t now_ms);
int approvals_revoke(struct approvals *approvals, const char *id); /* -ENOENT */

/* An id that nobody can guess. -EIO: no random numbers. */
int approvals_new_id(char ret[ORCHESTRATOR_ID_MAX]);
