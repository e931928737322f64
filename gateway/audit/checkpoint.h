/* checkpoint: a signed record of the audit log. Its signature covers the record itself and, through
 * the chain of hashes, every record before it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/crypto/sign.h"
#include "gateway/audit/chain.h"

struct err;
struct logfile;

/* What this machine remembers of the last checkpoint of a log, in the folder of the segments, where
 * no command sees it. A log that was replaced, or cut and continued, does not fit it. */
struct checkpoint_past {
	char log[DIGEST_TEXT_MAX]; /* the log's identity: the hash of its first record */
	uint64_t first;            /* the oldest record that was not pruned */
	struct chain last;         /* the checkpoint; the size is not used */
};

/* One checkpoint, as a line of the log has it. */
struct checkpoint {
	char log[DIGEST_TEXT_MAX];
	uint64_t first, after;                                   /* after 0: there was none */
	char digest[DIGEST_TEXT_MAX], replaces[DIGEST_TEXT_MAX]; /* "": none */
	uint8_t key[SIGN_KEY_BYTES], signature[SIGN_BYTES];
	size_t signed_len; /* the bytes of the line that are signed */
};

/* Reads a line that chain_read() accepts. 0; 1: another record; -EBADMSG: a malformed
 * checkpoint. */
int checkpoint_read(const char *line, size_t len, struct checkpoint *ret);
/* 0, or -EBADMSG: its key has not signed this. @prev: of the same line. */
int checkpoint_check(const struct checkpoint *checkpoint, const char *line,
		     const char prev[DIGEST_TEXT_MAX]);

/* Makes the line of the next checkpoint and advances @next; @past: of the log. Returns its length,
 * or -errno with @why. */
ssize_t checkpoint_seal(struct chain *next, const struct sign_key *key,
			const struct checkpoint_past *past, const char *replaces,
			char line[CHAIN_LINE_MAX], struct err *why);

/* "DIR/checkpoint.KEY" of the log @path. Returned owned. */
char *checkpoint_past_path(const char *path, const char *dir);
/* False: there is none, or it is damaged. */
bool checkpoint_past_read(const char *path, struct checkpoint_past *ret);
int checkpoint_past_write(const char *path, const struct checkpoint_past *past);

/* Signs what the open @log has, unless its last record is this machine's last checkpoint: with the
 * key of the folder @key_dir, which is made at first. Waits for the lock of the log for at most
 * @limit_ms. Without a key, a record says why. 0 or -errno with @why; -EBUSY: the log was locked.
 */
int checkpoint_write(struct logfile *log, const char *dir, const char *key_dir, int64_t limit_ms,
		     struct err *why);
/* What the next checkpoint of the locked @log says: reads its first record and the file @past_path.
 * 0, or -errno with @why. @ret_replaces: the log with the checkpoint before, "": this one. */
int checkpoint_past_of(const struct logfile *log, const char *past_path,
		       struct checkpoint_past *ret, char ret_replaces[DIGEST_TEXT_MAX],
		       struct err *why);
