/* The messages are in memory until the receiver takes them, in order. Nothing here waits, except at
 * the end of the run, and for at most SYSLOG_LAST_MS: sockets are nonblocking, and what cannot be
 * sent now is tried again by a timer. A message is counted as dropped when there is no room for it;
 * the next one that has room is preceded by their number. What the kernel has taken may still be
 * lost on the way: the receiver finds that by the numbers of the messages. */
#include "gateway/audit/syslog/syslog.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/audit/syslog/syslog_text.h"
#include "gateway/gateway_syslog.h"

#define SYSLOG_TURN_MAX   256   /* messages that are sent before the loop does other things */
#define SYSLOG_BUSY_MS    20    /* the receiver takes nothing more, or is being connected to */
#define SYSLOG_BACKOFF_MS 100   /* before another connection; it doubles */
#define SYSLOG_BACKOFF_TO 10000 /* at most */
#define SYSLOG_CONNECT_MS 10000 /* for a connection */
#define SYSLOG_LAST_MS    1000  /* for what is left at the end */
#define SYSLOG_QUIET_MS   60000 /* between two warnings that it cannot be reached */

struct syslog_message {
	STAILQ_ENTRY(syslog_message) entry;
	size_t number_at, len;
	bool is_awaited, is_notice;
	char text[];
};
STAILQ_HEAD(syslog_queue, syslog_message);

struct syslog {
	struct gateway_syslog to;
	char *name; /* of @to */
	struct syslog_text_origin origin;
	struct loop *loop; /* NULL: not attached */
	struct loop_timer timer;
	struct syslog_queue gathered, queue; /* until commit(); to be sent */
	size_t pending;                      /* passed in and not committed */
	size_t count, bytes;                 /* of both queues */
	uint64_t dropped;                    /* that no message has told yet */
	uint64_t refused;                    /* datagrams that did not arrive */
	bool is_dropping, is_down;           /* logged */
	int fd;
	bool is_connecting;
	int64_t until_ms, retry_at_ms, backoff_ms; /* of the connection */
	int64_t warn_at_ms;
	uint64_t number; /* of the message that is sent next */
	/* The first message of @queue as it is sent, and what of it was. @len 0: not made yet. */
	struct {
		char bytes[2 * TEXT_DIGITS_MAX + SYSLOG_TEXT_MAX];
		size_t len, sent;
	} frame;
};

static void syslog_hang_up(struct syslog *self)
{
	fd_close(fd_take(&self->fd));
	self->is_connecting = false;
	self->frame.sent = 0; /* a part of a message is of no use to the next connection */
}

/* The receiver cannot be reached, or has closed the connection. */
static void syslog_fail(struct syslog *self, int error)
{
	syslog_hang_up(self);
	if (!self->is_down && loop_clock_ms() >= self->warn_at_ms) {
		log_warn("audit: --syslog %s: %s; records wait in memory until it can be reached",
			 self->name, strerror(error));
		self->is_down = true;
		self->warn_at_ms = loop_clock_ms() + SYSLOG_QUIET_MS;
	}
	self->retry_at_ms = loop_clock_ms() + self->backoff_ms;
	self->backoff_ms *= 2;
	if (self->backoff_ms > SYSLOG_BACKOFF_TO)
		self->backoff_ms = SYSLOG_BACKOFF_TO;
}

/* A message was taken. */
static void syslog_is_up(struct syslog *self)
{
	if (self->is_down)
		log_warn("audit: --syslog %s: the receiver can be reached again", self->name);
	self->is_down = false;
	self->backoff_ms = SYSLOG_BACKOFF_MS;
}

static void syslog_connect(struct syslog *self)
{
	const struct gateway_syslog *to = &self->to;

	if (loop_clock_ms() < self->retry_at_ms)
		return;
	self->fd = socket(to->address.ss_family, to->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (self->fd < 0) {
		syslog_fail(self, errno);
		return;
	}
	if (connect(self->fd, (const struct sockaddr *)&to->address, to->address_len) == 0)
		return;
	if (errno != EINPROGRESS) {
		syslog_fail(self, errno);
		return;
	}
	self->is_connecting = true;
	self->until_ms = loop_clock_ms() + SYSLOG_CONNECT_MS;
}

/* Is the connection there, or refused? */
static void syslog_check_connection(struct syslog *self)
{
	struct pollfd poller = { .fd = self->fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&poller, 1, 0) <= 0) {
		if (loop_clock_ms() >= self->until_ms)
			syslog_fail(self, ETIMEDOUT);
		return;
	}
	if (getsockopt(self->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error != 0) {
		syslog_fail(self, error);
		return;
	}
	self->is_connecting = false;
}

/* A receiver of a connection sends nothing; a closed one would take one more message, and lose it.
 */
static void syslog_check_end(struct syslog *self)
{
	char byte;
	ssize_t n = recv(self->fd, &byte, sizeof(byte), MSG_DONTWAIT);

	if (n == 0)
		syslog_fail(self, ECONNRESET);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		syslog_fail(self, errno);
}

static bool syslog_is_ready(struct syslog *self)
{
	if (self->fd < 0)
		syslog_connect(self);
	if (self->fd >= 0 && self->is_connecting)
		syslog_check_connection(self);
	if (self->fd >= 0 && !self->is_connecting && self->to.type == SOCK_STREAM)
		syslog_check_end(self);
	return self->fd >= 0 && !self->is_connecting;
}

/* With the number of the message and, over a connection, its length (RFC 6587 §3.4.1). */
static void syslog_frame(struct syslog *self, const struct syslog_message *message)
{
	char digits[TEXT_DIGITS_MAX], *at = self->frame.bytes;
	size_t len = text_from_u64(digits, self->number, 1);

	if (self->to.type == SOCK_STREAM) {
		at += text_from_u64(at, message->len + len, 1);
		*at++ = ' ';
	}
	memcpy(at, message->text, message->number_at);
	at += message->number_at;
	memcpy(at, digits, len);
	at += len;
	memcpy(at, message->text + message->number_at, message->len - message->number_at);
	at += message->len - message->number_at;
	self->frame.len = (size_t)(at - self->frame.bytes);
	self->frame.sent = 0;
}

static void syslog_shift(struct syslog *self, struct syslog_message *message)
{
	STAILQ_REMOVE_HEAD(&self->queue, entry);
	self->count--;
	self->bytes -= message->len;
	self->frame.len = 0;
	self->number++;
	free(message);
}

/* A datagram: the error is about this one, which is too long for the network, or about one before
 * it, to which the machine has answered that nobody receives there. */
static bool syslog_is_refused(struct syslog *self, int error)
{
	bool is_udp = self->to.type == SOCK_DGRAM && self->to.address.ss_family != AF_UNIX;

	if (!is_udp || (error != ECONNREFUSED && error != EMSGSIZE))
		return false;
	if (self->refused++ == 0)
		log_warn("audit: --syslog %s: %s; records are lost", self->name, strerror(error));
	return true;
}

/* 0: the first message was sent. -EAGAIN: later. */
static int syslog_send_first(struct syslog *self)
{
	struct syslog_message *message = STAILQ_FIRST(&self->queue);

	if (self->frame.len == 0)
		syslog_frame(self, message);
	while (self->frame.sent < self->frame.len) {
		ssize_t n = send(self->fd, self->frame.bytes + self->frame.sent,
				 self->frame.len - self->frame.sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		int error = n < 0 ? errno : 0;

		if (error == EINTR)
			continue;
		if (error != 0 && syslog_is_refused(self, error)) {
			if (error == ECONNREFUSED)
				continue; /* that error is gone now */
			break;
		}
		if (error != 0 && error != EAGAIN && error != ENOBUFS)
			syslog_fail(self, error);
		if (error != 0)
			return -EAGAIN;
		self->frame.sent += (size_t)n;
	}
	syslog_is_up(self);
	syslog_shift(self, message);
	return 0;
}

static void syslog_on_timer(void *arg);

static void syslog_send(struct syslog *self)
{
	int64_t wait_ms = SYSLOG_BUSY_MS;

	loop_timer_stop(&self->timer);
	if (STAILQ_EMPTY(&self->queue))
		return;
	if (syslog_is_ready(self)) {
		int sent = 0;

		while (sent < SYSLOG_TURN_MAX && !STAILQ_EMPTY(&self->queue) &&
		       syslog_send_first(self) == 0)
			sent++;
		if (sent == SYSLOG_TURN_MAX)
			wait_ms = 0;
	}
	if (self->fd < 0)
		wait_ms = self->retry_at_ms - loop_clock_ms();
	if (self->loop && !STAILQ_EMPTY(&self->queue))
		loop_timer_start(self->loop, &self->timer, wait_ms > 0 ? wait_ms : 0,
				 syslog_on_timer, self);
}

static void syslog_on_timer(void *arg)
{
	syslog_send(arg);
}

static struct sink *syslog_open(const struct gateway_config *config, struct err *why)
{
	(void)why; /* it always opens: the run does not depend on the receiver */
	if (!config->syslog)
		return NULL;
	struct syslog *self = mem_new(sizeof(*self));

	self->to = *config->syslog;
	self->name = text_visible_dup(config->syslog->name);
	self->fd = -1;
	self->number = 1;
	self->backoff_ms = SYSLOG_BACKOFF_MS;
	STAILQ_INIT(&self->gathered);
	STAILQ_INIT(&self->queue);
	syslog_text_origin(&self->origin);
	syslog_connect(self);
	return (struct sink *)self;
}

static void syslog_attach(struct sink *sink, struct loop *loop)
{
	((struct syslog *)sink)->loop = loop;
}

/* For a record, and a message before it. When the room was used up, half of it has to be free. */
static bool syslog_has_room(const struct syslog *self)
{
	size_t part = self->is_dropping ? 2 : 1;

	return self->count + 2 <= SYSLOG_QUEUE_MAX / part &&
	       self->bytes + 2 * (size_t)SYSLOG_TEXT_MAX <= SYSLOG_QUEUE_BYTES / part;
}

static void syslog_gather(struct syslog *self, const char *text, size_t len, size_t number_at,
			  const struct syslog_message *like)
{
	struct syslog_message *message = mem_new(sizeof(*message) + len);

	message->len = len;
	message->number_at = number_at;
	message->is_awaited = like->is_awaited;
	message->is_notice = like->is_notice;
	memcpy(message->text, text, len);
	STAILQ_INSERT_TAIL(&self->gathered, message, entry);
	self->count++;
	self->bytes += len;
}

static void syslog_drop(struct syslog *self)
{
	self->dropped++;
	if (!self->is_dropping)
		log_warn("audit: --syslog %s: the receiver is too slow, so that records are "
			 "dropped; the audit log has them",
			 self->name);
	self->is_dropping = true;
}

/* Says how many records are missing before this one. */
static void syslog_tell_dropped(struct syslog *self, const struct sink_record *record)
{
	char text[SYSLOG_TEXT_MAX];
	size_t at, len = syslog_text_dropped(&self->origin, record, self->dropped, text, &at);

	syslog_gather(self, text, len, at, &(struct syslog_message){ .is_notice = true });
	log_warn("audit: --syslog %s: %llu records were dropped", self->name,
		 (unsigned long long)self->dropped);
	self->dropped = 0;
	self->is_dropping = false;
}

static int syslog_write(struct sink *sink, const struct sink_record *record, struct err *why)
{
	struct syslog *self = (struct syslog *)sink;
	char text[SYSLOG_TEXT_MAX];
	size_t at;

	if (self->pending >= SINK_BATCH_MAX && !record->gap)
		return err_set(why, -E2BIG, "too many audit records are written together");
	self->pending++;
	if (!syslog_has_room(self)) {
		syslog_drop(self);
		return 0;
	}
	if (self->dropped > 0)
		syslog_tell_dropped(self, record);
	size_t len = syslog_text_record(&self->origin, record, text, &at);

	syslog_gather(self, text, len, at,
		      &(struct syslog_message){ .is_awaited = record->is_awaited });
	return 0;
}

static int syslog_commit(struct sink *sink, struct err *why)
{
	struct syslog *self = (struct syslog *)sink;

	(void)why;
	STAILQ_CONCAT(&self->queue, &self->gathered);
	self->pending = 0;
	return 0;
}

static void syslog_forget(struct sink *sink)
{
	struct syslog *self = (struct syslog *)sink;
	struct syslog_queue kept = STAILQ_HEAD_INITIALIZER(kept);
	struct syslog_message *message;

	self->pending = 0;
	while ((message = STAILQ_FIRST(&self->gathered))) {
		STAILQ_REMOVE_HEAD(&self->gathered, entry);
		if (!message->is_awaited) {
			STAILQ_INSERT_TAIL(&kept, message, entry);
			self->pending += !message->is_notice;
			continue;
		}
		self->count--;
		self->bytes -= message->len;
		free(message);
	}
	STAILQ_CONCAT(&self->gathered, &kept);
}

static int syslog_publish(struct sink *sink, bool is_strict, struct err *why)
{
	struct syslog *self = (struct syslog *)sink;

	(void)why;
	if (!self->timer.is_armed)
		syslog_send(self);
	return 0;
}

/* The loop has ended. A receiver that is down, or takes nothing more, gets no more time than this.
 */
static void syslog_send_last(struct syslog *self)
{
	int64_t until_ms = loop_clock_ms() + SYSLOG_LAST_MS;

	self->loop = NULL;
	self->retry_at_ms = 0;
	for (;;) {
		syslog_send(self);
		int64_t left = until_ms - loop_clock_ms();
		struct pollfd poller = { .fd = self->fd, .events = POLLOUT };

		if (STAILQ_EMPTY(&self->queue) || self->fd < 0 || left <= 0)
			return;
		(void)poll(&poller, 1, (int)left);
	}
}

static void syslog_free_queue(struct syslog_queue *queue)
{
	struct syslog_message *message;

	while ((message = STAILQ_FIRST(queue))) {
		STAILQ_REMOVE_HEAD(queue, entry);
		free(message);
	}
}

static void syslog_close(struct sink *sink)
{
	struct syslog *self = (struct syslog *)sink;
	struct syslog_message *message;
	uint64_t left;

	if (!self)
		return;
	loop_timer_stop(&self->timer);
	syslog_send_last(self);
	left = self->dropped + self->refused;
	STAILQ_FOREACH (message, &self->queue, entry)
		left += !message->is_notice;
	if (left > 0)
		log_warn("audit: --syslog %s: at the end, %llu records had not arrived; the audit "
			 "log has them",
			 self->name, (unsigned long long)left);
	syslog_free_queue(&self->gathered);
	syslog_free_queue(&self->queue);
	syslog_hang_up(self);
	free(self->name);
	free(self);
}

const struct sink_ops syslog_ops = {
	.name = "syslog",
	.open = syslog_open,
	.attach = syslog_attach,
	.write = syslog_write,
	.commit = syslog_commit,
	.forget = syslog_forget,
	.publish = syslog_publish,
	.close = syslog_close,
};
