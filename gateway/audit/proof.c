#include "gateway/audit/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/gateway_audit.h"

_Static_assert(GATEWAY_KEY_BYTES == SIGN_KEY_BYTES && GATEWAY_HASH_MAX == DIGEST_TEXT_MAX,
	       "they are the same");

static bool proof_has_key(const struct gateway_audit_proof *self, const uint8_t key[SIGN_KEY_BYTES])
{
	for (size_t i = 0; i < self->key_count; i++) {
		if (memcmp(self->keys[i], key, SIGN_KEY_BYTES) == 0)
			return true;
	}
	return false;
}

/* The checkpoint before this one must be in the log, with the same hash. A machine that could not
 * write down the last ones names an older one, which may be forgotten here. */
static int proof_check_after(const struct proof *proof, const struct checkpoint *checkpoint,
			     uint64_t seq, struct err *why)
{
	size_t held = proof->count < PROOF_KNOWN ? proof->count : PROOF_KNOWN;
	uint64_t oldest = seq;

	if (checkpoint->after >= seq)
		return err_set(why, -EBADMSG,
			       "record %" PRIu64 " was signed before this one: records were cut "
			       "off, and the log was continued",
			       checkpoint->after);
	for (size_t i = 0; i < held; i++) {
		const struct proof_known *known = &proof->known[i];

		if (known->seq == checkpoint->after)
			return strcmp(known->hash, checkpoint->digest) == 0
				       ? 0
				       : err_set(why, -EBADMSG,
						 "record %" PRIu64 " is not the one that was "
						 "signed: records were replaced",
						 checkpoint->after);
		oldest = known->seq < oldest ? known->seq : oldest;
	}
	if (checkpoint->after < proof->present ||
	    (held == PROOF_KNOWN && checkpoint->after < oldest))
		return 0; /* pruned, which proof_end() checks; or forgotten */
	return err_set(why, -EBADMSG,
		       "record %" PRIu64 " was signed, and is no checkpoint here: records were "
		       "replaced",
		       checkpoint->after);
}

static int proof_check(struct proof *proof, const struct checkpoint *checkpoint, const char *line,
		       const struct chain *now, const char *prev, struct err *why)
{
	char key[SIGN_PUBLIC_TEXT_MAX];

	if (!proof_has_key(proof->self, checkpoint->key))
		return err_set(why, -EBADMSG, "this checkpoint is signed by another key: %s",
			       sign_public_text(checkpoint->key, key));
	if (checkpoint_check(checkpoint, line, prev) < 0)
		return err_set(why, -EBADMSG,
			       "the signature of this checkpoint is wrong: the key did not sign "
			       "these records");
	if (checkpoint->replaces[0] != '\0')
		proof->self->is_replaced = true;
	else if (checkpoint->after != 0)
		return proof_check_after(proof, checkpoint, now->seq, why);
	else if (proof->count > 0)
		proof->self->unlinked_seq = now->seq; /* the machine had lost the one before */
	return 0;
}

/* The record that a person has noted. */
static int proof_expected(const struct proof *proof, const struct chain *now, struct err *why)
{
	const struct gateway_audit_proof *self = proof->self;

	if (self->expect_seq != now->seq || strcmp(self->expect_hash, now->hash) == 0)
		return 0;
	return err_set(why, -EBADMSG, "this is not the expected record: records were replaced");
}

/* It must be in the log. If it is of another log, that was replaced. */
static int proof_remembered(struct proof *proof, const struct chain *now, struct err *why)
{
	const struct checkpoint_past *past = proof->past;

	if (!past)
		return 0;
	if (now->seq == 1 && strcmp(now->hash, past->log) != 0) {
		proof->self->is_replaced = true;
		proof->past = NULL;
		return 0;
	}
	if (now->seq != past->last.seq || strcmp(now->hash, past->last.hash) == 0)
		return 0;
	return err_set(why, -EBADMSG,
		       "this is not the record that this machine has signed last: records were "
		       "replaced");
}

static int proof_checkpoint(struct proof *proof, const char *line, size_t len,
			    const struct chain *now, const char *prev, struct err *why)
{
	struct gateway_audit_proof *self = proof->self;
	struct checkpoint checkpoint;
	struct proof_known *known;
	int r = checkpoint_read(line, len, &checkpoint);

	if (r == 0 && self->key_count > 0)
		r = proof_check(proof, &checkpoint, line, now, prev, why);
	else if (r < 0 && self->key_count > 0)
		r = err_set(why, r, "this checkpoint is malformed");
	if (r != 0)
		return r < 0 && self->key_count > 0 ? r : 0;
	known = &proof->known[proof->count++ % PROOF_KNOWN];
	known->seq = now->seq;
	memcpy(known->hash, now->hash, sizeof(known->hash));
	proof->first = checkpoint.first;
	self->signed_seq = now->seq;
	memcpy(self->signed_hash, now->hash, sizeof(self->signed_hash));
	memcpy(self->log, checkpoint.log, sizeof(self->log));
	memcpy(self->signer, checkpoint.key, sizeof(self->signer));
	return 0;
}

int proof_record(struct proof *proof, const char *line, size_t len, const struct chain *now,
		 const char prev[DIGEST_TEXT_MAX], struct err *why)
{
	if (proof->present == 0)
		proof->present = now->seq;
	int r = proof_expected(proof, now, why);

	if (r == 0)
		r = proof_checkpoint(proof, line, len, now, prev, why);
	return r < 0 ? r : proof_remembered(proof, now, why);
}

int proof_end(const struct proof *proof, const struct chain *now, struct err *why)
{
	struct gateway_audit_proof *self = proof->self;

	self->unsigned_count = now->seq - self->signed_seq;
	if (self->signed_seq == 0 && proof->present > 0)
		self->unsigned_count = now->seq - proof->present + 1;
	if (self->expect_seq > now->seq)
		return err_set(why, -EBADMSG,
			       "the expected record %" PRIu64 " is missing: the tail was cut",
			       self->expect_seq);
	if (self->expect_seq > 0 && self->expect_seq < proof->present)
		return err_set(why, -EBADMSG,
			       "the expected record %" PRIu64 " was removed with the oldest ones",
			       self->expect_seq);
	if (proof->past && proof->past->last.seq > now->seq)
		return err_set(why, -EBADMSG,
			       "record %" PRIu64 ", which this machine has signed, is missing: the "
			       "tail was cut",
			       proof->past->last.seq);
	if (self->key_count > 0 && self->signed_seq > 0 && proof->present > proof->first)
		return err_set(why, -EBADMSG,
			       "records from %" PRIu64 " on were removed after they were signed, "
			       "and not by `sallyport audit prune`",
			       proof->first);
	return 0;
}
