/* grants: remembered answers, per exec or for the session. An answer for exactly one destination is
 * found by that destination; a wider one is found by its host or domain, and then the policy made
 * from its text says whether it covers a request. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/gateway_approver.h"
#include "gateway/link/keys.h"
#include "gateway/execs/socket_owner.h"
#include "policies/policies.h"

#define GRANTS_MAX      65536
#define GRANTS_WIDE_MAX 1024 /* each holds a small policy */

struct grant_group;

struct grant {
	struct key_node node;          /* exact: by exec and destination */
	struct key_node id_node;       /* by id, the number */
	struct policy_destination dst; /* of the question it answered */
	uint64_t exec;                 /* 0: the session */
	uint64_t session;              /* only this session: sessions.h; 0: the gateway's own */
	uint64_t answer;               /* rises; grants of one answer share it */
	enum policy_action action;     /* allow or deny */
	enum policy_reason reason;
	enum gateway_scope scope;
	struct approver_width width;
	char *program; /* only this one; NULL: any */
	struct socket_owner_file
		program_file; /* an allow for one program is valid for this file only */
	struct policy *wide;  /* NULL: exactly @dst */
	struct grant_group *group;
	char *text, *words;
	char *from; /* the session it was copied from; NULL: answered here */
	char by[64];
	int64_t since_s, until_s;    /* until 0: no time limit */
	struct policy_limits limits; /* of all connections that it allows */
	uint64_t bytes_up, bytes_down;
	uint32_t connections, live;
	bool is_spent;           /* its budget: it serves open connections, and allows no more */
	enum policy_reason over; /* retired: why; else POLICY_NONE */
	unsigned int reloads;    /* withdrawn: number of reloads since then */
	char over_by[64];
	LIST_ENTRY(grant) entry;       /* in the list of its exec, or of the session */
	LIST_ENTRY(grant) group_entry; /* wide */
	TAILQ_ENTRY(grant) order;      /* oldest first; retired: in the list of those */
};
LIST_HEAD(grant_list, grant);

struct domains;

struct grants {
	struct key_table table;  /* exact: by owner (an exec, a session, or 0) and destination */
	struct key_table groups; /* wide: by owner and host */
	struct key_table ids;
	bool wants_program; /* some grant is for one program only */
	size_t wide_count;
	uint64_t last_id, last_account;
	struct accounts *accounts; /* of budgets, which end with their grants; NULL: none */
	struct domains *domains;
	struct grant_list session; /* those without an exec */
	TAILQ_HEAD(grant_queue, grant) all;
	struct grant_queue retired; /* no longer valid; their connections are being cut */
	/* Kept answers whose lines were removed from the file, but are still in the policy in
	 * force. */
	struct grant_queue withdrawn;
};

/* What to remember. Borrowed. */
struct grant_order {
	uint64_t exec, session, answer; /* session: if there is no exec */
	const struct policy_destination *dst;
	enum policy_action action;
	enum policy_reason reason;
	enum gateway_scope scope;
	struct approver_width width;
	const char *program; /* of the question; "": not known */
	struct socket_owner_file program_file;
	const char *text, *by, *words;
	const char *from; /* as in struct grant */
	int64_t since_s;  /* the start of its duration */
};

void grants_init(struct grants *grants);
void grants_done(struct grants *grants);

/* The grant for @exec (0: none) of @session (0: only the gateway's own) and @facts at facts->now: a
 * denial before an allow, whatever its width; the session's before the exec's. @program_file: of
 * the asking program, if it is known. Borrowed; NULL: none. */
struct grant *grants_find(const struct grants *grants, uint64_t exec, uint64_t session,
			  const struct policy_facts *facts,
			  const struct socket_owner_file *program_file);
/* The grant for the same hosts and ports and the same program. Borrowed; or NULL. */
struct grant *grants_same(const struct grants *grants, const struct grant_order *order);
/* Borrowed; it may be retired. NULL: unknown, or forgotten. */
struct grant *grants_by_id(const struct grants *grants, uint64_t id);
/* Remembers an answer, or renews the grant for exactly the same (which keeps its id). @list: the
 * exec's own, or &grants->session for 0. NULL with @why: no room, or the text is not valid. */
struct grant *grants_put(struct grants *grants, struct grant_list *list,
			 const struct grant_order *order, struct err *why);
/* Is there room for @count more? */
bool grants_has_room(const struct grants *grants, size_t count, bool is_wide);
/* Was a kept answer for @facts revoked, while the policy may still contain it? */
bool grants_are_withdrawn(const struct grants *grants, const struct policy_facts *facts);
/* A new policy is in force: forgets the withdrawn answers that it no longer contains. */
void grants_reloaded(struct grants *grants, const struct policy *policy, int64_t now_s);
/* @grant is no longer valid, and is kept until grants_drop(). */
void grants_retire(struct grants *grants, struct grant *grant, enum policy_reason why,
		   const char *by);
void grants_drop(struct grants *grants, struct grant *retired);
/* Forgets every grant in @list. */
void grants_forget(struct grants *grants, struct grant_list *list);
