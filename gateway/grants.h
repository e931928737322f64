/* grants: answers that are remembered, per exec or for the session. An answer for exactly one
 * destination is found by it; a wider one is found by its host or domain, and then policy says by
 * its text whether it covers a request. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/gateway_approver.h"
#include "gateway/keys.h"
#include "gateway/who.h"
#include "policies/policies.h"

#define GRANTS_MAX      65536
#define GRANTS_WIDE_MAX 1024 /* each is a small policy of its own */

struct grant_group;

struct grant {
	struct key_node node;          /* exact: by exec and destination */
	struct key_node id_node;       /* by id, the number */
	struct policy_destination dst; /* of the question it answered */
	uint64_t exec;                 /* 0: the session */
	uint64_t session;              /* of these alone: sessions.h; 0: the gateway's own */
	uint64_t answer;               /* rises; those of one answer share it */
	enum policy_action action;     /* allow or deny */
	enum policy_reason reason;
	enum gateway_scope scope;
	struct approver_width width;
	char *program;                /* that alone; NULL: any */
	struct who_file program_file; /* an allow for one program is for this very file */
	struct policy *wide;          /* NULL: exactly @dst */
	struct grant_group *group;
	char *text, *words;
	char *from; /* the session that it was copied from; NULL: answered here */
	char by[64];
	int64_t since_s, until_s;    /* until 0: no end of its own */
	struct policy_limits limits; /* of all connections under it */
	uint64_t bytes_up, bytes_down;
	uint32_t connections, live;
	bool is_spent;           /* its budget: it holds what lives by it, and allows no more */
	enum policy_reason over; /* retired: why; else POLICY_NONE */
	unsigned int reloads;    /* withdrawn: policies that came since */
	char over_by[64];
	LIST_ENTRY(grant) entry;       /* of its exec, or the session */
	LIST_ENTRY(grant) group_entry; /* wide */
	TAILQ_ENTRY(grant) order;      /* oldest first; retired: of the retired */
};
LIST_HEAD(grant_list, grant);

struct domains;

struct grants {
	struct key_table table;  /* exact: by owner (an exec, a session, 0) and destination */
	struct key_table groups; /* wide: by owner and host */
	struct key_table ids;
	bool wants_program; /* some grant is for one program alone */
	size_t wide_count;
	uint64_t last_id, last_account;
	struct accounts *accounts; /* of budgets, which end with their answers; NULL: none */
	struct domains *domains;
	struct grant_list session; /* those of no exec */
	TAILQ_HEAD(grant_queue, grant) all;
	struct grant_queue retired; /* hold no more; connections under them are being cut */
	/* Of those for always what is left: their lines are out of the file, and still in the
	 * policy that is in effect. */
	struct grant_queue withdrawn;
};

/* What is to be remembered. Borrowed. */
struct grant_order {
	uint64_t exec, session, answer; /* session: with no exec */
	const struct policy_destination *dst;
	enum policy_action action;
	enum policy_reason reason;
	enum gateway_scope scope;
	struct approver_width width;
	const char *program; /* of the question; "": not known */
	struct who_file program_file;
	const char *text, *by, *words;
	const char *from; /* as of a grant */
	int64_t since_s;  /* its width counts from there */
};

void grants_init(struct grants *grants);
void grants_done(struct grants *grants);

/* What holds for @exec (0: no exec) of @session (0: none but the gateway's) and @facts at
 * facts->now: a denial before an allow, however wide; the session's before the exec's.
 * @program_file: of who asks, as far as it is known. Borrowed; NULL: nothing. */
struct grant *grants_find(const struct grants *grants, uint64_t exec, uint64_t session,
			  const struct policy_facts *facts, const struct who_file *program_file);
/* What is remembered of the very same hosts and ports, for the same program. Borrowed; or NULL. */
struct grant *grants_same(const struct grants *grants, const struct grant_order *order);
/* Borrowed; also a retired one. NULL: unknown, or forgotten. */
struct grant *grants_by_id(const struct grants *grants, uint64_t id);
/* Remembers, or renews what was remembered of the very same (it keeps its id). @list: the exec's
 * own, or &grants->session for 0. NULL with @why: no room, or the text is no answer. */
struct grant *grants_put(struct grants *grants, struct grant_list *list,
			 const struct grant_order *order, struct err *why);
/* Is there room for so many more? */
bool grants_has_room(const struct grants *grants, size_t count, bool is_wide);
/* Was a kept answer for @facts taken back, which the policy may not know yet? */
bool grants_are_withdrawn(const struct grants *grants, const struct policy_facts *facts);
/* Another policy is in effect: what it does not hold any more need not be remembered. */
void grants_reloaded(struct grants *grants, const struct policy *policy, int64_t now_s);
/* It holds no more, and is kept until grants_drop(). */
void grants_retire(struct grants *grants, struct grant *grant, enum policy_reason why,
		   const char *by);
void grants_drop(struct grants *grants, struct grant *retired);
/* Forgets everything on @list. */
void grants_forget(struct grants *grants, struct grant_list *list);
