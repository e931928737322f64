#include "gateway/gateway_far_link.h"

#include <errno.h>
#include <event2/buffer.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "gateway/approvers/wire.h"

#define FAR_VERSION    1
#define FAR_WATCH_ID   1 /* id of the request `watch`, whose reply comes first */
#define FAR_ID_FIRST   2
#define FAR_READ_BYTES 16384
#define FAR_LINE_MAX   (4U << 20)
#define FAR_WAIT_MS    5000 /* for a gateway to report the result of an answer */
#define FAR_GIVEN_MAX  1024

#define FAR_STRANGE "the peer is not a Sallyport gateway of this version"

/* A request that was sent. */
struct far_request {
	json_int_t id;
	void *of;        /* the caller's; owned */
	bool is_overdue; /* the caller was told that there is no reply yet */
	STAILQ_ENTRY(far_request) entry;
};

struct far_link {
	struct loop *loop;
	const struct far_link_calls *calls;
	void *of;
	char *run;
	int fd;
	bool is_greeted;
	struct event *read_event, *write_event;
	struct evbuffer *in, *out;
	STAILQ_HEAD(far_request_list, far_request) requests;
	size_t request_count;
	json_int_t last_id;
	struct loop_timer task, late;
};

static void link_wait(struct far_link *link);

static void link_settle(struct far_link *link, struct far_request *request, json_t *reply)
{
	STAILQ_REMOVE(&link->requests, request, far_request, entry);
	link->request_count--;
	link->calls->replied(link, request->of, reply, link->of);
	free(request->of);
	free(request);
}

/* The caller returns to the loop at once: @link is freed. */
static void link_close(struct far_link *link, const char *why)
{
	struct far_request *request;

	while ((request = STAILQ_FIRST(&link->requests)))
		link_settle(link, request, NULL);
	link->calls->closed(link, why, link->of);
}

static void link_close_now(void *arg)
{
	link_close(arg, "");
}

/* Deferred, because it frees objects that the caller still uses. */
static void link_flush(struct far_link *link)
{
	int r = fd_send_queued(link->fd, link->out);

	if (r == -EAGAIN)
		event_add(link->write_event, NULL);
	else if (r < 0)
		loop_defer(link->loop, &link->task, link_close_now, link);
}

/* Takes @message. */
static int link_send(struct far_link *link, json_t *message, json_int_t id)
{
	bool is_whole = message && json_object_set_new(message, "id", json_integer(id)) == 0;
	auto_free char *text =
		is_whole ? json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(message);
	if (!text || evbuffer_add_printf(link->out, "%s\n", text) < 0)
		return -ENOMEM;
	link_flush(link);
	return 0;
}

int far_link_give(struct far_link *link, json_t *message, void *of, struct err *why)
{
	struct far_request *request;

	if (link->request_count == FAR_GIVEN_MAX) {
		json_decref(message);
		free(of);
		return err_set(why, -EBUSY, "too many answers have not been confirmed yet");
	}
	if (link_send(link, message, ++link->last_id) < 0) {
		free(of);
		return err_set(why, -ENOMEM, "the request cannot be sent");
	}
	request = mem_new(sizeof(*request));
	request->id = link->last_id;
	request->of = of;
	STAILQ_INSERT_TAIL(&link->requests, request, entry);
	link->request_count++;
	link_wait(link);
	return 0;
}

void far_link_tell(struct far_link *link, json_t *message)
{
	(void)link_send(link, message, ++link->last_id); /* out of memory */
}

/* The oldest request that is not overdue. NULL: none. */
static struct far_request *link_awaited(struct far_link *link)
{
	struct far_request *request;

	STAILQ_FOREACH (request, &link->requests, entry) {
		if (!request->is_overdue)
			break;
	}
	return request;
}

static void link_late(void *arg)
{
	struct far_link *link = arg;
	struct far_request *request = link_awaited(link);

	/* It was sent, and may take effect: the result is reported when it is known. */
	if (request) {
		request->is_overdue = true;
		if (link->calls->overdue)
			link->calls->overdue(request->of, link->of);
	}
	link_wait(link);
}

static void link_wait(struct far_link *link)
{
	if (!link_awaited(link))
		loop_timer_stop(&link->late);
	else if (!link->late.is_armed)
		loop_timer_start(link->loop, &link->late, FAR_WAIT_MS, link_late, link);
}

static void link_replied(struct far_link *link, json_t *reply, json_int_t id)
{
	struct far_request *request;

	STAILQ_FOREACH (request, &link->requests, entry) {
		if (request->id == id)
			break;
	}
	if (!request)
		return;
	loop_timer_stop(&link->late);
	link_settle(link, request, reply);
	link_wait(link);
}

/* False: not a message of the protocol. */
static bool link_take(struct far_link *link, json_t *message)
{
	const json_t *version = json_object_get(message, "sallyport");
	json_int_t id = json_integer_value(json_object_get(message, "id"));

	if (version && json_integer_value(version) != FAR_VERSION)
		return false;
	link->is_greeted = true;
	if (version || json_object_get(message, "event") || id == FAR_WATCH_ID)
		return link->calls->heard(link, message, link->of);
	link_replied(link, message, id);
	return true;
}

/* Handles every complete line. */
static void link_read_lines(void *arg)
{
	struct far_link *link = arg;
	size_t len;
	char *line;

	while ((line = evbuffer_readln(link->in, &len, EVBUFFER_EOL_LF))) {
		json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
		bool is_good = json_is_object(message) && link_take(link, message);

		json_decref(message);
		free(line);
		if (!is_good)
			return link_close(link, FAR_STRANGE);
	}
	if (evbuffer_get_length(link->in) > FAR_LINE_MAX)
		link_close(link, FAR_STRANGE);
}

static void link_readable(evutil_socket_t fd, short what, void *arg)
{
	struct far_link *link = arg;
	int got = evbuffer_read(link->in, fd, FAR_READ_BYTES);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return link_close(
			link, link->is_greeted
				      ? ""
				      : "the gateway does not accept answers from this process");
	link_read_lines(link);
}

static void link_writable(evutil_socket_t fd, short what, void *arg)
{
	link_flush(arg);
}

struct far_link *far_link_new(struct loop *loop, const struct far_link_config *config,
			      const struct far_link_calls *calls, void *of, struct err *why)
{
	struct far_link *link = mem_new(sizeof(*link));
	struct event_base *base = loop_base(loop);

	link->loop = loop;
	link->calls = calls;
	link->of = of;
	link->run = mem_strdup(config->run);
	link->fd = config->socket;
	link->last_id = FAR_ID_FIRST;
	STAILQ_INIT(&link->requests);
	link->in = evbuffer_new();
	link->out = evbuffer_new();
	link->read_event = event_new(base, link->fd, EV_READ | EV_PERSIST, link_readable, link);
	link->write_event = event_new(base, link->fd, EV_WRITE, link_writable, link);
	if (!link->in || !link->out || !link->read_event || !link->write_event)
		abort(); /* out of memory, as in base/mem */
	if (fd_set_nonblocking(link->fd, true) < 0 ||
	    evbuffer_add(link->in, config->heard, config->heard_len) < 0 ||
	    event_add(link->read_event, NULL) < 0) {
		far_link_free(link);
		(void)err_set(why, -EIO, "the questions of run %s cannot be watched", config->run);
		return NULL;
	}
	loop_defer(loop, &link->task, link_read_lines, link);
	return link;
}

void far_link_free(struct far_link *link)
{
	struct far_request *request;

	if (!link)
		return;
	loop_timer_stop(&link->task);
	loop_timer_stop(&link->late);
	while ((request = STAILQ_FIRST(&link->requests))) {
		STAILQ_REMOVE_HEAD(&link->requests, entry);
		free(request->of);
		free(request);
	}
	event_free(link->read_event);
	event_free(link->write_event);
	evbuffer_free(link->in);
	evbuffer_free(link->out);
	fd_close(link->fd);
	free(link->run);
	free(link);
}

const char *far_link_run(const struct far_link *link)
{
	return link->run;
}

bool far_link_is_greeted(const struct far_link *link)
{
	return link->is_greeted;
}
