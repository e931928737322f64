#include "proxy/relay/leg.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define PARTS_MAX 8

void leg_init(struct leg *leg, struct leg_shared *shared)
{
	*leg = (struct leg){ .shared = shared, .fd = -1, .read_size = LIMITS_READ_MIN };
}

void leg_open(struct leg *leg, int fd, event_callback_fn fn, void *arg)
{
	assert(leg->fd < 0 && fd >= 0);
	leg_init(leg, leg->shared);
	leg->fd = fd;
	event_assign(&leg->event, leg->shared->base, fd, EV_READ | EV_PERSIST, fn, arg);
}

bool leg_is_open(const struct leg *leg)
{
	return leg->fd >= 0;
}

/* Updates the watched events. With the change list this costs at most one epoll_ctl, in the next
 * turn of the loop. */
static void leg_watch(struct leg *leg, bool read, bool write)
{
	short what = (short)((read ? EV_READ : 0) | (write ? EV_WRITE : 0));

	if (read == leg->is_reading && write == leg->is_writing)
		return;
	if (leg->is_reading || leg->is_writing)
		event_del(&leg->event);
	leg->is_reading = read;
	leg->is_writing = write;
	if (!what)
		return;
	event_assign(&leg->event, leg->shared->base, leg->fd, what | EV_PERSIST,
		     event_get_callback(&leg->event), event_get_callback_arg(&leg->event));
	event_add(&leg->event, NULL);
}

void leg_drop_output(struct leg *leg)
{
	leg->shared->spilled -= leg->out.len;
	buffer_clear(&leg->out);
	if (leg->fd >= 0)
		leg_watch(leg, leg->is_reading, false);
}

void leg_close(struct leg *leg)
{
	if (leg->fd < 0)
		return;
	leg_watch(leg, false, false);
	leg_drop_output(leg);
	fd_close(leg->fd);
	leg->fd = -1;
}

void leg_abort(struct leg *leg)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (leg->fd < 0)
		return;
	/* Fails only on sockets that are not TCP; those are closed without a reset. */
	(void)setsockopt(leg->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	leg_close(leg);
}

int leg_take_fd(struct leg *leg)
{
	assert(!leg->out.len);
	leg_watch(leg, false, false);
	return fd_take(&leg->fd);
}

void leg_want_read(struct leg *leg, bool wants)
{
	leg->wants_read = wants && !leg->is_eof;
	if (leg->wants_read && leg->fd >= 0)
		leg_watch(leg, true, leg->is_writing);
}

void leg_stop_reading(struct leg *leg)
{
	leg_watch(leg, false, leg->is_writing);
}

size_t leg_read_size(const struct leg *leg)
{
	return leg->shared->spilled > LIMITS_SPILLED_BYTES ? LIMITS_READ_MIN : leg->read_size;
}

ssize_t leg_read(struct leg *leg, char *bytes, size_t max)
{
	ssize_t got = recv(leg->fd, bytes, max, MSG_DONTWAIT);

	if (got < 0)
		return errno == EINTR || errno == EWOULDBLOCK ? -EAGAIN : -errno;
	if (got == 0 && leg->shared->was_cut && leg->shared->was_cut(leg->fd, leg->shared->arg))
		return -ECONNRESET;
	if (got == 0) {
		leg->is_eof = true;
		leg->wants_read = false;
		leg_stop_reading(leg); /* a level-triggered end would fire for ever */
	}
	if ((size_t)got >= leg->read_size && leg->read_size < LIMITS_READ_BYTES)
		leg->read_size *= 2;
	return got;
}

ssize_t leg_read_room(struct leg *leg, char *bytes, size_t max, uint64_t room)
{
	char byte;

	if (room > 0)
		return leg_read(leg, bytes, room < max ? (size_t)room : max);
	ssize_t got = recv(leg->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (got > 0)
		return -EDQUOT;
	if (got < 0)
		return errno == EINTR || errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return leg_read(leg, bytes, 1); /* no data follows the end */
}

void leg_slow_down(struct leg *leg)
{
	if (leg->read_size > LIMITS_READ_MIN)
		leg->read_size /= 2;
}

/* Buffers what follows the first @sent bytes of @parts. */
static int leg_spill(struct leg *leg, const struct iovec *parts, int count, size_t sent)
{
	for (int i = 0; i < count; i++) {
		size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;
		size_t rest = parts[i].iov_len - skip;

		sent -= skip;
		if (!rest)
			continue;
		if (buffer_append(&leg->out, (char *)parts[i].iov_base + skip, rest,
				  LIMITS_OUTPUT_BYTES) < 0)
			return -ENOBUFS;
		leg->shared->spilled += rest;
	}
	if (leg->out.len)
		leg_watch(leg, leg->is_reading, true);
	return 0;
}

int leg_write(struct leg *leg, const struct iovec *parts, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
	ssize_t sent = 0;

	assert(count <= PARTS_MAX);
	if (leg->fd < 0 || leg->wants_shut)
		return -EPIPE;
	if (!leg->out.len) {
		sent = sendmsg(leg->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (sent < 0)
			sent = 0;
	}
	return leg_spill(leg, parts, count, (size_t)sent);
}

int leg_write_bytes(struct leg *leg, const void *bytes, size_t len)
{
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = len };

	return leg_write(leg, &part, 1);
}

static void leg_shut_now(struct leg *leg)
{
	leg->is_shut = true;
	/* ENOTCONN: the peer has reset the connection; the next read reports it. */
	(void)shutdown(leg->fd, SHUT_WR);
}

int leg_flush(struct leg *leg)
{
	if (leg->out.len) {
		ssize_t sent = send(leg->fd, buffer_at(&leg->out), leg->out.len,
				    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0)
			return errno == EINTR || errno == EWOULDBLOCK ? -EAGAIN : -errno;
		leg->shared->spilled -= (size_t)sent;
		buffer_consume(&leg->out, (size_t)sent);
	}
	if (leg->out.len)
		return -EAGAIN;
	leg_watch(leg, leg->is_reading, false);
	if (leg->wants_shut && !leg->is_shut)
		leg_shut_now(leg);
	return 0;
}

bool leg_is_blocked(const struct leg *leg)
{
	return leg->out.len > 0;
}

void leg_shut(struct leg *leg)
{
	if (leg->wants_shut)
		return;
	leg->wants_shut = true;
	if (!leg->out.len)
		leg_shut_now(leg);
}

bool leg_has_unread(const struct leg *leg)
{
	char byte;

	return recv(leg->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

enum leg_peer leg_peer(const struct leg *leg)
{
	struct pollfd look = { .fd = leg->fd, .events = POLLRDHUP };

	if (poll(&look, 1, 0) <= 0)
		return LEG_PEER_HERE;
	if (look.revents & (POLLERR | POLLHUP | POLLNVAL))
		return LEG_PEER_GONE;
	return look.revents & POLLRDHUP ? LEG_PEER_HALF_CLOSED : LEG_PEER_HERE;
}
