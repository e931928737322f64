#include "base/fd.h"

#include <errno.h>
#include <event2/buffer.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"

#define READ_STEP 4096

void fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void)close(fd); /* the descriptor is closed even on error */
	errno = saved;
}

void fd_close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

int fd_set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

int fd_read_all(int fd, size_t max_bytes, char **ret_text, size_t *ret_len, struct err *why)
{
	auto_free char *text = NULL;
	size_t len = 0, room = 0;

	for (;;) {
		if (room - len < 2) {
			room = len + READ_STEP + len / 2;
			text = mem_grow(text, room, 1);
		}
		ssize_t n = read(fd, text + len, room - len - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(why, errno, "cannot read");
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max_bytes)
			return err_set(why, -E2BIG, "larger than %zu bytes", max_bytes);
	}
	text[len] = '\0';
	if (ret_len)
		*ret_len = len;
	*ret_text = take(text);
	return 0;
}

int fd_write_all(int fd, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

bool fd_is_always_ready(int fd)
{
	auto_close int probe = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN };

	return probe >= 0 && epoll_ctl(probe, EPOLL_CTL_ADD, fd, &event) < 0 && errno == EPERM;
}

void fd_hang_up(int socket)
{
	(void)shutdown(socket, SHUT_RDWR); /* an error means that the peer has closed it already */
}

union fd_control {
	char bytes[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
	struct cmsghdr align;
};

int fd_send(int socket, const void *bytes, size_t len, const int *fds, size_t count)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union fd_control control;
	ssize_t n;

	if (count > FD_PASS_MAX)
		return -E2BIG;
	if (count > 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);

		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(head), fds, sizeof(int) * count);
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Moves the descriptors of @message to @fds. More than FD_PASS_MAX cannot arrive: the control
 * buffer has no room for them. */
static size_t fd_collect(struct msghdr *message, int *ret_fds)
{
	size_t count = 0;

	for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head;
	     head = CMSG_NXTHDR(message, head)) {
		if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
			continue;
		size_t here = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(ret_fds + count, CMSG_DATA(head), here * sizeof(int));
		count += here;
	}
	return count;
}

static struct msghdr fd_header(struct iovec *part, union fd_control *control)
{
	return (struct msghdr){
		.msg_iov = part,
		.msg_iovlen = 1,
		.msg_control = control->bytes,
		.msg_controllen = sizeof(control->bytes),
	};
}

/* The result of fd_recv() for a message of @n bytes. */
static ssize_t fd_received(struct msghdr *message, ssize_t n, int *ret_fds, size_t *ret_count)
{
	size_t count = fd_collect(message, ret_fds);

	*ret_count = 0;
	if (message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		for (size_t i = 0; i < count; i++)
			fd_close(ret_fds[i]);
		return -EMSGSIZE;
	}
	*ret_count = count;
	return n;
}

ssize_t fd_recv(int socket, void *bytes, size_t max_bytes, int *ret_fds, size_t *ret_count)
{
	struct iovec part = { .iov_base = bytes, .iov_len = max_bytes };
	union fd_control control;
	struct msghdr message = fd_header(&part, &control);
	ssize_t n;

	*ret_count = 0;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : fd_received(&message, n, ret_fds, ret_count);
}

int fd_recv_many(int socket, struct fd_message *messages, size_t max)
{
	struct iovec parts[FD_MANY];
	union fd_control controls[FD_MANY];
	struct mmsghdr headers[FD_MANY];
	int n;

	for (size_t i = 0; i < max; i++) {
		parts[i] = (struct iovec){ messages[i].bytes, messages[i].max_bytes };
		headers[i].msg_hdr = fd_header(&parts[i], &controls[i]);
	}
	do
		n = recvmmsg(socket, headers, (unsigned int)max, MSG_CMSG_CLOEXEC, NULL);
	while (n < 0 && errno == EINTR);
	for (int i = 0; i < n; i++)
		messages[i].len = fd_received(&headers[i].msg_hdr, (ssize_t)headers[i].msg_len,
					      messages[i].fds, &messages[i].fd_count);
	return n < 0 ? -errno : n;
}

int fd_send_queued(int fd, struct evbuffer *out)
{
	while (evbuffer_get_length(out) > 0) {
		struct evbuffer_iovec chunk;

		if (evbuffer_peek(out, -1, NULL, &chunk, 1) < 1)
			return -EIO;
		ssize_t sent = send(fd, chunk.iov_base, chunk.iov_len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return errno == EAGAIN ? -EAGAIN : -EIO;
		evbuffer_drain(out, (size_t)sent);
	}
	return 0;
}
