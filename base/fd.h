/* fd: descriptors that close themselves, complete reads and writes, and descriptors sent over a
 * socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct evbuffer;

/* Closes unless negative; keeps errno. */
void fd_close(int fd);
static inline void fd_close_local(int *fd)
{
	fd_close(*fd);
}
#define auto_close __attribute__((cleanup(fd_close_local)))
void fd_close_all(const int *fds, size_t count); /* each of them */

/* Transfers ownership from a local: the local is -1 afterwards. */
static inline int fd_take(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

/* 0 or -errno. */
int fd_set_nonblocking(int fd, bool on);

/* Is it always ready? True for descriptors that epoll(7) refuses with EPERM: a regular file,
 * /dev/null. */
bool fd_is_always_ready(int fd);

/* Reads to the end into an owned, NUL-terminated *@ret_text (a NUL inside is kept; *@ret_len says
 * how long, may be NULL). More than @max_bytes: -E2BIG. */
int fd_read_all(int fd, size_t max_bytes, char **ret_text, size_t *ret_len, struct err *why);

/* Writes all of it or returns -errno; repeats on EINTR. For files and blocking descriptors. */
int fd_write_all(int fd, const void *bytes, size_t len);

/* Sends what the socket accepts now. 0: everything was sent; -EAGAIN: the rest has to wait; -EIO:
 * the connection is closed. */
int fd_send_queued(int socket, struct evbuffer *out);

/* Shuts a connected socket down in both directions, also for other processes that hold it. */
void fd_hang_up(int socket);

#define FD_PASS_MAX 8

/* One message of @len ≥ 1 bytes with @count descriptors (borrowed) over a Unix socket. 0 or -errno.
 */
int fd_send(int socket, const void *bytes, size_t len, const int *fds, size_t count);

/* Receives one message: the byte count, or -errno. The descriptors (O_CLOEXEC) are returned owned
 * in @ret_fds[FD_PASS_MAX], *@ret_count of them. A truncated message is -EMSGSIZE and returns no
 * descriptors. */
ssize_t fd_recv(int socket, void *bytes, size_t max_bytes, int *ret_fds, size_t *ret_count);

#define FD_MANY 16
/* A message to be received: the caller sets @bytes and @max_bytes; @len, @fds and @fd_count are as
 * the result of fd_recv(). */
struct fd_message {
	void *bytes;
	size_t max_bytes, fd_count;
	ssize_t len;
	int fds[FD_PASS_MAX];
};
/* Receives what is there, at most @max <= FD_MANY messages, by one call: their number, at least 1,
 * or -errno. At the end of the stream every message has length 0. */
int fd_recv_many(int socket, struct fd_message *messages, size_t max);
