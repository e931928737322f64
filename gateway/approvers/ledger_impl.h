/* ledger: what approvers can list and revoke: remembered answers and live connections. */
#pragma once

#include "gateway/approvers/approver_impl.h"

/* A remembered answer. Borrowed for the call. */
struct approver_grant {
	uint64_t id;     /* rises; never used again */
	uint64_t answer; /* the answer that made it, perhaps with others; rises; 0: none here */
	enum policy_action action;
	enum gateway_scope scope; /* not once */
	uint64_t exec;            /* of GATEWAY_EXEC */
	uint64_t session;         /* of GATEWAY_SESSION: a session of the program's; 0: all */
	const char *text;         /* "https://example.org:443 for 1h": what is granted */
	const char *by;
	int64_t since_s, until_s;      /* seconds since 1970; until 0: no time limit */
	uint64_t bytes_up, bytes_down; /* by all its connections, as far as known */
	uint32_t connections;          /* allowed by it */
	uint32_t live;                 /* of these, still open */
	/* Its parts, so that the same can be granted elsewhere: of a budget the rest. */
	const struct policy_destination *dst;
	struct approver_width width;
	bool is_spent;       /* its budget is used up */
	const char *program; /* of a width that has one, or NULL */
	const char *file;    /* of that program, as socket_owner_file_text() */
	const char *words;
	const char *from; /* the session it was copied from; NULL: it was answered in this one */
};
/* A connection that is open now. Borrowed for the call. */
struct approver_live {
	uint64_t id;
	uint64_t grant; /* that allowed it; 0: a rule did */
	uint64_t exec;
	const struct policy_facts *facts;
	const char *rule;
	int64_t age_ms;
};
/* The result of a revocation. */
struct approver_revoked {
	uint32_t cut; /* number of connections */
	uint64_t bytes_up, bytes_down;
};

/* Lists remembered answers, oldest first; and at most @max live connections: returns their total
 * number. @each must not call back. */
void gateway_each_grant(struct gateway *gw,
			void (*each)(const struct approver_grant *grant, void *arg), void *arg);
size_t gateway_each_live(struct gateway *gw, size_t max,
			 void (*each)(const struct approver_live *live, void *arg), void *arg);
/* Forgets the answer (for one kept always, its line in the file too), cuts the connections that it
 * allows, records both. -ENOENT; -EINPROGRESS: as gateway_answer(); another -errno: the file could
 * not be changed, and nothing was done. */
int gateway_revoke(struct gateway *gw, uint64_t grant, const char *by, struct approver_revoked *ret,
		   struct err *why);
/* The same for every grant of the last answer; @ret_text: their text. @shown: the last answer that
 * the person was shown, or 0. -ENOENT: nothing is remembered; -ESTALE: there is a newer answer. */
int gateway_undo(struct gateway *gw, uint64_t shown, const char *by,
		 char ret_text[APPROVER_KEY_MAX], struct approver_revoked *ret, struct err *why);
/* Ends one live connection; later ones are decided as before. -ENOENT. */
int gateway_cut(struct gateway *gw, uint64_t live, const char *by, struct err *why);
