/* gateway_tools: the programs that help the gate to ask, and what is known of how a reviewer
 * judges; for those who configure and report it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

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
};

/* The address and the key go to curl by its input, never by a command line. */
struct gateway_webhook {
	struct gateway_program curl; /* its argv is ours */
	const char *url;
	const char *key; /* of the signature: the bytes of its text */
};

/* Each NULL: not wanted. Kept. */
struct gateway_helpers {
	const struct gateway_reviewer *reviewer;
	const struct gateway_program *notify; /* takes a title and a text as two more words */
	const struct gateway_webhook *webhook;
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
