/* Goes over an audit log and the segments of dead runs, line by line, with one buffer. */
#include "gateway/gateway_audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
#include "gateway/audit/logged.h"
#include "gateway/audit/segment.h"

#define READ_BYTES (256U << 10)
#define LOCK_MS    200

struct reading {
	const struct gateway_audit_calls *calls;
	struct gateway_audit_reading *of;
	const char *path;
	off_t at; /* of the next line */
	uint64_t line;
	struct err *why;
};

static void reading_malformed(const struct reading *reading, const char *words)
{
	reading->calls->malformed(reading->path, reading->line, words, reading->calls->arg);
}

/* A line of @len bytes; @line[len] is its newline. */
static int reading_line(struct reading *reading, char *line, size_t len)
{
	struct gateway_logged record;
	const char *words;

	off_t at = reading->at;

	reading->line++;
	reading->at += (off_t)len + 1;
	if (logged_parse(line, len, &record, &words) < 0) {
		reading_malformed(reading, words);
		return 0;
	}
	record.at = at;
	record.len = len;
	return reading->calls->record(&record, reading->calls->arg);
}

/* The whole lines of @buffer; *@ret_used: the bytes that they take. */
static int reading_lines(struct reading *reading, char *buffer, size_t len, size_t *ret_used)
{
	int r = 0;

	for (*ret_used = 0; r == 0;) {
		char *end = memchr(buffer + *ret_used, '\n', len - *ret_used);

		if (!end)
			break;
		r = reading_line(reading, buffer + *ret_used, (size_t)(end - buffer) - *ret_used);
		*ret_used = (size_t)(end - buffer) + 1;
	}
	return r;
}

struct reading_buffer {
	char *bytes;
	size_t held;
	bool is_skipping; /* a line that is too long, and was reported */
	off_t skipped;    /* of it */
};

/* Handles what the buffer holds; keeps the beginning of a line. */
static int reading_buffer(struct reading *reading, struct reading_buffer *buffer)
{
	size_t used = 0;

	if (buffer->is_skipping) {
		char *end = memchr(buffer->bytes, '\n', buffer->held);

		used = end ? (size_t)(end - buffer->bytes) + 1 : buffer->held;
		buffer->skipped += (off_t)used;
		buffer->is_skipping = !end;
		reading->at += end ? buffer->skipped : 0;
		reading->line += end != NULL;
	}
	size_t more = 0;
	int r = reading_lines(reading, buffer->bytes + used, buffer->held - used, &more);

	used += more;
	buffer->held -= used;
	memmove(buffer->bytes, buffer->bytes + used, buffer->held);
	if (r == 0 && buffer->held >= CHAIN_LINE_MAX) {
		reading->line++;
		reading_malformed(reading, "this line is too long for an audit record");
		reading->line--; /* until its end is found */
		buffer->skipped = (off_t)buffer->held;
		buffer->held = 0;
		buffer->is_skipping = true;
	}
	return r;
}

static int reading_stream(struct reading *reading, int fd, off_t size)
{
	auto_free char *bytes = mem_new(READ_BYTES);
	struct reading_buffer buffer = { .bytes = bytes };
	int r = 0;

	while (size > 0 && r == 0) {
		size_t room = READ_BYTES - buffer.held;
		ssize_t n = read(fd, bytes + buffer.held, (off_t)room < size ? room : (size_t)size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reading->why, errno, "cannot read %s", reading->path);
		if (n == 0)
			break; /* it was cut meanwhile */
		size -= n;
		buffer.held += (size_t)n;
		r = reading_buffer(reading, &buffer);
	}
	reading->of->at = reading->at;
	reading->of->line = reading->line;
	if (r == 0 && buffer.held > 0 && !reading->of->is_growing) {
		reading->line++;
		reading_malformed(reading, "this line is not whole");
	}
	return r;
}

/* The size while no writer is in the middle of a write; a writer that holds the lock for longer is
 * not waited for. */
static int reading_log(struct reading *reading)
{
	struct stat info;
	auto_close int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return err_errno(reading->why, errno, "cannot open %s", reading->path);
	(void)replace_lock(fd, LOCK_SH, LOCK_MS);
	if (fstat(fd, &info) < 0)
		return err_errno(reading->why, errno, "cannot read the attributes of %s",
				 reading->path);
	(void)flock(fd, LOCK_UN); /* it may not be held */
	if (!S_ISREG(info.st_mode))
		return err_set(reading->why, -EINVAL, "%s is not a regular file", reading->path);
	reading->at = reading->of->at;
	reading->line = reading->of->line;
	if (lseek(fd, reading->at, SEEK_SET) < 0)
		return err_errno(reading->why, errno, "cannot read %s", reading->path);
	return reading_stream(reading, fd, info.st_size - reading->at);
}

static int reading_segment_lines(struct reading *reading, struct segment *segment)
{
	struct segment_read read;
	struct err why = { 0 };
	int r;

	do {
		size_t used;

		if (segment_read(segment, &read, &why) < 0) {
			reading_malformed(reading, why.text);
			return 0;
		}
		r = reading_lines(reading, read.bytes, read.len, &used);
		free(read.bytes);
		segment->merged = read.chain;
	} while (r == 0 && !read.is_last);
	if (r == 0 && read.is_torn)
		reading_malformed(reading, "the end was cut off, or its run was killed while it "
					   "wrote");
	return r;
}

/* A live run merges its own segment, and may be writing to it now. */
static int reading_segment(const char *path, const char *run, void *arg)
{
	struct reading *reading = arg;
	struct segment segment;
	struct err why = { 0 };
	int r = segment_open(&segment, path, false, &why);

	reading->path = path;
	reading->at = 0;
	reading->line = 0;
	if (r == 0)
		r = reading_segment_lines(reading, &segment);
	else if (r == -EBUSY)
		reading->of->live++;
	else if (r != -ENOENT) /* it was merged meanwhile */
		reading_malformed(reading, why.text);
	segment_close(&segment);
	return r < 0 ? 0 : r;
}

int gateway_audit_read(struct gateway_audit_reading *reading,
		       const struct gateway_audit_calls *calls, struct err *why)
{
	struct reading self = { .calls = calls, .of = reading, .path = reading->path, .why = why };
	char key[SEGMENT_KEY_MAX];

	reading->live = 0;
	int r = reading_log(&self);

	if (r != 0 || !reading->dir)
		return r;
	segment_key(reading->path, key);
	return segment_each(reading->dir, key, reading_segment, &self);
}

struct left {
	unsigned int live, killed;
};

static int left_count(const char *path, const char *run, void *arg)
{
	struct left *left = arg;
	struct segment segment;
	int r = segment_open(&segment, path, false, NULL);

	segment_close(&segment);
	left->live += r == -EBUSY;
	left->killed += r != -EBUSY && r != -ENOENT; /* it was merged meanwhile */
	return 0;
}

void gateway_audit_left(const char *path, const char *dir, unsigned int *ret_live,
			unsigned int *ret_killed)
{
	char key[SEGMENT_KEY_MAX];
	struct left left = { 0 };

	segment_key(path, key);
	(void)segment_each(dir, key, left_count, &left); /* it never ends the iteration */
	*ret_live = left.live;
	*ret_killed = left.killed;
}

_Static_assert(GATEWAY_AUDIT_KEY_MAX == SEGMENT_KEY_MAX, "it is the key of segments");

void gateway_audit_key(const char *path, char ret[GATEWAY_AUDIT_KEY_MAX])
{
	segment_key(path, ret);
}

int gateway_audit_parse(char *line, size_t len, struct gateway_logged *ret)
{
	const char *words;

	return logged_parse(line, len, ret, &words);
}
