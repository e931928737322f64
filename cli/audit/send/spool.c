/* The place has the end of its line, which is the fast way to it, and the record's number and hash,
 * by which it is found when the beginning of the log was pruned. */
#include "cli/audit/send/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
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
#include "base/text.h"

#define SPOOL_BUFFER   (256U << 10)
#define SPOOL_LINE_MAX 65536 /* no record is so long */
#define SPOOL_LOCK_MS  200

#define HASH_LEN  (DIGEST_TEXT_MAX - 1)
#define TAIL_LEN  (HASH_LEN + 2) /* of a line: the hash, a quotation mark and a brace */
#define SEQ_BEGIN "{\"seq\":"

static void spool_seek(struct spool *self, off_t at)
{
	self->at = at;
	self->held = self->used = 0;
}

/* The next whole line, with NUL in place of its newline; false: there is none. */
static bool spool_line(struct spool *self, char **ret, size_t *ret_len)
{
	for (;;) {
		char *from = self->buffer + self->used;
		size_t rest = self->held - self->used;
		char *end = memchr(from, '\n', rest);

		if (end) {
			*end = '\0';
			*ret = from;
			*ret_len = (size_t)(end - from);
			self->used += *ret_len + 1;
			self->at += (off_t)*ret_len + 1;
			return true;
		}
		if (rest > SPOOL_LINE_MAX) /* damaged: what follows is read as another line */
			spool_seek(self, self->at + (off_t)rest);
		else
			memmove(self->buffer, from, rest);
		self->held -= self->used;
		self->used = 0;
		off_t at = self->at + (off_t)self->held;
		size_t room = SPOOL_BUFFER - self->held;
		ssize_t n = at >= self->end
				    ? 0
				    : pread(self->fd, self->buffer + self->held,
					    (off_t)room < self->end - at ? room
									 : (size_t)(self->end - at),
					    at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false; /* a turn later there may be more */
		self->held += (size_t)n;
	}
}

/* The number of a line that may be a record, and its hash; 0: it is not one. */
static uint64_t spool_number(const char *line, size_t len, char ret_hash[DIGEST_TEXT_MAX])
{
	const char *digits = line + strlen(SEQ_BEGIN);
	uint64_t seq;

	if (len < strlen(SEQ_BEGIN) + TAIL_LEN || strncmp(line, SEQ_BEGIN, strlen(SEQ_BEGIN)) != 0)
		return 0;
	if (text_to_u64(digits, strspn(digits, "0123456789"), INT64_MAX, &seq) < 0)
		return 0;
	memcpy(ret_hash, line + len - TAIL_LEN, HASH_LEN);
	ret_hash[HASH_LEN] = '\0';
	return strspn(ret_hash, "0123456789abcdef") == HASH_LEN &&
			       strcmp(line + len - 2, "\"}") == 0
		       ? seq
		       : 0;
}

/* Records are ASCII: what else is there was edited in, and could control a terminal. */
static bool spool_parse(const char *line, size_t len, struct spool_record *ret)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] > 0x7e)
			return false;
	ret->line = mem_strndup(line, len);
	ret->texts = mem_strndup(line, len);
	if (gateway_audit_parse(ret->texts, len, &ret->parsed) == 0)
		return true;
	free(ret->line);
	free(ret->texts);
	return false;
}

/* Copies a member of a line, if it is a hash. */
static void spool_member(const char *line, const char *name, char ret[DIGEST_TEXT_MAX])
{
	json_t *object = json_loads(line, 0, NULL);
	const char *text = json_string_value(json_object_get(object, name));

	if (text && strlen(text) == HASH_LEN)
		memcpy(ret, text, DIGEST_TEXT_MAX);
	json_decref(object);
}

/* The hash of the log's first record; if that was pruned, a checkpoint has it. Without one, what
 * stays the same until it is pruned again. */
static void spool_identify(struct spool *self, char ret[DIGEST_TEXT_MAX])
{
	char *line, hash[DIGEST_TEXT_MAX];
	size_t len;

	ret[0] = '\0';
	spool_seek(self, 0);
	while (spool_line(self, &line, &len)) {
		uint64_t seq = spool_number(line, len, hash);

		if (seq == 1)
			memcpy(ret, hash, DIGEST_TEXT_MAX);
		if (seq == 1)
			return;
		if (seq > 0 && ret[0] == '\0')
			spool_member(line, "prev", ret);
		if (seq > 0 && strstr(line, "\"event\":\"checkpoint\"")) {
			spool_member(line, "log", ret);
			return;
		}
	}
}

static void spool_say(const struct spool *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void spool_say(const struct spool *self, const char *format, ...)
{
	char text[ERR_MAX_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args); /* cut if it is too long */
	va_end(args);
	self->note(text);
}

/* Goes to the record after the place, in a log whose beginning may have been pruned. */
static void spool_scan(struct spool *self)
{
	char *line, hash[DIGEST_TEXT_MAX];
	uint64_t last = 0;
	size_t len;

	for (spool_seek(self, 0); spool_line(self, &line, &len);) {
		uint64_t seq = spool_number(line, len, hash);

		if (seq > self->place.seq) {
			spool_seek(self, self->at - (off_t)len - 1);
			return;
		}
		if (seq == 0)
			continue;
		last = seq;
		if (seq == self->place.seq && strcmp(hash, self->place.hash) != 0)
			spool_say(self,
				  "record %" PRIu64 " of %s was changed after it was sent; check "
				  "the log with `sallyport audit verify`",
				  seq, self->path);
		if (seq == self->place.seq)
			return;
	}
	if (last < self->place.seq)
		spool_say(self,
			  "%s ends with record %" PRIu64 ", but record %" PRIu64
			  " was sent; check the log with `sallyport audit verify`",
			  self->path, last, self->place.seq);
	self->place.seq = last;
}

/* Is the end of the place's line where it was? */
static bool spool_is_there(const struct spool *self)
{
	char there[TAIL_LEN + 1];
	off_t from = self->place.at - (off_t)sizeof(there);

	return self->place.seq > 0 && from > 0 && self->place.at <= self->end &&
	       pread(self->fd, there, sizeof(there), from) == (ssize_t)sizeof(there) &&
	       memcmp(there, self->place.hash, HASH_LEN) == 0 &&
	       memcmp(there + HASH_LEN, "\"}\n", 3) == 0;
}

static void spool_find(struct spool *self)
{
	char log[DIGEST_TEXT_MAX];

	if (spool_is_there(self)) {
		spool_seek(self, self->place.at);
		return;
	}
	spool_identify(self, log);
	if (self->place.log[0] && log[0] && strcmp(log, self->place.log) != 0) {
		spool_say(self, "%s is another log than before; it is sent from its beginning",
			  self->path);
		self->place = (struct spool_place){ .lost = self->place.lost };
	}
	if (!self->place.log[0])
		memcpy(self->place.log, log, sizeof(log));
	if (self->place.seq > 0)
		spool_scan(self);
	else
		spool_seek(self, 0);
}

int spool_open(struct spool *self, const char *path, const struct spool_place *place,
	       void (*note)(const char *text), struct err *why)
{
	struct stat info;

	*self = (struct spool){ .path = path, .place = *place, .note = note };
	self->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (self->fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	/* The size while no writer is in the middle of a write. */
	(void)replace_lock(self->fd, LOCK_SH, SPOOL_LOCK_MS);
	int r = fstat(self->fd, &info) < 0 ? -errno : 0;

	(void)flock(self->fd, LOCK_UN); /* it may not be held */
	if (r < 0)
		return err_errno(why, -r, "cannot read the attributes of %s", path);
	if (!S_ISREG(info.st_mode))
		return err_set(why, -EINVAL, "%s is not a regular file", path);
	self->end = info.st_size;
	self->buffer = mem_new(SPOOL_BUFFER);
	spool_find(self);
	return 0;
}

void spool_close(struct spool *self)
{
	fd_close(fd_take(&self->fd));
	free(take(self->buffer));
}

struct spool_batch *spool_next(struct spool *self)
{
	struct spool_batch *batch = mem_new(sizeof(*batch));
	struct spool_place *place = &self->place;
	char *line, hash[DIGEST_TEXT_MAX];
	size_t len;

	while (batch->count < SPOOL_BATCH_MAX && batch->bytes < SPOOL_BATCH_BYTES &&
	       spool_line(self, &line, &len)) {
		uint64_t seq = spool_number(line, len, hash);

		if (seq <= place->seq || !spool_parse(line, len, &batch->records[batch->count]))
			continue; /* the next record says how many are missing */
		if (place->seq > 0)
			batch->missing += seq - place->seq - 1;
		batch->count++;
		batch->bytes += len;
		place->seq = seq;
		place->at = self->at;
		memcpy(place->hash, hash, sizeof(hash));
	}
	place->lost += batch->missing;
	batch->end = *place;
	return batch;
}

void spool_free_batch(struct spool_batch *batch)
{
	for (size_t i = 0; batch && i < batch->count; i++) {
		free(batch->records[i].line);
		free(batch->records[i].texts);
	}
	free(batch);
}
