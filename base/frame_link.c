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
#define BATCH_FRAMES     64
#define BATCH_BYTES      (2 * (FRAME_HEAD_BYTES + FRAME_MAX_BYTES))
#define LATER_MS         2

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

/* The frames of one turn of the loop, sent by one call. */
struct frame_batch {
	size_t count, len; /* bytes used */
	size_t lens[BATCH_FRAMES];
	uint8_t bytes[BATCH_BYTES];
};

/* One datagram is one frame. Frames are sent at the end of the turn; when the kernel has no room,
 * they wait in order for EV_WRITE. A link that fails is marked closed; on_closed runs from the
 * loop, never from inside frame_link_send(). */
struct frame_link {
	struct loop *loop;
	int socket;
	bool is_closed;
	bool *is_freed; /* set while reading, so that a callback may free the link */
	struct event readable, writable;
	struct loop_timer closing;
	struct loop_timer sending; /* of the batch */
	bool is_due;               /* at the end of this turn; otherwise later */
	struct frame_batch *batch; /* NULL: nothing was sent yet */
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

/* False: the @len bytes of @wire are malformed, or the end. */
static bool frame_from_wire(struct frame *ret, const struct frame_wire *wire, ssize_t len)
{
	if (len < (ssize_t)FRAME_HEAD_BYTES)
		return false;
	frame_begin(ret, wire->type);
	ret->len = (uint32_t)len - FRAME_HEAD_BYTES;
	memcpy(ret->bytes, wire->bytes, ret->len);
	return true;
}

int frame_link_receive_on(int socket, struct frame *ret, int *ret_fds, size_t *ret_count)
{
	struct frame_wire wire;
	ssize_t n = fd_recv(socket, &wire, sizeof(wire), ret_fds, ret_count);

	if (n < 0)
		return (int)n;
	if (frame_from_wire(ret, &wire, n))
		return 0;
	fd_close_all(ret_fds, *ret_count);
	return n == 0 ? -EPIPE : -EBADMSG;
}

/* Passes on what was received, until the link is closed or freed. Callbacks take descriptors. */
static void frame_link_deliver(struct frame_link *link, struct fd_message *messages, int count,
			       const bool *is_freed)
{
	for (int i = 0; i < count; i++) {
		bool is_over = *is_freed || link->is_closed;

		if (!is_over && frame_from_wire(&link->frame, messages[i].bytes, messages[i].len)) {
			link->on_frame(&link->frame, messages[i].fds, messages[i].fd_count,
				       link->arg);
			continue;
		}
		for (size_t j = 0; j < messages[i].fd_count; j++)
			fd_close(messages[i].fds[j]);
		if (!is_over)
			frame_link_fail(link);
	}
}

static void frame_link_readable(evutil_socket_t fd, short what, void *arg)
{
	static struct frame_wire wires[FD_MANY];
	struct frame_link *link = arg;
	bool is_freed = false;
	int n = FD_MANY;

	link->is_freed = &is_freed;
	/* After fewer than FD_MANY, nothing was waiting any more. */
	for (int i = 0; i < FRAMES_PER_TURN && n == FD_MANY && !link->is_closed; i += n) {
		struct fd_message messages[FD_MANY];

		for (size_t j = 0; j < FD_MANY; j++)
			messages[j] = (struct fd_message){ .bytes = &wires[j],
							   .max_bytes = sizeof(wires[j]) };
		n = fd_recv_many(link->socket, messages, FD_MANY);
		if (n < 0 && n != -EAGAIN)
			frame_link_fail(link);
		frame_link_deliver(link, messages, n, &is_freed);
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

static void frame_link_enqueue(struct frame_link *link, const void *wire, size_t len,
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

/* Sends as much of the batch as the kernel takes: the number of frames, or -errno. */
static int frame_batch_send(const struct frame_batch *batch, int socket)
{
	struct mmsghdr headers[BATCH_FRAMES] = { 0 };
	struct iovec parts[BATCH_FRAMES];
	size_t at = 0;
	int n;

	for (size_t i = 0; i < batch->count; at += batch->lens[i++]) {
		parts[i] = (struct iovec){ (void *)(uintptr_t)(batch->bytes + at), batch->lens[i] };
		headers[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	do
		n = sendmmsg(socket, headers, (unsigned int)batch->count, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Afterwards the batch is empty: what was not sent waits, or the link is closed. */
static void frame_link_flush(struct frame_link *link)
{
	struct frame_batch *batch = link->batch;
	size_t at = 0;

	loop_timer_stop(&link->sending);
	link->is_due = false;
	if (!batch || batch->count == 0 || link->is_closed)
		return;
	int sent = STAILQ_EMPTY(&link->waiting) ? frame_batch_send(batch, link->socket) : -EAGAIN;

	if (sent < 0 && sent != -EAGAIN)
		frame_link_fail(link);
	for (size_t i = 0; i < batch->count; at += batch->lens[i++])
		if (!link->is_closed && (int)i >= sent)
			frame_link_enqueue(link, batch->bytes + at, batch->lens[i], NULL, 0);
	batch->count = batch->len = 0;
}

static void frame_link_sending(void *arg)
{
	frame_link_flush(arg);
}

static void frame_link_add(struct frame_link *link, const struct frame_wire *wire, size_t len)
{
	struct frame_batch *batch = link->batch;

	if (batch && (batch->count == BATCH_FRAMES || batch->len + len > sizeof(batch->bytes)))
		frame_link_flush(link);
	if (!batch)
		batch = link->batch = mem_new(sizeof(*batch));
	memcpy(batch->bytes + batch->len, wire, len);
	batch->lens[batch->count++] = len;
	batch->len += len;
}

void frame_link_free(struct frame_link *link)
{
	struct frame_waiting *waiting;

	if (!link)
		return;
	if (link->is_freed)
		*link->is_freed = true;
	frame_link_flush(link); /* the last frames before the end */
	event_del(&link->readable);
	event_del(&link->writable);
	loop_timer_stop(&link->closing);
	while ((waiting = STAILQ_FIRST(&link->waiting))) {
		STAILQ_REMOVE_HEAD(&link->waiting, entry);
		frame_waiting_free(waiting);
	}
	fd_close(link->socket);
	free(link->batch);
	free(link);
}

int frame_link_send(struct frame_link *link, const struct frame *frame, const int *fds,
		    size_t count)
{
	struct frame_wire wire;
	size_t len = frame_to_wire(frame, &wire);
	int r = 0;

	assert(count <= FD_PASS_MAX);
	if (count > 0)
		frame_link_flush(link); /* they keep their order */
	if (link->is_closed) {
		r = -EPIPE;
	} else if (count == 0) {
		frame_link_add(link, &wire, len);
		if (!link->is_due)
			loop_defer(link->loop, &link->sending, frame_link_sending, link);
		link->is_due = true;
		return 0;
	}
	if (r == 0)
		r = STAILQ_EMPTY(&link->waiting) ? fd_send(link->socket, &wire, len, fds, count)
						 : -EAGAIN;
	if (r == -EAGAIN) {
		frame_link_enqueue(link, &wire, len, fds, count);
		return 0;
	}
	fd_close_all(fds, count);
	if (r < 0)
		frame_link_fail(link);
	return r;
}

void frame_link_send_later(struct frame_link *link, const struct frame *frame)
{
	struct frame_wire wire;
	size_t len = frame_to_wire(frame, &wire);

	if (link->is_closed)
		return;
	frame_link_add(link, &wire, len);
	if (!link->sending.is_armed)
		loop_timer_start(link->loop, &link->sending, LATER_MS, frame_link_sending, link);
}
