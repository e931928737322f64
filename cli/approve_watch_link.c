#include "cli/approve_watch.h"

#include <errno.h>
#include <event2/buffer.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

#define LINK_READ_BYTES 65536

/* The gate reads at once or drops us, and requests are small: what does not fit the socket's buffer
 * is a dead gate. */
static int link_send(struct watch_link *link, json_t *request, json_int_t id)
{
	bool is_whole = json_object_set_new(request, "id", json_integer(id)) == 0;
	auto_free char *text =
		is_whole ? json_dumps(request, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	auto_free char *line = text ? mem_printf("%s\n", text) : NULL;
	size_t len = line ? strlen(line) : 0;

	json_decref(request);
	return line && send(link->fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len
		       ? 0
		       : -EPIPE;
}

static void link_replied(struct watch_link *link, json_t *reply, json_int_t id)
{
	for (size_t i = 0; i < WATCH_ANSWERS_MAX; i++) {
		if (link->answers[i].id != id)
			continue;
		link->answers[i].id = 0;
		if (link->answers[i].is_preview)
			return approve_watch_previewed(link, &link->answers[i].answer,
						       link->answers[i].tag, reply);
		return approve_watch_replied(link, &link->answers[i].answer, reply);
	}
}

/* The reply to the watch holds what was open when it began. */
static void link_began(struct watch_link *link, const json_t *reply)
{
	const json_t *questions = json_object_get(reply, "questions");

	for (size_t i = 0; i < json_array_size(questions); i++) {
		json_t *event = json_pack("{s:s, s:O}", "event", "asked", "question",
					  json_array_get(questions, i));

		approve_watch_event(link, event);
		json_decref(event);
	}
}

/* False: not what a gate says. */
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
		approve_watch_event(link, event);
		json_decref(event);
		return true;
	}
	if (json_object_get(message, "event"))
		approve_watch_event(link, message);
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
	struct watch_link *link = arg;
	int got = evbuffer_read(link->in, fd, LINK_READ_BYTES);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return approve_watch_lost(
			link, link->is_greeted ? "" : "the gate takes no answers from here");
	for (;;) {
		size_t len;
		auto_free char *line = evbuffer_readln(link->in, &len, EVBUFFER_EOL_LF);

		if (!line)
			break;
		json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
		bool is_good = json_is_object(message) && link_take(link, message);

		json_decref(message);
		if (!is_good)
			return approve_watch_lost(link,
						  "what answers there is no gate of this version");
	}
	if (evbuffer_get_length(link->in) > APPROVE_LINE_MAX_BYTES)
		approve_watch_lost(link, "the gate sent a line without end");
}

struct watch_link *approve_watch_link_new(struct watch *watch, const char *run)
{
	int fd = approve_dir_connect(watch->dir_fd, run, false, NULL);
	struct watch_link *link;

	if (fd < 0)
		return NULL;
	link = mem_new(sizeof(*link));
	link->watch = watch;
	link->fd = fd;
	link->last_id = 1;
	(void)snprintf(link->run, sizeof(link->run), "%s", run);
	link->in = evbuffer_new();
	link->read_event =
		event_new(loop_base(watch->loop), fd, EV_READ | EV_PERSIST, link_readable, link);
	if (!link->in || !link->read_event)
		abort(); /* out of memory, as in base/mem */
	event_add(link->read_event, NULL);
	if (link_send(link, json_pack("{s:s}", "op", "watch"), 1) < 0) {
		approve_watch_link_free(link);
		return NULL;
	}
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
		if (link_send(link, request, link->last_id) == 0)
			return 0;
		link->answers[i].id = 0;
		return err_set(why, -EPIPE, "the gate of run %s does not take it", link->run);
	}
	json_decref(request);
	return err_set(why, -EBUSY, "too many answers wait for the gate of run %s", link->run);
}

int approve_watch_link_answer(struct watch_link *link, const struct approve_answer *answer,
			      struct err *why)
{
	return link_ask(link, answer, false, 0, approve_input_request(answer), why);
}

/* Nothing is done with the reply: the question itself says how long it has. */
void approve_watch_link_touch(struct watch_link *link, const char *question)
{
	(void)link_send(link, json_pack("{s:s, s:s}", "op", "touch", "question", question),
			++link->last_id); /* lost: it is read, and seen there */
}

int approve_watch_link_preview(struct watch_link *link, const struct approve_answer *answer,
			       unsigned int tag, struct err *why)
{
	json_t *request = approve_input_request(answer);

	(void)json_object_del(request, "text"); /* that is what is asked for */
	(void)json_object_set_new(request, "action", json_string(answer->op)); /* OOM only */
	(void)json_object_set_new(request, "op", json_string("preview"));
	return link_ask(link, answer, true, tag, request, why);
}
