/* Several runs may append to one file. Records are gathered without their chain, so that nothing is
 * held meanwhile; the commit takes flock(2), takes the chain up where the head says it stands, and
 * hangs them on it. They go out in one write(2), then the head follows in one pwrite(2): a writer
 * that dies between the two leaves chained records that the head does not know yet, which the next
 * one adopts. */
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
#define ROOM_STEP  8   /* how many of the longest there is room for at first, and then more */
#define ADVICE     "move %s and %s.head aside to start a new log"

struct jsonl_room {
	char *bytes;
	size_t len, size;
};

struct jsonl {
	char *path;
	int fd, head_fd;
	struct chain chain; /* as in the file, while locked */
	struct chain next;  /* with the batch */
	bool is_locked;
	bool has_resumed;            /* the file's last record was checked, once */
	struct jsonl_room gathered;  /* the members of each record, one behind the other */
	size_t ends[SINK_BATCH_MAX]; /* of each in there */
	size_t count;
	struct jsonl_room batch; /* the same, as lines */
};

/* Room for one more of the longest. */
static void jsonl_make_room(struct jsonl_room *room)
{
	if (room->len + CHAIN_LINE_MAX <= room->size)
		return;
	room->size += ROOM_STEP * (size_t)CHAIN_LINE_MAX;
	room->bytes = mem_grow(room->bytes, room->size, 1);
}

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
	free(self->gathered.bytes);
	free(self->batch.bytes);
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
	off_t size = lseek(self->fd, 0, SEEK_END); /* half of what fstat(2) costs */
	struct err found = { 0 };
	int r = 0;

	if (size < 0)
		return err_errno(why, errno, "cannot look at %s", self->path);
	if (!self->has_resumed)
		r = resume_first(self->fd, self->head_fd, size, &self->chain, &found);
	else if (size != self->chain.size)
		r = resume_again(self->fd, self->head_fd, size, &self->chain, &found);
	if (r < 0)
		return err_set(why, r, "%s cannot be continued: %s: " ADVICE, self->path,
			       found.text, self->path, self->path);
	self->has_resumed = true;
	return 0;
}

static int jsonl_write(struct sink *sink, const struct sink_record *record, struct err *why)
{
	struct jsonl *self = (struct jsonl *)sink;
	struct jsonl_room *room = &self->gathered;

	if (self->count == SINK_BATCH_MAX)
		return err_set(why, -E2BIG, "too many audit records at once");
	jsonl_make_room(room);
	ssize_t len = record_members(record, room->bytes + room->len, CHAIN_MEMBERS_MAX);

	if (len < 0)
		return err_set(why, (int)len, "an audit record cannot be made");
	room->len += (size_t)len;
	self->ends[self->count++] = room->len;
	return 0;
}

/* Hangs what was gathered on the chain as it stands. */
static int jsonl_seal(struct jsonl *self, struct err *why)
{
	struct jsonl_room *batch = &self->batch;
	size_t from = 0;

	self->next = self->chain;
	batch->len = 0;
	for (size_t i = 0; i < self->count; i++) {
		jsonl_make_room(batch);
		ssize_t len = chain_seal(&self->next, self->gathered.bytes + from,
					 self->ends[i] - from, batch->bytes + batch->len);

		if (len < 0)
			return err_set(why, (int)len, "an audit record cannot be made");
		batch->len += (size_t)len;
		from = self->ends[i];
	}
	return 0;
}

/* All of it and the head, or neither. */
static int jsonl_append(struct jsonl *self, struct err *why)
{
	int r = fd_write_all(self->fd, self->batch.bytes, self->batch.len);

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

	if (self->count == 0)
		return 0;
	int r = jsonl_lock(self, why);

	if (r == 0)
		r = jsonl_resume(self, why);
	if (r == 0)
		r = jsonl_seal(self, why);
	if (r == 0)
		r = jsonl_append(self, why);
	if (r == 0)
		self->chain = self->next;
	self->count = self->gathered.len = 0;
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
