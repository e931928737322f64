/* ledger: what approvers may look at and take back: remembered answers and live connections. */
#pragma once

#include "gateway/approvers/approver_impl.h"

/* A remembered answer. Borrowed for the call. */
struct approver_grant {
	uint64_t id; /* rises; never used again */
	enum policy_action action;
	enum gateway_scope scope; /* not once */
	uint64_t exec;            /* of GATEWAY_EXEC */
	uint64_t session;         /* of GATEWAY_SESSION: of a session of the program's; 0: of all */
	const char *text;         /* "https://example.org:443 for 1h": what is granted */
	const char *by;
	int64_t since_s, until_s;      /* seconds since 1970; until 0: no end of its own */
	uint64_t bytes_up, bytes_down; /* moved under it, closed connections and what is known of
					  open ones */
	uint32_t connections;          /* begun under it */
	uint32_t live;                 /* and open now */
	/* What it is made of, for whoever would give the same again: of a budget what is left. */
	const struct policy_destination *dst;
	struct approver_width width;
	bool is_spent;       /* nothing is left */
	const char *program; /* of a width that has one, or NULL */
	const char *file;    /* that it is, as who_file_text() */
	const char *words;
	const char *from; /* the session it was copied from; NULL: it was answered here */
};
/* A connection that is open now. Borrowed for the call. */
struct approver_live {
	uint64_t id;
	uint64_t grant; /* 0: by a rule */
	uint64_t exec;
	const struct policy_facts *facts;
	const char *rule;
	int64_t age_ms;
};
/* What a revocation did. */
struct approver_revoked {
	uint32_t cut; /* connections */
	uint64_t bytes_up, bytes_down;
};

/* Remembered answers, oldest first; @max live connections, of which it returns how many there are.
 * @each must not call back. */
void gateway_each_grant(struct gateway *gw,
			void (*each)(const struct approver_grant *grant, void *arg), void *arg);
size_t gateway_each_live(struct gateway *gw, size_t max,
			 void (*each)(const struct approver_live *live, void *arg), void *arg);
/* Forgets the answer (one for always: its line in the file too), cuts what lives by it, records
 * both. -ENOENT; another -errno: the file could not be changed, and nothing was. */
int gateway_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		   struct err *why);
/* The same for all that the last answer made; @ret_text: what it was. -ENOENT: nothing is
 * remembered.
 */
int gateway_undo(struct gateway *gw, const char *by, char ret_text[APPROVER_KEY_MAX],
		 struct approver_revoked *ret, struct err *why);
/* Ends one live connection, and nothing else: the next one is decided as before. -ENOENT. */
int gateway_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why);
