/* Several runs append to one file: each merges its segment (segment.h) under flock(2), which never
 * blocks here: another process may hold it for any time, and no run waits for it. */
#include "gateway/audit/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "gateway/audit/record.h"
#include "gateway/audit/resume.h"

#define ADVICE "move %s and %s.head aside to start a new log"

int logfile_open_own(const char *path, int flags, struct err *why)
{
	auto_close int fd =
		open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	struct stat info;

	if (fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	if (fstat(fd, &info) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", path);
	if (!S_ISREG(info.st_mode))
		return err_set(why, -EINVAL, "%s is not a regular file", path);
	if (info.st_uid != geteuid() || (info.st_mode & 022) != 0)
		return err_set(why, -EPERM,
			       "other users can write %s; it must belong to you and have mode 0600",
			       path);
	return fd_take(&fd);
}

int logfile_unwritten(const struct logfile *self, const char *dir, int r, struct err *why)
{
	bool is_full = r == -ENOSPC || r == -EDQUOT;

	return err_set(why, r, "the audit log %s cannot be written%s%s: %s", self->path,
		       dir ? ", as its newest records cannot be kept in " : "", dir ? dir : "",
		       is_full ? "the disk is full; make room there" : strerror(-r));
}

/* A new file gets its head at once, so a head that is missing later was removed. */
static int logfile_begin(struct logfile *self, struct err *why)
{
	struct stat file, head;
	struct chain chain;

	if (fstat(self->fd, &file) < 0 || fstat(self->head_fd, &head) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", self->path);
	if (file.st_size == 0 && head.st_size == 0) {
		chain_begin(&chain);
		int r = chain_head_write(self->head_fd, &chain);

		return r < 0 ? logfile_unwritten(self, NULL, r, why) : 0;
	}
	if (chain_head_read(self->head_fd, &chain) < 0)
		return err_set(why, -EBADMSG, "%s.head is missing or damaged: " ADVICE, self->path,
			       self->path, self->path);
	if (file.st_size < chain.size && !chain_is_of_other_boot(&chain) &&
	    resume_first(self->fd, self->head_fd, file.st_size, &chain, NULL) < 0)
		return err_set(
			why, -EBADMSG,
			"%s was truncated: its head counts more records than it has: " ADVICE,
			self->path, self->path, self->path);
	return 0;
}

static int logfile_try_lock(struct logfile *self, struct err *why)
{
	int r = replace_lock(self->fd, LOCK_EX, 0);

	if (r == -EWOULDBLOCK)
		return err_set(why, -EBUSY, "%s is locked by another process", self->path);
	if (r < 0)
		return err_errno(why, -r, "cannot lock %s", self->path);
	self->is_locked = true;
	return 0;
}

void logfile_unlock(struct logfile *self)
{
	if (self->is_locked)
		(void)flock(self->fd, LOCK_UN); /* cannot fail on a held lock */
	self->is_locked = false;
}

int logfile_open(struct logfile *self, const char *path, struct err *why)
{
	auto_free char *head = chain_head_path(path);

	*self = (struct logfile){ .path = mem_strdup(path), .fd = -1, .head_fd = -1 };
	self->fd = logfile_open_own(path, O_RDWR | O_APPEND, why);
	if (self->fd < 0)
		return self->fd;
	self->head_fd = logfile_open_own(head, O_RDWR, why);
	if (self->head_fd < 0)
		return self->head_fd;
	int r = logfile_try_lock(self, NULL);

	/* The process that holds it has begun it; an error in it is found when records are
	 * merged. */
	if (r == -EBUSY)
		return 0;
	if (r < 0)
		return err_errno(why, -r, "cannot lock %s", path);
	r = logfile_begin(self, why);
	logfile_unlock(self);
	return r;
}

void logfile_close(struct logfile *self)
{
	logfile_unlock(self);
	fd_close(self->fd);
	fd_close(self->head_fd);
	free(self->path);
	*self = (struct logfile){ .fd = -1, .head_fd = -1 };
}

int logfile_reopen(struct logfile *self, struct err *why)
{
	auto_free char *path = mem_strdup(self->path);

	logfile_close(self);
	return logfile_open(self, path, why);
}

int logfile_append(struct logfile *self, const char *bytes, size_t len, const struct chain *next,
		   struct err *why)
{
	struct chain end = *next;
	int r = fd_write_all(self->fd, bytes, len);

	memcpy(end.boot, self->boot, sizeof(end.boot));
	if (r == 0)
		r = chain_head_write(self->head_fd, &end);
	if (r == 0) {
		self->chain = end;
		return 0;
	}
	/* Truncates to the last whole record. If that fails too, the file ends in a partial record,
	 * which the next process with the lock cuts off. */
	if (ftruncate(self->fd, self->chain.size) < 0)
		return err_errno(why, -r,
				 "cannot write %s, and cannot truncate it to its last record",
				 self->path);
	(void)chain_head_write(self->head_fd, &self->chain); /* tried; the error is @r */
	return logfile_unwritten(self, NULL, r, why);
}

/* Continues a log whose end was not on the disk when the machine stopped, with a record of it. */
static int logfile_take_over(struct logfile *self, off_t size, struct err *why)
{
	struct sink_gap gap = { 0 };
	struct sink_record record = {
		.event = SINK_GAP,
		.gap = &gap,
		.cause = "the machine stopped before these records were on the disk, or they were "
			 "removed before it was started again; those that a run had kept apart "
			 "follow",
	};
	char members[CHAIN_MEMBERS_MAX], line[CHAIN_LINE_MAX];
	struct stat info;
	struct chain head, next;
	int r = chain_head_read(self->head_fd, &head);

	if (r == 0)
		r = resume_after_loss(self->fd, &head, size, &self->chain, &gap.lost, why);
	if (r < 0)
		return r;
	if (fstat(self->head_fd, &info) == 0)
		gap.since_us = (int64_t)info.st_mtim.tv_sec * 1000000;
	record_stamp(&record);
	ssize_t len = record_members(&record, members, sizeof(members));

	next = self->chain;
	if (len >= 0)
		len = chain_seal(&next, members, (size_t)len, line);
	if (len < 0)
		return err_set(why, (int)len, "an audit record cannot be formatted");
	r = logfile_append(self, line, (size_t)len, &next, why);
	if (r < 0)
		(void)chain_head_write(self->head_fd, &head); /* so that it is found again */
	return r;
}

/* Finds the position of the chain: another run may have appended. */
static int logfile_resume(struct logfile *self, struct err *why)
{
	off_t size = lseek(self->fd, 0, SEEK_END); /* costs half as much as fstat(2) */
	struct err found = { 0 };
	struct chain now;
	int r = 0;

	if (size < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", self->path);
	if (!self->has_resumed) {
		chain_stamp(&now);
		memcpy(self->boot, now.boot, sizeof(self->boot));
		r = resume_first(self->fd, self->head_fd, size, &self->chain, &found);
		if (r == -EBADMSG && logfile_take_over(self, size, NULL) == 0)
			r = 0;
	}
	if (self->has_resumed && size != self->chain.size)
		r = resume_again(self->fd, self->head_fd, size, &self->chain, &found);
	if (r < 0)
		return err_set(why, r, "%s cannot be continued: %s: " ADVICE, self->path,
			       found.text, self->path, self->path);
	self->has_resumed = true;
	return 0;
}

bool logfile_is_current(int fd, const char *path)
{
	struct stat file, named;

	return fstat(fd, &file) < 0 || lstat(path, &named) < 0 ||
	       (file.st_ino == named.st_ino && file.st_dev == named.st_dev);
}

int logfile_lock(struct logfile *self, struct err *why)
{
	int r = logfile_try_lock(self, why);

	if (r == 0 && !logfile_is_current(self->fd, self->path)) { /* it was pruned */
		r = logfile_reopen(self, why);
		if (r == 0)
			r = logfile_try_lock(self, why);
	}
	if (r < 0)
		return r;
	r = logfile_resume(self, why);
	if (r < 0)
		logfile_unlock(self);
	return r;
}
