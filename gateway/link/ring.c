#include "gateway/link/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

#define RING_MAGIC      0x316772796c6c6173ULL
#define RING_HEAD_BYTES 4096U /* a page of its own, before the frames */
#define RING_FILE_BYTES (RING_HEAD_BYTES + RING_BYTES)
#define RING_CHUNK      (64U << 10)

/* The positions only rise; a byte is at its position modulo RING_BYTES. */
struct ring_head {
	uint64_t magic;
	_Atomic uint64_t number, kept; /* written by the gateway */
	_Atomic uint64_t written;      /* written by the worker, after the bytes */
};

/* Before each frame's bytes. */
struct ring_entry {
	int64_t wall_us;
	uint32_t len;
	uint16_t type, zero;
};

struct ring {
	int fd;
	char *path;
	uint64_t number, read, kept;
	uint8_t chunk[RING_CHUNK];
};

struct ring_writer {
	struct ring_head *head;
	uint8_t *bytes;
	uint64_t written;
};

static int ring_pread(int fd, void *out, size_t len, off_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, (char *)out + done, len - done, at + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		done += (size_t)n;
	}
	return 0;
}

static int ring_put(int fd, size_t member, uint64_t value)
{
	ssize_t n = pwrite(fd, &value, sizeof(value), (off_t)member);

	return n == (ssize_t)sizeof(value) ? 0 : -EIO;
}

/* Is what one writes to the mapping what the other reads from the file, and the other way round? */
static bool ring_is_coherent(int fd)
{
	struct ring_head *head =
		mmap(NULL, RING_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t there = 0;

	if (head == MAP_FAILED)
		return false;
	head->magic = RING_MAGIC;
	bool is_same = ring_pread(fd, &there, sizeof(there), 0) == 0 && there == RING_MAGIC &&
		       ring_put(fd, offsetof(struct ring_head, number), RING_MAGIC) == 0 &&
		       atomic_load(&head->number) == RING_MAGIC &&
		       ring_put(fd, offsetof(struct ring_head, number), 0) == 0;

	(void)munmap(head, RING_HEAD_BYTES);
	return is_same;
}

/* A process that looks for what is left may take the file before it is locked. */
static bool ring_make(struct ring *ring)
{
	struct stat info;

	ring->fd = open(ring->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY,
			0600);
	return ring->fd >= 0 && flock(ring->fd, LOCK_EX | LOCK_NB) == 0 &&
	       fstat(ring->fd, &info) == 0 && info.st_nlink == 1 &&
	       posix_fallocate(ring->fd, 0, RING_FILE_BYTES) == 0 && ring_is_coherent(ring->fd);
}

struct ring *ring_new(const char *dir, const char *name, int *ret_fd)
{
	struct ring *ring = mem_new(sizeof(*ring));

	ring->path = mem_printf("%s/%s", dir, name);
	*ret_fd = ring_make(ring) ? fcntl(ring->fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (*ret_fd >= 0)
		return ring;
	ring_free(ring, true);
	return NULL;
}

static int ring_written(const struct ring *ring, uint64_t *ret)
{
	int r = ring_pread(ring->fd, ret, sizeof(*ret), offsetof(struct ring_head, written));

	atomic_thread_fence(memory_order_acquire); /* the bytes are read after it */
	return r == 0 && *ret - ring->kept > RING_BYTES ? -EBADMSG : r;
}

void ring_free(struct ring *ring, bool is_over)
{
	if (is_over && ring->fd >= 0)
		(void)unlink(ring->path); /* otherwise its records are read once more */
	fd_close(ring->fd);
	free(ring->path);
	free(ring);
}

/* Of this store and the loads that follow in ring_read(), and of the worker's two, at least one
 * sees the other's: the worker writes before it looks at the number. */
int ring_set(struct ring *ring, uint64_t number)
{
	if (ring->number == number)
		return 0;
	int r = ring_put(ring->fd, offsetof(struct ring_head, number), number);

	if (r == 0)
		ring->number = number;
	atomic_thread_fence(memory_order_seq_cst);
	return r;
}

/* Copies @len bytes at position @at, which may go over the end of the ring. */
static int ring_copy(const struct ring *ring, uint64_t at, uint8_t *out, size_t len)
{
	size_t offset = (size_t)(at % RING_BYTES);
	size_t first = len < RING_BYTES - offset ? len : RING_BYTES - offset;
	int r = ring_pread(ring->fd, out, first, (off_t)(RING_HEAD_BYTES + offset));

	return r == 0 && first < len
		       ? ring_pread(ring->fd, out + first, len - first, RING_HEAD_BYTES)
		       : r;
}

/* Returns the size of the entry at @at, of which @len bytes are there; 0: it is not whole.
 * -EBADMSG: it is none. */
static int ring_take(const uint8_t *at, size_t len, struct frame *ret, int64_t *ret_wall_us)
{
	struct ring_entry entry;

	if (len < sizeof(entry))
		return 0;
	memcpy(&entry, at, sizeof(entry));
	if (entry.len > RING_ENTRY_MAX || entry.zero != 0)
		return -EBADMSG;
	if (len - sizeof(entry) < entry.len)
		return 0;
	frame_begin(ret, entry.type);
	ret->len = entry.len;
	memcpy(ret->bytes, at + sizeof(entry), entry.len);
	*ret_wall_us = entry.wall_us;
	return (int)(sizeof(entry) + entry.len);
}

static int ring_read_chunk(struct ring *ring, size_t len, ring_frame_fn each, void *arg)
{
	int r = ring_copy(ring, ring->read, ring->chunk, len);
	struct frame frame;
	size_t at = 0;

	while (r == 0 && at < len) {
		int64_t wall_us;
		int n = ring_take(ring->chunk + at, len - at, &frame, &wall_us);

		if (n < 0)
			return n;
		if (n == 0)
			return at > 0 ? 0 : -EBADMSG; /* the next chunk begins with it */
		at += (size_t)n;
		ring->read += (uint64_t)n;
		r = each(&frame, wall_us, arg);
	}
	return r;
}

int ring_read(struct ring *ring, ring_frame_fn each, void *arg)
{
	uint64_t written;
	int r = ring_written(ring, &written);

	if (r == 0 && written < ring->read)
		r = -EBADMSG;
	while (r == 0 && ring->read < written) {
		uint64_t left = written - ring->read;

		r = ring_read_chunk(ring, left < RING_CHUNK ? (size_t)left : RING_CHUNK, each, arg);
	}
	return r;
}

void ring_keep(struct ring *ring)
{
	if (ring->kept == ring->read)
		return;
	ring->kept = ring->read;
	(void)ring_put(ring->fd, offsetof(struct ring_head, kept), ring->kept);
}

static int ring_begin_left(struct ring *ring)
{
	struct ring_head head;
	struct stat info;

	if (flock(ring->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (fstat(ring->fd, &info) < 0)
		return -errno;
	if (info.st_nlink == 0)
		return -ENOENT; /* another process has just removed it */
	int r = ring_pread(ring->fd, &head, sizeof(head), 0);

	if (r == 0 && head.magic == RING_MAGIC)
		ring->read = ring->kept = head.kept;
	return r == -EBADMSG ? 0 : r; /* the run was killed before the worker had it */
}

int ring_open_left(const char *path, struct ring **ret)
{
	struct ring *ring = mem_new(sizeof(*ring));
	int r;

	ring->path = mem_strdup(path);
	ring->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	r = ring->fd < 0 ? -errno : ring_begin_left(ring);
	if (r == 0) {
		*ret = ring;
		return 0;
	}
	ring_free(ring, false);
	return r;
}

struct ring_writer *ring_writer_new(int fd)
{
	void *map = mmap(NULL, RING_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct ring_writer *writer;

	fd_close(fd); /* the mapping keeps the lock */
	if (map == MAP_FAILED)
		return NULL;
	writer = mem_new(sizeof(*writer));
	writer->head = map;
	writer->bytes = (uint8_t *)map + RING_HEAD_BYTES;
	return writer;
}

void ring_writer_free(struct ring_writer *writer)
{
	if (writer)
		(void)munmap(writer->head, RING_FILE_BYTES);
	free(writer);
}

static void ring_append(struct ring_writer *writer, const void *bytes, size_t len)
{
	size_t offset = (size_t)(writer->written % RING_BYTES);
	size_t first = len < RING_BYTES - offset ? len : RING_BYTES - offset;

	memcpy(writer->bytes + offset, bytes, first);
	memcpy(writer->bytes, (const uint8_t *)bytes + first, len - first);
	writer->written += len;
}

static uint64_t ring_used(const struct ring_writer *writer)
{
	return writer->written - atomic_load_explicit(&writer->head->kept, memory_order_acquire);
}

bool ring_write(struct ring_writer *writer, const struct frame *frame, int64_t wall_us)
{
	const struct ring_entry entry = { .wall_us = wall_us,
					  .len = frame->len,
					  .type = frame->type };

	if (frame->is_bad || frame->len > RING_ENTRY_MAX ||
	    ring_used(writer) + sizeof(entry) + frame->len > RING_BYTES)
		return false;
	ring_append(writer, &entry, sizeof(entry));
	ring_append(writer, frame->bytes, frame->len);
	atomic_store_explicit(&writer->head->written, writer->written, memory_order_release);
	return true;
}

uint64_t ring_allowed(const struct ring_writer *writer)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&writer->head->number, memory_order_acquire);
}

bool ring_is_half_full(const struct ring_writer *writer)
{
	return ring_used(writer) > RING_BYTES / 2;
}
