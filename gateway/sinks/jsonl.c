/* Several runs may append to one file. Whoever writes holds flock(2) on it from its first record to
 * its commit, and takes the chain up where the head says it stands. Records of a batch go out in
 * one write(2), then the head follows in one pwrite(2): a writer that dies between the two leaves
 * chained records that the head does not know yet, which the next one adopts. */
#include "gateway/sinks/jsonl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/sinks/chain.h"
#include "gateway/sinks/record.h"
#include "gateway/sinks/resume.h"

#define LOCK_TRIES 200 /* one a millisecond; a holder needs some microseconds */
#define BATCH_MAX  (1U << 20)
#define ADVICE     "move %s and %s.head aside to start a new log"

struct jsonl {
	char *path;
	int fd, head_fd;
	struct chain chain; /* as in the file, while locked */
	struct chain next;  /* with the batch */
	bool is_locked;
	bool has_resumed; /* the file's last record was checked, once */
	char *batch;
	size_t batch_len, batch_size;
};

static int jsonl_lock(struct jsonl *self, struct err *why)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(self->fd, LOCK_EX | LOCK_NB) == 0) {
			self->is_locked = true;
			return 0;
		}
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(why, errno, "cannot lock %s", self->path);
		(void)poll(NULL, 0, 1); /* a bounded wait, for a holder that needs microseconds */
	}
	return err_set(why, -EBUSY, "%s has been locked by another process for too long",
		       self->path);
}

static void jsonl_unlock(struct jsonl *self)
{
	if (self->is_locked)
		(void)flock(self->fd, LOCK_UN); /* cannot fail on a lock that is held */
	self->is_locked = false;
}

/* Opens without following a link, and only what is ours: a file that others may write proves
 * nothing. */
static int jsonl_open_file(const char *path, int flags, struct err *why)
{
	auto_close int fd =
		open(path, flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	struct stat info;

	if (fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	if (fstat(fd, &info) < 0)
		return err_errno(why, errno, "cannot look at %s", path);
	if (!S_ISREG(info.st_mode))
		return err_set(why, -EINVAL, "%s is not a regular file", path);
	if (info.st_uid != geteuid() || (info.st_mode & 022) != 0)
		return err_set(why, -EPERM,
			       "%s can be written by others: it has to be yours, mode 0600", path);
	return fd_take(&fd);
}

/* A new file gets its head at once, so that a head that is missing later was taken away. Nothing is
 * hashed here. */
static int jsonl_begin(struct jsonl *self, struct err *why)
{
	struct stat file, head;
	struct chain chain;

	if (fstat(self->fd, &file) < 0 || fstat(self->head_fd, &head) < 0)
		return err_errno(why, errno, "cannot look at %s", self->path);
	if (file.st_size == 0 && head.st_size == 0) {
		chain_begin(&chain);
		int r = chain_head_write(self->head_fd, &chain);

		return r < 0 ? err_errno(why, -r, "cannot write %s.head", self->path) : 0;
	}
	if (chain_head_read(self->head_fd, &chain) < 0)
		return err_set(why, -EBADMSG, "%s.head is missing or damaged: " ADVICE, self->path,
			       self->path, self->path);
	if (file.st_size < chain.size)
		return err_set(why, -EBADMSG,
			       "%s was cut: its head knows more than is there: " ADVICE, self->path,
			       self->path, self->path);
	return 0;
}

static void jsonl_close(struct sink *sink)
{
	struct jsonl *self = (struct jsonl *)sink;

	if (!self)
		return;
	jsonl_unlock(self);
	fd_close(self->fd);
	fd_close(self->head_fd);
	free(self->batch);
	free(self->path);
	free(self);
}

static int jsonl_open_both(struct jsonl *self, struct err *why)
{
	auto_free char *head = chain_head_path(self->path);

	self->fd = jsonl_open_file(self->path, O_RDWR | O_APPEND, why);
	if (self->fd < 0)
		return self->fd;
	self->head_fd = jsonl_open_file(head, O_RDWR, why);
	if (self->head_fd < 0)
		return self->head_fd;
	int r = jsonl_lock(self, why);

	if (r == 0)
		r = jsonl_begin(self, why);
	jsonl_unlock(self);
	return r;
}

static struct sink *jsonl_open(const struct gateway_config *config, struct err *why)
{
	if (!config->audit_path)
		return NULL;
	struct jsonl *self = mem_new(sizeof(*self));

	self->path = mem_strdup(config->audit_path);
	self->fd = self->head_fd = -1;
	if (jsonl_open_both(self, why) == 0)
		return (struct sink *)self;
	jsonl_close((struct sink *)self);
	return NULL;
}

/* Under the lock: where does the chain stand? Another run may have written since. */
static int jsonl_resume(struct jsonl *self, struct err *why)
{
	struct stat file;
	struct err found = { 0 };
	int r = 0;

	if (fstat(self->fd, &file) < 0)
		return err_errno(why, errno, "cannot look at %s", self->path);
	if (!self->has_resumed)
		r = resume_first(self->fd, self->head_fd, file.st_size, &self->chain, &found);
	else if (file.st_size != self->chain.size)
		r = resume_again(self->fd, self->head_fd, file.st_size, &self->chain, &found);
	if (r < 0)
		return err_set(why, r, "%s cannot be continued: %s: " ADVICE, self->path,
			       found.text, self->path, self->path);
	self->has_resumed = true;
	return 0;
}

static int jsonl_begin_batch(struct jsonl *self, struct err *why)
{
	if (self->is_locked)
		return 0;
	int r = jsonl_lock(self, why);

	if (r == 0)
		r = jsonl_resume(self, why);
	if (r < 0) {
		jsonl_unlock(self);
		return r;
	}
	self->next = self->chain;
	self->batch_len = 0;
	return 0;
}

static int jsonl_write(struct sink *sink, const struct sink_record *record, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	int r = jsonl_begin_batch(self, why);

	if (r < 0)
		return r;
	if (self->batch_len + CHAIN_LINE_MAX > BATCH_MAX)
		return err_set(why, -E2BIG, "too many audit records at once");
	if (self->batch_len + CHAIN_LINE_MAX > self->batch_size) {
		self->batch_size = self->batch_len + 4 * CHAIN_LINE_MAX;
		self->batch = mem_grow(self->batch, self->batch_size, 1);
	}
	char *line = self->batch + self->batch_len;
	ssize_t len =
		record_line(record, self->next.seq + 1, self->next.hash, line, CHAIN_LINE_MAX);

	if (len >= 0)
		len = chain_seal(&self->next, line, (size_t)len);
	if (len < 0)
		return err_set(why, (int)len, "an audit record cannot be made");
	self->batch_len += (size_t)len;
	return 0;
}

/* All of it and the head, or neither. */
static int jsonl_append(struct jsonl *self, struct err *why)
{
	int r = fd_write_all(self->fd, self->batch, self->batch_len);

	if (r == 0)
		r = chain_head_write(self->head_fd, &self->next);
	if (r == 0)
		return 0;
	/* Back to the last whole record. When that fails too the file ends in the middle of one,
	 * and verify says so. */
	if (ftruncate(self->fd, self->chain.size) < 0)
		return err_errno(why, -r, "cannot write %s, nor cut it back", self->path);
	(void)chain_head_write(self->head_fd, &self->chain); /* it was tried; the error is @r */
	return err_errno(why, -r, "cannot write %s", self->path);
}

static int jsonl_commit(struct sink *sink, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	int r = 0;

	if (!self->is_locked)
		return 0;
	if (self->batch_len > 0)
		r = jsonl_append(self, why);
	if (r == 0)
		self->chain = self->next;
	self->batch_len = 0;
	jsonl_unlock(self);
	return r;
}

const struct sink_ops jsonl_ops = {
	.name = "jsonl",
	.open = jsonl_open,
	.write = jsonl_write,
	.commit = jsonl_commit,
	.close = jsonl_close,
};
