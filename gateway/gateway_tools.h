/* gateway_tools: what the command line needs of the gateway and the proxy does not
 * (docs/decisions/0052). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway/gateway.h"
#include "policies/policies_agent.h"

/* The page for answers on loopback, 127.0.0.1. */
#define GATEWAY_WEB_URL_MAX 128
#define GATEWAY_WEB_KEY_MAX 65
struct gateway_web {
	uint16_t port; /* 0: any free one. gateway_new() writes the one that it got, */
	char url[GATEWAY_WEB_URL_MAX]; /* and this: whoever has it may answer, so show it to the
					  person only */
	/* "https://gate.example.org": where people elsewhere reach the page, and what the webhook's
	   answer links begin with; borrowed. NULL: there are none */
	const char *answer_origin;
	char link_key[GATEWAY_WEB_KEY_MAX]; /* written by gateway_new(): what signs them */
};

/* sallyport audit verify: 0 (@why may hold a note), -EBADMSG with @why naming FILE:LINE and what is
 * wrong there, or another -errno: it cannot be read. @dir: as audit_dir; NULL: only FILE. */
int gateway_audit_verify(const char *path, const char *dir, uint64_t *ret_records, struct err *why);
/* sallyport audit merge: what runs that are dead left in @dir goes into the log. 0, -EBUSY: another
 * process has it; -EBADMSG with @why: something is damaged; or another -errno. */
int gateway_audit_merge(const char *path, const char *dir, struct err *why);

/* $XDG_RUNTIME_DIR/sallyport, else /run/sallyport for root, else /tmp/sallyport-UID: made 0700 and
 * checked. Returned owned. */
char *gateway_control_dir(struct err *why);

/* Per destination, since the start; for the trip report. */
struct gateway_trip {
	struct policy_destination dst;
	uint64_t allowed, denied, unanswered, connections; /* requests; connections closed */
	uint64_t bytes_up, bytes_down;
	enum policy_reason last_denial; /* POLICY_NONE: none */
	char *rule;                     /* of that, with file and line; NULL: none */
};
/* Borrowed until the next call into the gateway. */
const struct gateway_trip *gateway_trips(const struct gateway *gw, size_t *ret_count);
/* What is past the 4096 destinations counted one by one, together; its dst is empty. */
const struct gateway_trip *gateway_trips_others(const struct gateway *gw);

#define GATEWAY_TRUST_COMMAND_MAX 256
#define GATEWAY_DIGEST_MAX        65 /* as base/digest.h has it */

/* A program that is run for the gate, not for the command. All kept. */
struct gateway_program {
	const char *path;        /* absolute */
	const char *const *argv; /* NULL-terminated, as @environment */
	const char *const *environment;
};

/* sallyport-reviewer(7). */
struct gateway_reviewer {
	struct gateway_program program;
	bool may_answer;       /* else its answers are only compared with what people say */
	int64_t timeout_ms;    /* of one question; 0: the default */
	const char *digest;    /* of the command: names the sheet */
	const char *command;   /* in words, visible text */
	const char *trust_dir; /* where the sheets are; NULL: nothing is kept */
	unsigned int kinds;    /* enum policy_helper_kind: what it is asked; 0: the network */
};

/* The address and the key go to curl by its input, never by a command line. */
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

/* Each NULL: not wanted. Kept. */
struct gateway_helpers {
	const struct gateway_reviewer *reviewer;
	const struct gateway_program *notify; /* takes a title and a text as two more words */
	const struct gateway_webhook *webhook;
	const struct gateway_hook *hooks;
	size_t hook_count;
};

/* What a reviewer said of questions that people answered, too. */
struct gateway_trust {
	uint64_t agree_allow, agree_deny;
	uint64_t allowed_denied; /* it allowed what a person denied: the dangerous one */
	uint64_t denied_allowed;
	uint64_t abstained; /* said nothing, or nothing in time */
};

/* Fit to answer: it was compared often enough, also where people denied, and was never dangerous.
 */
#define GATEWAY_TRUST_COMPARED 20
#define GATEWAY_TRUST_DENIED   5
bool gateway_trust_is_enough(const struct gateway_trust *trust);
/* The sheet of @digest in @dir; all zero when there is none. -EBADMSG: it cannot be understood. */
int gateway_trust_read(const char *dir, const char *digest, struct gateway_trust *ret,
		       struct err *why);
/* Adds @more to it, as a whole or not at all. -EAGAIN: another run is at it, try again. */
int gateway_trust_add(const char *dir, const char *digest, const char *command,
		      const struct gateway_trust *more, struct err *why);
/* Calls @each for every sheet that can be read, in the order of their names; none when there is no
 * @dir. */
typedef void (*gateway_trust_fn)(const char *digest, const char *command,
				 const struct gateway_trust *trust, void *arg);
int gateway_trust_each(const char *dir, gateway_trust_fn each, void *arg, struct err *why);
