/* gateway_audit: for code that reads an audit log and not only checks it: its records as plain
 * values (docs/decisions/0006); for code that signs or shortens it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* One record. Text that the record does not have is "", a number 0, and @times 1; all is borrowed
 * for the call. */
struct gateway_logged {
	int64_t time_us; /* since 1970 */
	const char *session, *run, *event, *command, *kind, *cwd, *action, *reason, *by;
	const char *way, *host, *protocol, *resolved, *rule, *program, *user;
	uint64_t seq, exec, port, times, bytes_up, bytes_down;
	/* Where its line is in the file, without the newline. */
	off_t at;
	size_t len;
};

struct gateway_audit_calls {
	/* A value other than 0 ends the reading, and is its result. */
	int (*record)(const struct gateway_logged *record, void *arg);
	/* A line that is no record, or not whole; reading goes on. */
	void (*malformed)(const char *path, uint64_t line, const char *words, void *arg);
	void *arg;
};

/* What dead runs left in the folder @dir (NULL: not read) is read after the log. Memory does not
 * depend on the size of the log. */
struct gateway_audit_reading {
	const char *path, *dir;
	/* In: where to begin in the log, and the number of lines before; out: the same after its
	 * last whole line. */
	off_t at;
	uint64_t line;
	bool is_growing;   /* a last line that is not whole yet is not malformed */
	unsigned int live; /* out: runs that have records of their own and are alive */
};
/* 0, what record() returned, or -errno with @why: the log cannot be read. */
int gateway_audit_read(struct gateway_audit_reading *reading,
		       const struct gateway_audit_calls *calls, struct err *why);
/* Identifies what belongs to the log at @path: equal for every spelling of it. */
#define GATEWAY_AUDIT_KEY_MAX 17
void gateway_audit_key(const char *path, char ret[GATEWAY_AUDIT_KEY_MAX]);
/* The runs with records that are not in the log at @path yet: alive, and killed. */
void gateway_audit_left(const char *path, const char *dir, unsigned int *ret_live,
			unsigned int *ret_killed);

#define GATEWAY_KEY_BYTES 32 /* as base/crypto has these */
#define GATEWAY_HASH_MAX  65
/* What is asked of the checkpoints of a log, and what they prove. */
struct gateway_audit_proof {
	/* In: the public keys of which one must have signed each (none: they are not checked), and
	 * a record that must be in the log (0: none). */
	const uint8_t (*keys)[GATEWAY_KEY_BYTES];
	size_t key_count;
	uint64_t expect_seq;
	char expect_hash[GATEWAY_HASH_MAX];
	/* Out: the last checkpoint (0: there is none), the log's identity and the signer according
	 * to it; the records after it; whether there was another log before, which a checkpoint of
	 * this machine had signed; and a checkpoint that does not name the one before it (0:
	 * none). */
	uint64_t signed_seq, unsigned_count, unlinked_seq;
	char signed_hash[GATEWAY_HASH_MAX], log[GATEWAY_HASH_MAX];
	uint8_t signer[GATEWAY_KEY_BYTES];
	bool is_replaced;
};

/* One line of the log, as gateway_audit_read() parses it: written to; line[len] is writable.
 * 0, or -EBADMSG. */
int gateway_audit_parse(char *line, size_t len, struct gateway_logged *ret);

/* Signs the records of the log that no checkpoint has signed: with the key in @key_dir, which is
 * made at first. 0 or -errno with @why. */
int gateway_audit_sign(const char *path, const char *dir, const char *key_dir, struct err *why);
/* What stays in a log: nothing that does not meet both. */
struct gateway_audit_keep {
	int64_t since_us;  /* records from this time on (since 1970); INT64_MIN: of any time */
	uint64_t bytes;    /* the whole log, at most; UINT64_MAX: of any size */
	bool is_by_policy; /* for the record: not somebody's `sallyport audit prune` */
};
/* sallyport audit prune: removes the records from the beginning of the log that @keep does not
 * keep, and records that it did; *@ret_removed: how many. 0; -EBADMSG with @why:
 * the log is damaged, and was left as it is; or another -errno. Runs may be writing to it.
 * @key_dir: of the key that signs it; NULL: none. */
int gateway_audit_prune(const char *path, const char *dir, const char *key_dir,
			const struct gateway_audit_keep *keep, uint64_t *ret_removed,
			struct err *why);
/* Does the log at @path have a first record that @keep does not keep? Reads no more of it. */
bool gateway_audit_is_due(const char *path, const struct gateway_audit_keep *keep);
