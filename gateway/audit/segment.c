/* A segment consists of two heads (chain.h), lines, and another head. The first head says which
 * lines are in the log already; the second, where the log ended when the next lines were to be
 * merged: if a run is killed between the two, that place in the log shows what it did. The last
 * head is rewritten in the same write as the lines: without it, the end was cut off, or the writer
 * was killed while it wrote. */
#include "gateway/audit/segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/audit/logfile.h"

#define WRITE_TRIES 3 /* for one write that fails temporarily */
#define NAME_TRIES  100

void segment_key(const char *path, char ret[SEGMENT_KEY_MAX])
{
	auto_free char *real = realpath(path, NULL);
	const char *text = real ? real : path;
	char digest[DIGEST_TEXT_MAX] = "";

	(void)digest_text(text, strlen(text), "", 0, digest); /* SHA-256 of memory cannot fail */
	(void)snprintf(ret, SEGMENT_KEY_MAX, "%.*s", SEGMENT_KEY_MAX - 1, digest);
}

static int segment_write(int fd, const char *bytes, size_t len, off_t at)
{
	int tries = 0;

	while (len > 0) {
		ssize_t n = pwrite(fd, bytes, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && ++tries == WRITE_TRIES)
			return -errno;
		if (n == 0)
			return -ENOSPC;
		if (n < 0)
			continue;
		bytes += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int segment_save(const struct segment *self)
{
	char heads[SEGMENT_BEGIN];

	chain_head_text(&self->merged, heads);
	chain_head_text(&self->log, heads + CHAIN_HEAD_BYTES);
	return segment_write(self->fd, heads, sizeof(heads), 0);
}

int segment_rewind(struct segment *self)
{
	struct segment next = *self;
	char bytes[SEGMENT_BEGIN + SEGMENT_END];

	next.merged.size = next.end.size = SEGMENT_BEGIN;
	chain_head_text(&next.merged, bytes);
	chain_head_text(&next.log, bytes + CHAIN_HEAD_BYTES);
	chain_head_text(&next.end, bytes + SEGMENT_BEGIN);
	/* In this order, because data after the last head is ignored. */
	int r = segment_write(self->fd, bytes, sizeof(bytes), 0);

	if (r < 0)
		return r;
	*self = next;
	return ftruncate(self->fd, sizeof(bytes)) < 0 ? -errno : 0;
}

int segment_settle(struct segment *self)
{
	self->is_taken = false;
	self->merged = self->taken;
	return self->merged.seq == self->end.seq ? segment_rewind(self) : segment_save(self);
}

static int segment_check_dir(const char *dir, struct err *why)
{
	struct stat info;

	if (lstat(dir, &info) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", dir);
	if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) != 0)
		return err_set(why, -EPERM, "%s must be a folder that only you can write", dir);
	return 0;
}

/* It is locked before it gets the name that other processes look for. */
static int segment_name(struct segment *self, const char *dir, const char *key, const char *run,
			const char *hidden, struct err *why)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		free(self->path);
		self->path = mem_printf("%s/%s.%s.%d.%d", dir, key, run, (int)getpid(), i);
		if (link(hidden, self->path) == 0)
			return 0;
		if (errno != EEXIST)
			return err_errno(why, errno, "cannot make %s", self->path);
	}
	return err_set(why, -EEXIST, "cannot make %s: the folder has too many segments",
		       self->path);
}

int segment_create(struct segment *self, const char *dir, const char *key, const char *run,
		   struct err *why)
{
	auto_free char *hidden = mem_printf("%s/.%s.%d", dir, run, (int)getpid());

	*self = (struct segment){ .fd = -1 };
	chain_begin(&self->merged);
	self->log = self->end = self->merged;
	if (strchr(run, '/') || strlen(run) >= SEGMENT_RUN_MAX)
		return err_set(why, -EINVAL, "%s cannot be the name of a run", run);
	int r = segment_check_dir(dir, why);

	if (r < 0)
		return r;
	(void)unlink(hidden); /* of a killed process that had our pid */
	self->fd = logfile_open_own(hidden, O_RDWR | O_EXCL, why);
	if (self->fd < 0)
		return self->fd;
	if (flock(self->fd, LOCK_EX | LOCK_NB) < 0)
		r = err_errno(why, errno, "cannot lock %s", hidden);
	if (r == 0)
		r = segment_rewind(self);
	if (r < 0)
		r = err_errno(why, -r, "cannot write %s", hidden);
	if (r == 0)
		r = segment_name(self, dir, key, run, hidden, why);
	(void)unlink(hidden);
	return r;
}

/* It had its heads before its name: the machine stopped before they were on the disk. */
static bool segment_is_blank(const char *heads, size_t len)
{
	return len == 0 ||
	       (len == SEGMENT_BEGIN && heads[0] == '\0' && memcmp(heads, heads + 1, len - 1) == 0);
}

int segment_open(struct segment *self, const char *path, bool is_taken, struct err *why)
{
	char heads[SEGMENT_BEGIN];
	struct stat info;

	*self = (struct segment){ .path = mem_strdup(path), .is_unsure = true };
	self->fd = open(path, (is_taken ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
	if (self->fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	if (flock(self->fd, (is_taken ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0 ||
	    fstat(self->fd, &info) < 0 || info.st_nlink == 0)
		return err_set(why, -EBUSY, "%s is in use", path);
	ssize_t n = pread(self->fd, heads, sizeof(heads), 0);

	if (n >= 0 && segment_is_blank(heads, (size_t)n)) {
		chain_begin(&self->merged);
		chain_begin(&self->log);
		self->merged.size = SEGMENT_BEGIN;
		self->is_cut = true;
		return 0;
	}
	if (n != (ssize_t)sizeof(heads) || chain_head_parse(heads, &self->merged) < 0 ||
	    chain_head_parse(heads + CHAIN_HEAD_BYTES, &self->log) < 0 ||
	    self->merged.size < SEGMENT_BEGIN)
		return err_set(why, -EBADMSG, "%s: its heads are damaged", path);
	self->is_cut = chain_is_of_other_boot(&self->merged);
	return 0;
}

void segment_close(struct segment *self)
{
	fd_close(self->fd);
	free(self->path);
	*self = (struct segment){ .fd = -1 };
}

int segment_append(struct segment *self, char *bytes, size_t len, const struct chain *next)
{
	char end[SEGMENT_END];

	chain_head_text(next, bytes + len);
	int r = segment_write(self->fd, bytes, len + SEGMENT_END, self->end.size);

	if (r == 0) {
		self->end = *next;
		return 0;
	}
	/* Restores the old end; if that fails too, the torn part is overwritten later. */
	chain_head_text(&self->end, end);
	if (segment_write(self->fd, end, sizeof(end), self->end.size) == 0 &&
	    ftruncate(self->fd, self->end.size + SEGMENT_END) < 0)
		return r; /* the same error: data after the end is ignored */
	return r;
}

/* Finds the complete lines of @bytes that continue the chain, and checks what follows them. */
static int segment_intact(const struct segment *self, const char *bytes, size_t len, bool is_all,
			  struct segment_read *ret, struct err *why)
{
	struct chain end;

	while (ret->len < len) {
		const char *at = bytes + ret->len;
		size_t left = len - ret->len;

		if (left >= SEGMENT_END && chain_head_parse(at, &end) == 0) {
			ret->is_last = true;
			if (end.seq == ret->chain.seq && end.size == ret->chain.size &&
			    strcmp(end.hash, ret->chain.hash) == 0)
				return 0;
			return err_set(why, -EBADMSG, "%s: its end does not match its last record",
				       self->path);
		}
		const char *newline = memchr(at, '\n', left);
		uint64_t number = ret->chain.seq + 1;

		if (!newline)
			break;
		int r = chain_check(&ret->chain, at, (size_t)(newline - at), why);

		if (r < 0 && is_all && newline + 1 == bytes + len)
			break; /* a partial line in place of the former end */
		if (r < 0)
			return err_prefix(why, r, "%s:%llu", self->path,
					  (unsigned long long)number);
		ret->len += (size_t)(newline - at) + 1;
	}
	ret->is_last = ret->is_torn = is_all;
	return 0;
}

/* If the machine was started again, the records end where the disk has no more of them. */
static int segment_lines(const struct segment *self, const char *bytes, size_t len, bool is_all,
			 struct segment_read *ret, struct err *why)
{
	if (!self->is_cut)
		return segment_intact(self, bytes, len, is_all, ret, why);
	int r = segment_intact(self, bytes, len, is_all, ret, NULL);

	if (r < 0 || (ret->len == 0 && !ret->is_last))
		ret->is_last = ret->is_torn = true;
	return 0;
}

static bool segment_is_at_end(const struct segment *self, const struct segment_read *read)
{
	return self->end.size == 0 || (read->chain.seq == self->end.seq && !read->is_torn &&
				       strcmp(read->chain.hash, self->end.hash) == 0);
}

int segment_read(const struct segment *self, struct segment_read *ret, struct err *why)
{
	size_t size = SEGMENT_CHUNK + SEGMENT_RECORD_MAX, len = 0;
	off_t left = lseek(self->fd, 0, SEEK_END) - self->merged.size;

	if (left < (off_t)size)
		size = left > 0 ? (size_t)left + 1 : 1; /* one byte more, to see its end */
	auto_free char *bytes = mem_new(size);

	*ret = (struct segment_read){ .chain = self->merged };
	while (len < size) {
		ssize_t n =
			pread(self->fd, bytes + len, size - len, self->merged.size + (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(why, errno, "cannot read %s", self->path);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	int r = segment_lines(self, bytes, len, len < size, ret, why);

	if (r == 0 && ret->len == 0 && !ret->is_last)
		r = err_set(why, -EBADMSG, "%s: one of its lines is not an audit record",
			    self->path);
	if (r == 0 && ret->is_last && !segment_is_at_end(self, ret))
		r = err_set(why, -EBADMSG, "%s was changed after it was written", self->path);
	if (r == 0)
		ret->bytes = take(bytes);
	return r;
}

int segment_each(const char *dir, const char *key, segment_each_fn each, void *arg)
{
	DIR *folder = opendir(dir);
	int r = 0;

	for (struct dirent *entry; folder && r == 0 && (entry = readdir(folder));) {
		const char *name = entry->d_name;
		char run[SEGMENT_RUN_MAX] = "";

		if (strncmp(name, key, strlen(key)) != 0 || name[strlen(key)] != '.')
			continue;
		name += strlen(key) + 1;
		(void)snprintf(run, sizeof(run), "%.*s", (int)strcspn(name, "."), name);
		auto_free char *path = mem_printf("%s/%s", dir, entry->d_name);

		r = each(path, run, arg);
	}
	if (folder)
		(void)closedir(folder);
	return r;
}
