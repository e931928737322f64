#include "cli/approve/approve_watch_link.h"

#include <errno.h>
#include <event2/buffer.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

#define LINK_READ_BYTES 65536

/* The gate reads at once or disconnects us, and requests are small: if one does not fit into the
 * socket's buffer, the gate is taken to be dead. */
static int link_send(int fd, json_t *request, json_int_t id)
{
	auto_free char *line = approve_link_line(request, id);
	size_t len = line ? strlen(line) : 0;

	return line && send(fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0
											: -EPIPE;
}

static void link_replied(struct watch_link *link, json_t *reply, json_int_t id)
{
	for (size_t i = 0; i < WATCH_ANSWERS_MAX; i++) {
		if (link->answers[i].id != id)
			continue;
		link->answers[i].id = 0;
		if (link->answers[i].is_preview)
			return link->calls->previewed(link, &link->answers[i].answer,
						      link->answers[i].tag, reply, link->arg);
		return link->calls->replied(link, &link->answers[i].answer, reply, link->arg);
	}
}

/* The reply to the watch request contains the questions that are open already. */
static void link_began(struct watch_link *link, const json_t *reply)
{
	const json_t *questions = json_object_get(reply, "questions");

	for (size_t i = 0; i < json_array_size(questions); i++) {
		json_t *event = json_pack("{s:s, s:O}", "event", "asked", "question",
					  json_array_get(questions, i));

		link->calls->event(link, event, link->arg);
		json_decref(event);
	}
}

/* False: a gate does not send this. */
static bool link_take(struct watch_link *link, json_t *message)
{
	json_int_t id = json_integer_value(json_object_get(message, "id"));

	if (!link->is_greeted) {
		json_t *event;

		if (approve_link_check_greeting(message, NULL) < 0)
			return false;
		link->is_greeted = true;
		event = json_pack("{s:s, s:s, s:s}", "event", "run_began", "run", link->run,
				  "session", approve_text_member(message, "session"));
		link->calls->event(link, event, link->arg);
		json_decref(event);
		return true;
	}
	if (json_object_get(message, "event"))
		link->calls->event(link, message, link->arg);
	else if (id == 1)
		link_began(link, message);
	else if (id > 1)
		link_replied(link, message, id);
	else
		return false;
	return true;
}

static void link_readable(evutil_socket_t fd, short what, void *arg)
{
	static const char strange[] = "the peer is not a Sallyport gateway of this version";
	struct watch_link *link = arg;
	int got = evbuffer_read(link->in, fd, LINK_READ_BYTES);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return link->calls->lost(
			link,
			link->is_greeted ? ""
					 : "the gate does not accept answers from this process",
			link->arg);
	for (;;) {
		struct err why = { 0 };
		json_t *message;
		int r = approve_link_take(link->in, &message, &why);

		if (r < 0)
			return link->calls->lost(link, r == -E2BIG ? why.text : strange, link->arg);
		if (!message)
			return;
		bool is_good = link_take(link, message);

		json_decref(message);
		if (!is_good)
			return link->calls->lost(link, strange, link->arg);
	}
}

int approve_watch_link_connect(int dir_fd, const char *run)
{
	auto_close int fd = approve_dir_connect(dir_fd, run, false, NULL);

	if (fd < 0 || link_send(fd, json_pack("{s:s}", "op", "watch"), 1) < 0)
		return -ENOTCONN;
	return fd_take(&fd);
}

struct watch_link *approve_watch_link_new(struct loop *loop, int dir_fd, const char *run,
					  const struct watch_link_calls *calls, void *arg)
{
	int fd = approve_watch_link_connect(dir_fd, run);
	struct watch_link *link;

	if (fd < 0)
		return NULL;
	link = mem_new(sizeof(*link));
	link->calls = calls;
	link->arg = arg;
	link->fd = fd;
	link->last_id = 1;
	(void)snprintf(link->run, sizeof(link->run), "%s", run);
	link->in = evbuffer_new();
	link->read_event =
		event_new(loop_base(loop), fd, EV_READ | EV_PERSIST, link_readable, link);
	if (!link->in || !link->read_event)
		abort(); /* out of memory, as in base/mem */
	event_add(link->read_event, NULL);
	return link;
}

void approve_watch_link_free(struct watch_link *link)
{
	if (!link)
		return;
	event_free(link->read_event);
	evbuffer_free(link->in);
	fd_close(link->fd);
	free(link);
}

/* Takes @request. */
static int link_ask(struct watch_link *link, const struct approve_answer *answer, bool is_preview,
		    unsigned int tag, json_t *request, struct err *why)
{
	for (size_t i = 0; i < WATCH_ANSWERS_MAX; i++) {
		if (link->answers[i].id != 0)
			continue;
		link->answers[i].id = ++link->last_id;
		link->answers[i].answer = *answer;
		link->answers[i].is_preview = is_preview;
		link->answers[i].tag = tag;
		if (link_send(link->fd, request, link->last_id) == 0)
			return 0;
		link->answers[i].id = 0;
		return err_set(why, -EPIPE, "the gate of run %s refused the answer", link->run);
	}
	json_decref(request);
	return err_set(why, -EBUSY, "too many answers wait for the gate of run %s; try again later",
		       link->run);
}

int approve_watch_link_answer(struct watch_link *link, const struct approve_answer *answer,
			      struct err *why)
{
	return link_ask(link, answer, false, 0, approve_input_request(answer), why);
}

int approve_watch_link_preview(struct watch_link *link, const struct approve_answer *answer,
			       unsigned int tag, struct err *why)
{
	json_t *request = approve_input_request(answer);

	(void)json_object_del(request, "text"); /* a preview asks for this text */
	(void)json_object_set_new(request, "action",
				  json_string(answer->op)); /* fails only without memory */
	(void)json_object_set_new(request, "op", json_string("preview"));
	return link_ask(link, answer, true, tag, request, why);
}
