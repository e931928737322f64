#include "base/page/served.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/fd.h"

static void served_sweep(void *arg)
{
	struct served_all *all = arg;
	size_t kept = 0;

	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i]->state == SERVED_CLOSED)
			all->list[i]->calls->free(all->list[i]);
		else
			all->list[kept++] = all->list[i];
	}
	all->count = kept;
}

void served_all_done(struct served_all *all)
{
	for (size_t i = 0; i < all->count; i++)
		all->list[i]->calls->free(all->list[i]);
	all->count = 0;
	loop_timer_stop(&all->sweep);
}

void served_close(struct served *self)
{
	bool was_stream = self->state == SERVED_STREAMING;

	if (self->state == SERVED_CLOSED)
		return;
	self->state = SERVED_CLOSED;
	event_del(self->read_event);
	event_del(self->write_event);
	loop_timer_stop(&self->deadline);
	if (was_stream)
		self->calls->on_left(self);
	loop_defer(self->all->loop, &self->all->sweep, served_sweep, self->all);
}

static void served_expired(void *arg)
{
	served_close(arg);
}

void served_wait(struct served *self, int64_t ms)
{
	loop_timer_start(self->all->loop, &self->deadline, ms, served_expired, self);
}

/* Everything was written. */
static void served_drained(struct served *self)
{
	event_del(self->write_event);
	if (self->state == SERVED_STREAMING) {
		loop_timer_stop(&self->deadline);
		self->calls->on_sent(self);
	} else if (self->state == SERVED_REPLYING) {
		/* If unread input were left, closing now would reset the connection and lose the
		 * answer. */
		self->state = SERVED_LINGERING;
		(void)shutdown(self->fd, SHUT_WR); /* it may be closed already */
		served_wait(self, SERVED_LINGER_MS);
	}
}

void served_flush(struct served *self)
{
	if (self->state == SERVED_CLOSED)
		return;
	int r = fd_send_queued(self->fd, self->out);

	if (r == -EAGAIN)
		event_add(self->write_event, NULL);
	else if (r < 0)
		served_close(self);
	else
		served_drained(self);
}

void served_reply(struct served *self)
{
	self->state = SERVED_REPLYING;
	served_wait(self, SERVED_DRAIN_MS);
	served_flush(self);
}

static void served_writable(evutil_socket_t fd, short what, void *arg)
{
	served_flush(arg);
}

static void served_readable(evutil_socket_t fd, short what, void *arg)
{
	struct served *self = arg;
	bool is_reading = self->state == SERVED_READING;
	char waste[4096];
	ssize_t got = recv(fd, is_reading ? self->in + self->in_len : waste,
			   is_reading ? self->in_max - self->in_len : sizeof(waste), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || self->state == SERVED_STREAMING) /* a stream's client has nothing to send */
		return served_close(self);
	if (!is_reading)
		return;
	self->in_len += (size_t)got;
	self->calls->on_bytes(self);
}

void served_init(struct served *self, const struct served_calls *calls, struct served_all *all,
		 int fd, char *in, size_t in_max)
{
	struct event_base *base = loop_base(all->loop);

	*self = (struct served){ .calls = calls, .all = all, .fd = fd, .in = in, .in_max = in_max };
	all->list[all->count++] = self;
	self->out = evbuffer_new();
	self->read_event = event_new(base, fd, EV_READ | EV_PERSIST, served_readable, self);
	self->write_event = event_new(base, fd, EV_WRITE, served_writable, self);
	if (!self->out || !self->read_event || !self->write_event)
		abort(); /* out of memory, as in base/mem */
	event_add(self->read_event, NULL);
	served_wait(self, SERVED_REQUEST_MS);
}

void served_done(struct served *self)
{
	loop_timer_stop(&self->deadline);
	event_free(self->read_event);
	event_free(self->write_event);
	evbuffer_free(self->out);
	fd_close(self->fd);
}
