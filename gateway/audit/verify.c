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
#include "base/replace.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/checkpoint.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/proof.h"
#include "gateway/audit/segment.h"
#include "gateway/gateway_audit.h"

#define READ_BYTES (256U << 10)
#define LOCK_MS    200

#define SNAPSHOT_TRIES 3

struct verify {
	const char *path;
	struct chain chain; /* position of the reader */
	struct chain head;  /* from the head file */
	uint64_t line, gaps;
	bool has_head;
	bool has_passed; /* the record that the head names was read */
	/* Of a log that was pruned: the hash of the last record that was removed, "": none; and the
	 * record that says so was read. */
	char removed[DIGEST_TEXT_MAX];
	bool is_told;
	struct proof proof; /* self NULL: not asked for */
	struct checkpoint_past past;
};

/* Gets a head and a size that belong together. A writer holds the lock for microseconds; if it is
 * not available, the present state is used, and a head that lacks some records is no error. */
static int verify_snapshot(struct verify *v, int fd, off_t *ret_size, struct err *why)
{
	auto_free char *head_path = chain_head_path(v->path);
	struct stat info;

	(void)replace_lock(fd, LOCK_SH, LOCK_MS);
	auto_close int head_fd = open(head_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int r = head_fd < 0 ? -errno : chain_head_read(head_fd, &v->head);

	v->has_head = r == 0;
	if (fstat(fd, &info) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", v->path);
	(void)flock(fd, LOCK_UN); /* it may not be held */
	if (!S_ISREG(info.st_mode))
		return err_set(why, -EINVAL, "%s is not a regular file", v->path);
	*ret_size = info.st_size;
	if (r < 0 && r != -ENOENT && r != -EBADMSG)
		return err_errno(why, -r, "cannot read %s", head_path);
	return 0;
}

/* The first record of a log that was pruned follows one that was removed. */
static int verify_first(struct verify *v, const char *line, size_t len, struct err *why)
{
	char prev[DIGEST_TEXT_MAX], hash[DIGEST_TEXT_MAX];
	uint64_t seq;
	int r = chain_read(line, len, &seq, prev, hash, why);

	if (r < 0 || seq <= 1)
		return r;
	v->chain.seq = seq - 1;
	memcpy(v->chain.hash, prev, sizeof(prev));
	memcpy(v->removed, prev, sizeof(prev));
	return 0;
}

/* Does @line say that the records before the first one were removed? */
static bool verify_tells(const struct verify *v, const char *line, size_t len)
{
	static const char event[] = ",\"event\":\"pruned\","; /* quotes in texts are escaped */
	char digest[sizeof(",\"digest\":\"\"") + DIGEST_TEXT_MAX];

	int n = snprintf(digest, sizeof(digest), ",\"digest\":\"%s\"", v->removed);

	return memmem(line, len, event, sizeof(event) - 1) && memmem(line, len, digest, (size_t)n);
}

/* Does @line say that records are missing? */
static bool verify_is_gap(const char *line, size_t len)
{
	static const char event[] = ",\"event\":\"gap\","; /* quotes in texts are escaped */

	return memmem(line, len, event, sizeof(event) - 1) != NULL;
}

/* The size in the head is that of the longer file, if a process that pruned it was killed. */
static int verify_line(struct verify *v, const char *line, size_t len, struct err *why)
{
	int r = v->line++ == 0 ? verify_first(v, line, len, why) : 0;
	char prev[DIGEST_TEXT_MAX];

	memcpy(prev, v->chain.hash, sizeof(prev));
	if (r == 0)
		r = chain_check(&v->chain, line, len, why);
	if (r == 0 && v->proof.self)
		r = proof_record(&v->proof, line, len, &v->chain, prev, why);
	if (r < 0)
		return err_prefix(why, r, "%s:%" PRIu64, v->path, v->line);
	v->gaps += verify_is_gap(line, len);
	v->is_told = v->is_told || (v->removed[0] && verify_tells(v, line, len));
	if (!v->has_head || v->chain.seq != v->head.seq)
		return 0;
	v->has_passed = (v->chain.size == v->head.size || v->removed[0]) &&
			strcmp(v->chain.hash, v->head.hash) == 0;
	return v->has_passed
		       ? 0
		       : err_set(why, -EBADMSG,
				 "%s:%" PRIu64
				 ": the head does not fit this record: one of them was replaced",
				 v->path, v->line);
}

/* Checks the complete lines of @buffer; returns the number of bytes that they take, or -errno. */
static ssize_t verify_lines(struct verify *v, const char *buffer, size_t len, struct err *why)
{
	size_t at = 0;

	for (;;) {
		const char *end = memchr(buffer + at, '\n', len - at);

		if (!end)
			return (ssize_t)at;
		int r = verify_line(v, buffer + at, (size_t)(end - buffer) - at, why);

		if (r < 0)
			return r;
		at = (size_t)(end - buffer) + 1;
	}
}

static int verify_stream(struct verify *v, int fd, off_t size, struct err *why)
{
	auto_free char *buffer = mem_new(READ_BYTES);
	size_t held = 0;

	while (size > 0) {
		size_t room = READ_BYTES - held;
		ssize_t n = read(fd, buffer + held, (off_t)room < size ? room : (size_t)size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(why, errno, "cannot read %s", v->path);
		if (n == 0)
			break; /* it was cut meanwhile: the head tells */
		size -= n;
		held += (size_t)n;
		ssize_t used = verify_lines(v, buffer, held, why);

		if (used < 0)
			return (int)used;
		held -= (size_t)used;
		memmove(buffer, buffer + used, held);
		if (held >= CHAIN_LINE_MAX)
			return err_set(why, -EBADMSG, "%s:%" PRIu64 ": this is not an audit record",
				       v->path, v->line + 1);
	}
	if (held > 0)
		return err_set(why, -EBADMSG, "%s:%" PRIu64 ": the last line is not whole", v->path,
			       v->line + 1);
	return 0;
}

static bool verify_has_key(const struct verify *v)
{
	return v->proof.self && v->proof.self->key_count > 0;
}

/* Checks the head against a file without errors. */
static int verify_head(const struct verify *v, struct err *why)
{
	uint64_t next = v->line + 1;

	if (v->removed[0] && !v->is_told)
		return err_set(why, -EBADMSG,
			       "%s:1: the records before this one were removed, and no record says "
			       "so",
			       v->path);
	if (!v->has_head && verify_has_key(v))
		return 0; /* the checkpoints say how far the log goes */
	if (!v->has_head)
		return err_set(why, -EBADMSG,
			       "%s:%" PRIu64
			       ": %s.head is missing or damaged, so it is unknown whether "
			       "records were cut off here",
			       v->path, next, v->path);
	if (v->head.seq > v->chain.seq)
		return err_set(why, -EBADMSG,
			       "%s:%" PRIu64 ": the tail was cut: %" PRIu64
			       " more records were written",
			       v->path, next, v->head.seq - v->chain.seq);
	if (v->head.seq == 0 ? v->head.size != 0 : !v->has_passed)
		return err_set(why, -EBADMSG, "%s:%" PRIu64 ": the head does not fit the file",
			       v->path, next);
	if (v->head.seq < v->chain.seq)
		(void)err_set(why, 0,
			      "%" PRIu64 " records are not counted in the head: their writer died "
			      "before it updated the head",
			      v->chain.seq - v->head.seq);
	else if (v->gaps > 0)
		(void)err_set(why, 0, "%" PRIu64 " records `gap` say that others are missing",
			      v->gaps);
	return 0;
}

/* Records that are not merged yet. */
struct verify_rest {
	unsigned int live, dead;
	uint64_t records; /* of dead runs */
	struct err *why;
};

static int verify_segment_lines(struct segment *segment, struct verify_rest *rest)
{
	struct segment_read read;
	int r;

	do {
		r = segment_read(segment, &read, rest->why);
		if (r < 0)
			return r;
		free(read.bytes);
		rest->records += read.chain.seq - segment->merged.seq;
		segment->merged = read.chain;
	} while (!read.is_last);
	return read.is_torn ? err_set(rest->why, -EBADMSG,
				      "%s:%" PRIu64
				      ": the end was cut off, or its run was killed while it wrote",
				      segment->path, read.chain.seq + 1)
			    : 0;
}

/* A segment of a live run is skipped: the run merges it, and may be writing to it now. */
static int verify_segment(const char *path, const char *run, void *arg)
{
	struct verify_rest *rest = arg;
	struct segment segment;
	int r = segment_open(&segment, path, false, rest->why);

	if (r == 0) {
		rest->dead++;
		r = verify_segment_lines(&segment, rest);
	} else if (r == -EBUSY || r == -ENOENT) { /* its run is alive, or it was just merged */
		rest->live += r == -EBUSY;
		r = 0;
	}
	segment_close(&segment);
	return r;
}

static int verify_segments(const char *path, const char *dir, struct err *why)
{
	struct err found = { 0 };
	struct verify_rest rest = { .why = &found };
	char key[SEGMENT_KEY_MAX];

	segment_key(path, key);
	int r = segment_each(dir, key, verify_segment, &rest);

	if (r < 0)
		return err_set(why, r, "%s", found.text);
	if (rest.dead == 0)
		return 0;
	const char *sign = why && why->text[0] ? "; " : "";
	auto_free char *before = mem_strdup(why ? why->text : "");

	return err_set(why, 0,
		       "%s%s%" PRIu64 " records of killed runs are not in it yet: `sallyport audit "
		       "merge` merges them",
		       before, sign, rest.records);
}

static int verify_proof(const struct verify *v, struct err *why)
{
	struct err found = { 0 };
	int r = v->proof.self ? proof_end(&v->proof, &v->chain, &found) : 0;

	return r < 0 ? err_set(why, r, "%s:%" PRIu64 ": %s", v->path, v->line + 1, found.text) : 0;
}

static void verify_remember(struct verify *v, const char *dir)
{
	auto_free char *path = checkpoint_past_path(v->path, dir);

	if (checkpoint_past_read(path, &v->past))
		v->proof.past = &v->past;
}

int gateway_audit_verify(const char *path, const char *dir, struct gateway_audit_proof *proof,
			 uint64_t *ret_records, struct err *why)
{
	struct verify v = { .path = path, .proof.self = proof };
	off_t size = 0;
	int r, tries = 0;
	auto_close int fd = -1;

	if (dir && verify_has_key(&v))
		verify_remember(&v, dir);
	do { /* it may be pruned meanwhile */
		fd_close(fd);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0)
			return err_errno(why, errno, "cannot open %s", path);
		r = verify_snapshot(&v, fd, &size, why);
	} while (r == 0 && tries++ < SNAPSHOT_TRIES && !logfile_is_current(fd, path));
	if (r < 0)
		return r;
	chain_begin(&v.chain);
	r = verify_stream(&v, fd, size, why);
	if (r == 0)
		r = verify_head(&v, why);
	if (r == 0)
		r = verify_proof(&v, why);
	if (r == 0 && dir)
		r = verify_segments(path, dir, why);
	if (r == 0)
		*ret_records = v.line;
	return r;
}
