/* grants: answers that are remembered, per exec or for the session. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/keys.h"
#include "policies/policies.h"

#define GRANTS_MAX 65536

struct grant {
	struct key_node node;
	struct policy_destination dst;
	enum policy_action action; /* allow or deny */
	enum policy_reason reason;
	char by[64];
	LIST_ENTRY(grant) entry;
};
LIST_HEAD(grant_list, grant);

struct grants {
	struct key_table table;    /* by exec (0: the session) and destination */
	struct grant_list session; /* those of no exec */
};

void grants_init(struct grants *grants);
void grants_done(struct grants *grants);

/* What holds for @exec (0: no exec) at @dst: a denial before an allow, the session's before the
 * exec's. Borrowed; NULL: nothing. */
const struct grant *grants_find(const struct grants *grants, uint64_t exec,
				const struct policy_destination *dst);
/* Remembers, or changes what was remembered. @list: the exec's own, or &grants->session for 0.
 * -ENOSPC: GRANTS_MAX. */
int grants_put(struct grants *grants, struct grant_list *list, uint64_t exec,
	       const struct policy_destination *dst, enum policy_action action,
	       enum policy_reason reason, const char *by);
/* Forgets everything on @list. */
void grants_forget(struct grants *grants, struct grant_list *list);
