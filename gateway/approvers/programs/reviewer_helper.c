#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/approvers/programs/reviewer.h"

#define READ_BYTES 16384

void reviewer_helper_init(struct reviewer_helper *helper, struct approver *owner)
{
	*helper = (struct reviewer_helper){ .owner = owner, .child = CHILD_NONE };
}

static void helper_event_free(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static void helper_buffer_free(struct evbuffer **buffer)
{
	if (*buffer)
		evbuffer_free(*buffer);
	*buffer = NULL;
}

void reviewer_helper_stop(struct reviewer_helper *helper)
{
	helper_event_free(&helper->read_event);
	helper_event_free(&helper->write_event);
	helper_event_free(&helper->log_event);
	helper_buffer_free(&helper->in);
	helper_buffer_free(&helper->out);
	helper_buffer_free(&helper->log);
	child_end(helper->owner->loop, &helper->child);
}

/* Must be the last call: the owner may start the program again. */
static void helper_fail(struct reviewer_helper *helper, const char *how, bool is_failure)
{
	reviewer_helper_stop(helper);
	reviewer_gone(helper->owner, how, is_failure);
}

static void helper_serve(struct reviewer_helper *helper)
{
	unsigned int start = helper->starts;

	while (helper->child.pid > 0 && helper->starts == start) {
		size_t len;
		auto_free char *line = evbuffer_readln(helper->in, &len, EVBUFFER_EOL_LF);

		if (!line)
			break;
		helper->has_answered = true;
		reviewer_heard(helper->owner, line, len);
	}
	if (helper->child.pid > 0 && helper->starts == start &&
	    evbuffer_get_length(helper->in) > REVIEWER_LINE_MAX_BYTES)
		helper_fail(helper, "sent a line that is too long", true);
}

static void helper_readable(evutil_socket_t fd, short what, void *arg)
{
	struct reviewer_helper *helper = arg;
	int got = evbuffer_read(helper->in, fd, READ_BYTES);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) /* ending after one answer is fine, ending without one is a failure */
		return helper_fail(helper, "ended", !helper->has_answered);
	helper_serve(helper);
}

static void helper_log_line(struct reviewer_helper *helper, const char *line)
{
	if (helper->log_lines++ < REVIEWER_LOG_LINES_MAX)
		log_info("the reviewer says: %.*s", REVIEWER_LOG_LINE_MAX, line);
}

/* Output beyond the limits is read as well: a full pipe would block the program. */
static void helper_log(evutil_socket_t fd, short what, void *arg)
{
	struct reviewer_helper *helper = arg;
	int got = evbuffer_read(helper->log, fd, READ_BYTES);
	char *line;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return helper_event_free(&helper->log_event);
	while ((line = evbuffer_readln(helper->log, NULL, EVBUFFER_EOL_LF))) {
		helper_log_line(helper, line);
		free(line);
	}
	if (evbuffer_get_length(helper->log) > REVIEWER_LOG_LINE_MAX)
		(void)evbuffer_drain(helper->log, evbuffer_get_length(helper->log));
}

/* A program that does not read has ended, which the reading side notices, or times out. */
static void helper_flush(struct reviewer_helper *helper)
{
	struct evbuffer_iovec chunk;

	while (evbuffer_peek(helper->out, -1, NULL, &chunk, 1) > 0) {
		ssize_t sent = send(helper->child.input, chunk.iov_base, chunk.iov_len,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && errno == EAGAIN)
			(void)event_add(helper->write_event, NULL);
		if (sent < 0)
			return;
		(void)evbuffer_drain(helper->out, (size_t)sent);
	}
}

static void helper_writable(evutil_socket_t fd, short what, void *arg)
{
	helper_flush(arg);
}

static int helper_start(struct reviewer_helper *helper)
{
	const struct gateway_program *program = &helper->owner->config->program;
	struct event_base *base = loop_base(helper->owner->loop);
	struct err why = { 0 };
	int r = child_start(program->path, program->argv, program->environment, &helper->child,
			    &why);

	if (r < 0) {
		log_warn("%s", why.text);
		return r;
	}
	helper->starts++;
	helper->log_lines = 0;
	helper->has_answered = false;
	helper->in = evbuffer_new();
	helper->out = evbuffer_new();
	helper->log = evbuffer_new();
	helper->read_event = event_new(base, helper->child.output, EV_READ | EV_PERSIST,
				       helper_readable, helper);
	helper->write_event =
		event_new(base, helper->child.input, EV_WRITE, helper_writable, helper);
	helper->log_event =
		event_new(base, helper->child.errors, EV_READ | EV_PERSIST, helper_log, helper);
	if (!helper->in || !helper->out || !helper->log || !helper->read_event ||
	    !helper->write_event || !helper->log_event)
		abort(); /* out of memory, as in base/mem */
	if (event_add(helper->read_event, NULL) < 0 || event_add(helper->log_event, NULL) < 0) {
		reviewer_helper_stop(helper);
		return -EIO;
	}
	return 0;
}

int reviewer_helper_say(struct reviewer_helper *helper, const char *line)
{
	int r = helper->child.pid > 0 ? 0 : helper_start(helper);

	if (r < 0)
		return r;
	if (evbuffer_get_length(helper->out) + strlen(line) > REVIEWER_QUEUE_MAX_BYTES)
		return -ENOBUFS;
	if (evbuffer_add(helper->out, line, strlen(line)) < 0)
		return -ENOMEM;
	helper_flush(helper);
	return 0;
}
