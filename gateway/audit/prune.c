/* Removes the oldest records of an audit log. The chain goes on: the record that is the first from
 * then on still has the hash of the one before it, and a record at the end says that this one was
 * removed. Live runs notice the new file when they lock it (logfile.h). */
#include "gateway/gateway_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/process/user.h"
#include "base/crypto/key_file.h"
#include "base/replace.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/record.h"
#include "gateway/audit/resume.h"
#include "gateway/audit/sink_impl.h"
#include "gateway/gateway_audit.h"

#define COPY_BYTES (256U << 10)
#define SAID_BYTES 4096  /* what the records about it need, at most */
#define LOCK_MS    10000 /* runs that merge hold it for milliseconds */

struct prune {
	const struct gateway_audit_keep *keep;
	off_t size;                /* of the log, while it is read */
	uint64_t count, seq;       /* of the records to remove, and of the last of them */
	int64_t first_us, last_us; /* their times */
	off_t cut;                 /* where they end */
	char hash[DIGEST_TEXT_MAX];
	uint64_t malformed;
	const struct sign_key *key; /* NULL: the log is not signed */
	char *past_path;
	struct checkpoint_past past, was; /* was.first 0: there was none */
};

static int prune_record(const struct gateway_logged *record, void *arg)
{
	struct prune *prune = arg;

	if (record->time_us >= prune->keep->since_us &&
	    (uint64_t)(prune->size - record->at) + SAID_BYTES <= prune->keep->bytes)
		return 1;
	if (prune->count++ == 0)
		prune->first_us = record->time_us;
	prune->last_us = record->time_us;
	prune->seq = record->seq;
	prune->cut = record->at + (off_t)record->len + 1;
	return 0;
}

static void prune_malformed(const char *path, uint64_t line, const char *words, void *arg)
{
	(void)path;
	(void)line;
	(void)words;
	((struct prune *)arg)->malformed++;
}

/* Finds the records at the beginning that are not kept: up to the first one that is, because a
 * clock may have been set back. */
static int prune_find(struct prune *prune, const char *path, struct err *why)
{
	const struct gateway_audit_calls calls = { prune_record, prune_malformed, prune };
	struct gateway_audit_reading reading = { .path = path, .is_growing = true };
	struct stat log;

	if (stat(path, &log) < 0)
		return err_errno(why, errno, "cannot read %s", path);
	prune->size = log.st_size;
	int r = gateway_audit_read(&reading, &calls, why);

	if (r >= 0 && prune->malformed > 0)
		return err_set(why, -EBADMSG, "%s has lines that are not records", path);
	return r < 0 ? r : 0;
}

/* The hash of the last record to remove. Another process may have pruned the log meanwhile. */
static int prune_hash(struct prune *prune, const struct logfile *log, struct err *why)
{
	uint64_t seq = 0;

	if (resume_record(log->fd, prune->cut, &seq, prune->hash, NULL) < 0)
		seq = 0;
	return seq == prune->seq ? 0
				 : err_set(why, -EAGAIN,
					   "another process has changed %s; try again", log->path);
}

static int prune_copy(int from, off_t at, off_t end, int to)
{
	auto_free char *bytes = mem_new(COPY_BYTES);

	while (at < end) {
		size_t room = end - at < (off_t)COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
		ssize_t n = pread(from, bytes, room, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		int r = fd_write_all(to, bytes, (size_t)n);

		if (r < 0)
			return r;
		at += n;
	}
	return 0;
}

/* The line that says what was removed, by whom. Returns its length or -errno. */
static ssize_t prune_seal(const struct prune *prune, struct chain *next, char line[CHAIN_LINE_MAX])
{
	struct user user;
	bool is_known = user_find(geteuid(), &user);
	const struct sink_times times = { prune->count, prune->first_us, prune->last_us };
	char members[CHAIN_MEMBERS_MAX];
	const char *name = is_known ? user.name : "a user without a name";
	auto_free char *cause =
		mem_printf("%s removed these records with %s; the digest is the hash of the last "
			   "of them",
			   name,
			   prune->keep->is_by_policy ? "`audit keep` in the policy"
						     : "`sallyport audit prune`");

	struct sink_record record = {
		.event = SINK_PRUNED,
		.times = &times,
		.digest = prune->hash,
		.cause = cause,
	};

	record_stamp(&record);
	ssize_t len = record_members(&record, members, sizeof(members));

	return len < 0 ? len : chain_seal(next, members, (size_t)len, line);
}

/* The checkpoint that signs this: without it, the records would be missing from a log that said it
 * had them. Adds to @lines. */
static ssize_t prune_sign(struct prune *prune, const struct logfile *log, struct chain *next,
			  char *lines, size_t len, struct err *why)
{
	char replaces[DIGEST_TEXT_MAX];
	int r = checkpoint_past_of(log, prune->past_path, &prune->past, replaces, why);

	(void)checkpoint_past_read(prune->past_path, &prune->was); /* else there was none */
	prune->past.first = prune->seq + 1;
	ssize_t more =
		r < 0 ? r
		      : checkpoint_seal(next, prune->key, &prune->past, replaces, lines + len, why);

	prune->past.last = *next;
	return more < 0 ? more : (ssize_t)len + more;
}

/* What is remembered of the new log is written first: it fits the old one as well. */
static int prune_rename(const struct prune *prune, struct logfile *log, const char *fresh,
			const struct chain *before, struct err *why)
{
	int r = prune->key ? checkpoint_past_write(prune->past_path, &prune->past) : 0;

	if (r < 0)
		r = err_errno(why, -r, "cannot write %s", prune->past_path);
	else if (rename(fresh, log->path) < 0)
		r = err_errno(why, errno, "cannot replace %s", log->path);
	if (r == 0)
		return 0;
	/* What the records say was not done. */
	if (ftruncate(log->fd, before->size) == 0)
		(void)chain_head_write(log->head_fd, before); /* as in resume.c */
	if (prune->key && prune->was.first != 0)
		(void)checkpoint_past_write(prune->past_path, &prune->was);
	else if (prune->key)
		(void)unlink(prune->past_path);
	return r;
}

/* Both files get the record before the new one takes the name. A process that is killed between
 * these steps leaves a log that is whole (resume.c). */
static int prune_replace(struct prune *prune, struct logfile *log, int fd, const char *fresh,
			 struct err *why)
{
	const struct chain before = log->chain;
	char lines[2 * CHAIN_LINE_MAX];
	struct chain next = before;
	ssize_t len = prune_seal(prune, &next, lines);

	if (len > 0 && prune->key)
		len = prune_sign(prune, log, &next, lines, (size_t)len, why);
	if (len < 0)
		return (int)len;
	int r = prune_copy(log->fd, prune->cut, before.size, fd);

	if (r == 0)
		r = fd_write_all(fd, lines, (size_t)len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r < 0)
		return err_errno(why, -r, "cannot write %s", fresh);
	r = logfile_append(log, lines, (size_t)len, &next, why);
	if (r < 0)
		return r;
	r = prune_rename(prune, log, fresh, &before, why);
	if (r < 0)
		return r;
	next.size -= prune->cut;
	memcpy(next.boot, log->boot, sizeof(next.boot));
	r = chain_head_write(log->head_fd, &next);
	return r < 0 ? err_errno(why, -r, "cannot write %s.head; the next run does", log->path) : 0;
}

static int prune_locked(struct prune *prune, struct logfile *log, struct err *why)
{
	auto_free char *fresh = mem_printf("%s.pruned", log->path);
	int r = prune_hash(prune, log, why);

	if (r < 0)
		return r;
	(void)unlink(fresh); /* of a process that was killed; we have the lock */
	auto_close int fd = logfile_open_own(fresh, O_RDWR | O_EXCL | O_APPEND, why);

	if (fd < 0)
		return fd;
	r = prune_replace(prune, log, fd, fresh, why);
	(void)unlink(fresh); /* it has the log's name, or is of no use */
	return r;
}

static int prune_merged(struct prune *prune, const char *path, struct err *why)
{
	struct logfile log = { .fd = -1, .head_fd = -1 };
	uint64_t records;
	int r = gateway_audit_verify(path, NULL, NULL, &records, why);

	if (r == 0)
		r = prune_find(prune, path, why);
	if (r < 0 || prune->count == 0)
		return r;
	r = logfile_open(&log, path, why);
	if (r == 0) {
		(void)replace_lock(log.fd, LOCK_EX, LOCK_MS); /* the next call tells */
		r = logfile_lock(&log, why);
	}
	if (r == 0)
		r = prune_locked(prune, &log, why);
	logfile_close(&log);
	return r;
}

int gateway_audit_prune(const char *path, const char *dir, const char *key_dir,
			const struct gateway_audit_keep *keep, uint64_t *ret_removed,
			struct err *why)
{
	struct prune prune = { .keep = keep };
	struct sign_key key = { 0 };
	int r = access(path, F_OK) < 0 ? err_errno(why, errno, "cannot open %s", path) : 0;

	*ret_removed = 0;
	if (r == 0 && key_dir) {
		prune.key = &key;
		prune.past_path = checkpoint_past_path(path, dir);
		r = key_file_read(key_dir, true, &key, why);
	}
	if (r == 0 && dir)
		r = gateway_audit_merge(path, dir, why);
	if (r == 0)
		r = prune_merged(&prune, path, why);
	if (r == 0)
		*ret_removed = prune.count;
	sign_key_forget(&key);
	free(prune.past_path);
	return r;
}

struct due {
	const struct gateway_audit_keep *keep;
	bool is_due;
};

static int due_record(const struct gateway_logged *record, void *arg)
{
	struct due *due = arg;

	due->is_due = record->time_us < due->keep->since_us;
	return 1;
}

static void due_malformed(const char *path, uint64_t line, const char *words, void *arg)
{
}

bool gateway_audit_is_due(const char *path, const struct gateway_audit_keep *keep)
{
	struct due due = { .keep = keep };
	const struct gateway_audit_calls calls = { due_record, due_malformed, &due };
	struct gateway_audit_reading reading = { .path = path, .is_growing = true };
	struct err why = { 0 };
	struct stat log;

	if (stat(path, &log) < 0 || !S_ISREG(log.st_mode))
		return false;
	if ((uint64_t)log.st_size > keep->bytes)
		return true;
	(void)gateway_audit_read(&reading, &calls, &why); /* a damaged log is not pruned */
	return due.is_due;
}
