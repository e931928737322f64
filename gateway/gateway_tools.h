/* gateway_tools: the part of the gateway that the command line uses and the proxy does not
 * (docs/decisions/0006). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/gateway.h"
#include "policies/policies_agent.h"
#include "policies/policies_limits.h"

/* The page for answers, on loopback (127.0.0.1). */
struct gateway_web {
	uint16_t port; /* 0: any free port. gateway_new() writes the one in use, */
	/* and these two, borrowed until gateway_free(). They are secrets: the holder of the address
	 * may answer, and the key signs answer links. Their memory is empty in child processes. */
	const char *url, *link_key;
	/* "https://gate.example.org": the address of the page for people elsewhere, with which the
	 * webhook's answer links begin; borrowed. NULL: no links */
	const char *answer_origin;
};

struct gateway_audit_proof; /* gateway_audit.h */
/* sallyport audit verify: 0 (@why may hold a note), -EBADMSG with @why naming FILE:LINE and the
 * error there, or another -errno: it cannot be read. @dir: as audit_dir; NULL: only FILE. @proof:
 * NULL: nothing is asked of its checkpoints. */
int gateway_audit_verify(const char *path, const char *dir, struct gateway_audit_proof *proof,
			 uint64_t *ret_records, struct err *why);
/* sallyport audit merge: moves what dead runs left in @dir into the log. 0, -EBUSY: another process
 * has it; -EBADMSG with @why: something is damaged; or another -errno. */
int gateway_audit_merge(const char *path, const char *dir, struct err *why);

/* $XDG_RUNTIME_DIR/sallyport, else /run/sallyport for root, else /tmp/sallyport-UID: made 0700 and
 * checked. Returned owned. */
char *gateway_control_dir(struct err *why);

/* Per destination, since the start; for the summary of the run. */
struct gateway_trip {
	struct policy_destination dst;
	uint64_t allowed, denied, unanswered, connections; /* requests; connections closed */
	uint64_t failed; /* allowed, but the name, the dial or the server failed */
	uint64_t cut;    /* allowed, and ended by a limit, by a person or by a changed policy */
	uint64_t bytes_up, bytes_down;
	uint64_t unnamed; /* of the others only: refused before they named a destination */
	enum policy_reason last_denial, last_unnamed; /* or failure, or cut; NONE: none */
	char *rule;    /* of the last denial, with file and line; NULL: none */
	char *because; /* of the last denial: rule or answer; NULL: none */
	char *program; /* that was denied it first; NULL or "": not known */
	char *request; /* of the last denial, if a rule looks at it: "GET /path"; NULL: not known */
};
void gateway_trip_done(struct gateway_trip *trip); /* of a copy: frees its texts */
/* Adds the counts of @trip to @sum. */
void gateway_trip_add(struct gateway_trip *sum, const struct gateway_trip *trip);
/* Borrowed until the next call into the gateway. */
const struct gateway_trip *gateway_trips(const struct gateway *gw, size_t *ret_count);
/* The sum of all destinations after the first 4096, which are counted one by one; its dst is
 * empty. */
const struct gateway_trip *gateway_trips_others(const struct gateway *gw);

/* What a program was allowed to reach since the start, whether or not its server could be reached;
 * counted if the configuration says counts_egress: then each request waits until its program is
 * found. */
#define GATEWAY_EGRESS_MAX 8192
struct gateway_egress {
	struct policy_destination dst;
	const char *program; /* path; "": not known */
	uint64_t bytes_up, bytes_down;
};
/* Borrowed until the next call into the gateway. NULL: there are no more. */
const struct gateway_egress *gateway_egress_at(const struct gateway *gw, size_t i);
bool gateway_egress_is_whole(const struct gateway *gw); /* false: there were too many to count */

/* The caller has seen that @exec has used up its @limit: this is recorded once. */
void gateway_exec_reached(struct gateway *gw, uint64_t exec, enum policy_limit limit);
/* BIT(enum policy_limit) of the limits that any command has reached so far. */
unsigned int gateway_limits_reached(const struct gateway *gw);

#define GATEWAY_TRUST_COMMAND_MAX 256
#define GATEWAY_DIGEST_MAX        65 /* as base/crypto/digest.h has it */

/* A program that runs for the gate, not for the command. All kept. */
struct gateway_program {
	const char *path;        /* absolute */
	const char *const *argv; /* NULL-terminated, as @environment */
	const char *const *environment;
};

/* sallyport-reviewer(7). */
struct gateway_reviewer {
	struct gateway_program program;
	bool may_answer;       /* else its answers are only compared with people's answers */
	bool is_trusted;       /* by a line of policy, without comparisons: its answers say so */
	int64_t timeout_ms;    /* of one question; 0: the default */
	const char *digest;    /* of the command: the name of its file below */
	const char *command;   /* in words, visible text */
	const char *trust_dir; /* the folder of the records of reviewers; NULL: nothing is kept */
	unsigned int kinds; /* enum policy_helper_kind: bits of what it is asked; 0: the network */
};
/* As its answers are recorded. Static. */
static inline const char *gateway_reviewer_name(const struct gateway_reviewer *reviewer)
{
	return reviewer->is_trusted ? "the reviewer (trusted)" : "the reviewer";
}

/* The address and the key are passed to curl on its input, never on a command line. */
struct gateway_webhook {
	struct gateway_program curl; /* its argv is ours */
	const char *url;
	const char *key; /* of the signature: the bytes of its text */
};

/* sallyport-reviewer(7), HOOKS. */
struct gateway_hook {
	struct gateway_program program;
	unsigned int kinds; /* enum policy_helper_kind, not network */
	int64_t timeout_ms; /* 0: the default */
};

/* Each may be NULL: not wanted. Kept. */
struct gateway_helpers {
	const struct gateway_reviewer *reviewer;
	const struct gateway_program *notify; /* with two more arguments: title, text */
	const struct gateway_webhook *webhook;
	const struct gateway_hook *hooks;
	size_t hook_count;
};

/* A reviewer's answers to questions that people answered as well. */
struct gateway_trust {
	uint64_t agree_allow, agree_deny;
	uint64_t allowed_denied; /* it allowed what a person denied: the dangerous case */
	uint64_t denied_allowed;
	uint64_t abstained; /* it did not answer, or not in time */
};

/* May it answer? It was compared often enough, also where people denied, and was never
 * dangerous. */
#define GATEWAY_TRUST_COMPARED 20
#define GATEWAY_TRUST_DENIED   5
bool gateway_trust_is_enough(const struct gateway_trust *trust);
/* The record of reviewer @digest in @dir; all zero if there is none. -EBADMSG: it is malformed. */
int gateway_trust_read(const char *dir, const char *digest, struct gateway_trust *ret,
		       struct err *why);
/* Adds @more to it, all or nothing. -EAGAIN: another run holds the lock, try again. */
int gateway_trust_add(const char *dir, const char *digest, const char *command,
		      const struct gateway_trust *more, struct err *why);
/* Calls @each for every readable record, in the order of their names; without @dir, for none. */
typedef void (*gateway_trust_fn)(const char *digest, const char *command,
				 const struct gateway_trust *trust, void *arg);
int gateway_trust_each(const char *dir, gateway_trust_fn each, void *arg, struct err *why);
