#include "base/frame.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

#define FRAME_HEAD_BYTES offsetof(struct frame_wire, bytes)
#define FRAMES_PER_TURN  64 /* afterwards the loop serves other descriptors */

/* The wire format: the type, then the body. */
struct frame_wire {
	uint16_t type;
	uint8_t bytes[FRAME_MAX_BYTES];
};

/* A frame that the kernel has not accepted yet. */
struct frame_waiting {
	STAILQ_ENTRY(frame_waiting) entry;
	int fds[FD_PASS_MAX];
	size_t fd_count;
	size_t len;
	uint8_t wire[];
};

/* One datagram is one frame. A frame is sent at once; when the kernel has no room, frames wait in
 * order for EV_WRITE. A link that fails is marked closed; on_closed runs from the loop, never from
 * inside frame_link_send(). */
struct frame_link {
	struct loop *loop;
	int socket;
	bool is_closed;
	bool *is_freed; /* set while reading, so that a callback may free the link */
	struct event readable, writable;
	struct loop_timer closing;
	STAILQ_HEAD(frame_waiting_list, frame_waiting) waiting;
	size_t waiting_count;
	frame_link_frame_fn on_frame;
	frame_link_closed_fn on_closed;
	void *arg;
	struct frame frame; /* the frame being delivered */
};

static void frame_waiting_free(struct frame_waiting *waiting)
{
	for (size_t i = 0; i < waiting->fd_count; i++)
		fd_close(waiting->fds[i]);
	free(waiting);
}

static void frame_link_report_closed(void *arg)
{
	struct frame_link *link = arg;

	link->on_closed(link->arg);
}

static void frame_link_fail(struct frame_link *link)
{
	if (link->is_closed)
		return;
	link->is_closed = true;
	event_del(&link->readable);
	event_del(&link->writable);
	loop_defer(link->loop, &link->closing, frame_link_report_closed, link);
}

static size_t frame_to_wire(const struct frame *frame, struct frame_wire *wire)
{
	assert(!frame->is_bad);
	wire->type = frame->type;
	memcpy(wire->bytes, frame->bytes, frame->len);
	return FRAME_HEAD_BYTES + frame->len;
}

int frame_link_send_on(int socket, const struct frame *frame, const int *fds, size_t count)
{
	struct frame_wire wire;
	size_t len = frame_to_wire(frame, &wire);

	return fd_send(socket, &wire, len, fds, count);
}

int frame_link_receive_on(int socket, struct frame *ret, int *ret_fds, size_t *ret_count)
{
	struct frame_wire wire;
	ssize_t n = fd_recv(socket, &wire, sizeof(wire), ret_fds, ret_count);

	if (n < 0)
		return (int)n;
	if (n < (ssize_t)FRAME_HEAD_BYTES) {
		for (size_t i = 0; i < *ret_count; i++)
			fd_close(ret_fds[i]);
		return n == 0 ? -EPIPE : -EBADMSG;
	}
	frame_begin(ret, wire.type);
	ret->len = (uint32_t)n - FRAME_HEAD_BYTES;
	memcpy(ret->bytes, wire.bytes, ret->len);
	return 0;
}

static void frame_link_readable(evutil_socket_t fd, short what, void *arg)
{
	struct frame_link *link = arg;
	bool is_freed = false;

	link->is_freed = &is_freed;
	for (int i = 0; i < FRAMES_PER_TURN && !link->is_closed; i++) {
		int fds[FD_PASS_MAX];
		size_t count = 0;
		int r = frame_link_receive_on(link->socket, &link->frame, fds, &count);

		if (r == -EAGAIN)
			break;
		if (r < 0) {
			frame_link_fail(link);
			break;
		}
		link->on_frame(&link->frame, fds, count, link->arg);
		if (is_freed)
			return;
	}
	link->is_freed = NULL;
}

static void frame_link_writable(evutil_socket_t fd, short what, void *arg)
{
	struct frame_link *link = arg;
	struct frame_waiting *waiting;

	while ((waiting = STAILQ_FIRST(&link->waiting))) {
		int r = fd_send(link->socket, waiting->wire, waiting->len, waiting->fds,
				waiting->fd_count);

		if (r == -EAGAIN)
			return;
		if (r < 0) {
			frame_link_fail(link);
			return;
		}
		STAILQ_REMOVE_HEAD(&link->waiting, entry);
		link->waiting_count--;
		frame_waiting_free(waiting);
	}
	event_del(&link->writable);
}

struct frame_link *frame_link_new(struct loop *loop, int socket, frame_link_frame_fn on_frame,
				  frame_link_closed_fn on_closed, void *arg)
{
	struct frame_link *link = mem_new(sizeof(*link));

	link->loop = loop;
	link->socket = socket;
	link->on_frame = on_frame;
	link->on_closed = on_closed;
	link->arg = arg;
	STAILQ_INIT(&link->waiting);
	event_assign(&link->readable, loop_base(loop), socket, EV_READ | EV_PERSIST,
		     frame_link_readable, link);
	event_assign(&link->writable, loop_base(loop), socket, EV_WRITE | EV_PERSIST,
		     frame_link_writable, link);
	if (fd_set_nonblocking(socket, true) < 0)
		frame_link_fail(link);
	else
		event_add(&link->readable, NULL);
	return link;
}

void frame_link_free(struct frame_link *link)
{
	struct frame_waiting *waiting;

	if (!link)
		return;
	if (link->is_freed)
		*link->is_freed = true;
	event_del(&link->readable);
	event_del(&link->writable);
	loop_timer_stop(&link->closing);
	while ((waiting = STAILQ_FIRST(&link->waiting))) {
		STAILQ_REMOVE_HEAD(&link->waiting, entry);
		frame_waiting_free(waiting);
	}
	fd_close(link->socket);
	free(link);
}

static void frame_link_enqueue(struct frame_link *link, const struct frame_wire *wire, size_t len,
			       const int *fds, size_t count)
{
	struct frame_waiting *waiting = mem_new(sizeof(*waiting) + len);

	memcpy(waiting->wire, wire, len);
	waiting->len = len;
	waiting->fd_count = count;
	if (count > 0)
		memcpy(waiting->fds, fds, count * sizeof(*fds));
	if (STAILQ_EMPTY(&link->waiting))
		event_add(&link->writable, NULL);
	STAILQ_INSERT_TAIL(&link->waiting, waiting, entry);
	if (++link->waiting_count > FRAME_QUEUE_MAX)
		frame_link_fail(link);
}

int frame_link_send(struct frame_link *link, const struct frame *frame, const int *fds,
		    size_t count)
{
	struct frame_wire wire;
	size_t len = frame_to_wire(frame, &wire);
	int r = link->is_closed ? -EPIPE : -EAGAIN;

	assert(count <= FD_PASS_MAX);
	if (r == -EAGAIN && STAILQ_EMPTY(&link->waiting))
		r = fd_send(link->socket, &wire, len, fds, count);
	if (r == -EAGAIN) {
		frame_link_enqueue(link, &wire, len, fds, count);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	if (r < 0)
		frame_link_fail(link);
	return r;
}
