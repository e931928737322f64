/* proof: what the checkpoints of a log prove to the holder of the public key, while its records are
 * read one after another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/audit/chain.h"

struct checkpoint_past;
struct err;
struct gateway_audit_proof;

#define PROOF_KNOWN 16 /* checkpoints that a later one may name */

struct proof {
	struct gateway_audit_proof *self;
	/* What this machine remembers of the log, read before the log; NULL: nothing. */
	const struct checkpoint_past *past;
	uint64_t present; /* the first record of the file */
	uint64_t first;   /* the first record that the last checkpoint knows */
	struct proof_known {
		uint64_t seq;
		char hash[DIGEST_TEXT_MAX];
	} known[PROOF_KNOWN];
	size_t count; /* of all checkpoints so far */
};

/* One record, in its place in the chain @now. @prev: the hash before. 0, or -EBADMSG with @why. */
int proof_record(struct proof *proof, const char *line, size_t len, const struct chain *now,
		 const char prev[DIGEST_TEXT_MAX], struct err *why);
/* The file has ended, at @now. */
int proof_end(const struct proof *proof, const struct chain *now, struct err *why);
