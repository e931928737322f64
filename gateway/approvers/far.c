/* The terminal's questions are copies, kept by the events of the gateway whose they are. What is
 * typed becomes a request; what the reply says is what is shown. */
#include "gateway/gateway_far.h"

#include <errno.h>
#include <event2/buffer.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/answer.h"
#include "gateway/bounds.h"
#include "gateway/approvers/far_question.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/tty.h"
#include "gateway/approvers/wire.h"

#define FAR_VERSION_ID 1 /* of the request to watch, whose reply comes first */
#define FAR_READ_BYTES 16384
#define FAR_LINE_MAX   (4U << 20)
#define FAR_WAIT_MS    5000 /* for a gateway to say what became of an answer */
#define FAR_GIVEN_MAX  1024
#define FAR_ID_FIRST   2

/* An answer that was sent. */
struct far_request {
	json_int_t id;
	char question[APPROVER_ID_MAX];
	bool is_overdue; /* whoever answered was told that nothing was heard yet */
	STAILQ_ENTRY(far_request) entry;
};

struct gateway_far {
	struct loop *loop;
	int fd; /* -1: the gateway, or the terminal, is gone */
	struct event *read_event, *write_event;
	struct evbuffer *in, *out;
	struct approver *terminal;
	struct far_question_list questions; /* oldest first */
	size_t question_count;
	STAILQ_HEAD(far_request_list, far_request) requests;
	size_t request_count;
	json_int_t last_id;
	struct loop_timer begin, late;
};

static void far_wait(struct gateway_far *far);

/* Open questions are nobody's here any more: whoever else is asked may answer them. */
static void far_close(struct gateway_far *far)
{
	struct far_question *question;

	if (far->fd < 0)
		return;
	event_del(far->read_event);
	event_del(far->write_event);
	loop_timer_stop(&far->late);
	fd_close(far->fd);
	far->fd = -1;
	while ((question = TAILQ_FIRST(&far->questions))) {
		TAILQ_REMOVE(&far->questions, question, entry);
		far_question_free(question);
	}
	tty_approver.close(far->terminal); /* gives the terminal back */
	far->terminal = NULL;
}

/* From inside the terminal's own calls nothing of it may be freed. */
static void far_close_now(void *arg)
{
	far_close(arg);
}

static void far_gone(void *of)
{
	struct gateway_far *far = of;

	loop_defer(far->loop, &far->begin, far_close_now, far);
}

static struct far_question *far_find(const struct gateway_far *far, const char *id)
{
	struct far_question *question;

	TAILQ_FOREACH (question, &far->questions, entry) {
		if (strcmp(question->question.id, id) == 0)
			return question;
	}
	return NULL;
}

static void far_each(void *of, void (*each)(const struct approver_question *question, void *arg),
		     void *arg)
{
	struct gateway_far *far = of;
	const struct far_question *ours;

	TAILQ_FOREACH (ours, &far->questions, entry) {
		struct approver_question question;

		far_question_look(ours, loop_now_ms(far->loop), &question);
		each(&question, arg);
	}
}

static int far_text(void *of, const char *id, const struct approver_answer *answer,
		    char out[APPROVER_KEY_MAX], struct err *why)
{
	const struct gateway_far *far = of;
	const struct far_question *ours = far_find(far, id);

	if (!ours)
		return err_set(why, -ENOENT, "the question is finished");
	return answer_words(&ours->question.dst, ours->question.program, answer,
			    loop_wall_us(far->loop) / 1000000, out, why);
}

static void far_flush(struct gateway_far *far)
{
	int r = wire_send(far->fd, far->out);

	if (r == -EAGAIN)
		event_add(far->write_event, NULL);
	else if (r < 0)
		far_gone(far);
}

/* Takes @request. */
static int far_send(struct gateway_far *far, json_t *request, json_int_t id)
{
	bool is_whole = request && json_object_set_new(request, "id", json_integer(id)) == 0;
	auto_free char *text =
		is_whole ? json_dumps(request, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(request);
	if (!text || evbuffer_add_printf(far->out, "%s\n", text) < 0)
		return -ENOMEM;
	far_flush(far);
	return 0;
}

static int far_give(void *of, const char *id, const struct approver_answer *answer, struct err *why)
{
	struct gateway_far *far = of;
	const struct far_question *ours = far_find(far, id);

	if (!ours)
		return err_set(why, -ENOENT, "the question is finished");
	if (far->request_count == FAR_GIVEN_MAX)
		return err_set(why, -EBUSY, "too many answers are on their way");
	if (far_send(far, far_question_answer(&ours->question, answer), ++far->last_id) < 0)
		return err_set(why, -ENOMEM, "out of memory");
	struct far_request *request = mem_new(sizeof(*request));

	request->id = far->last_id;
	memcpy(request->question, ours->question.id, sizeof(request->question));
	STAILQ_INSERT_TAIL(&far->requests, request, entry);
	far->request_count++;
	far_wait(far);
	return -EINPROGRESS;
}

/* What becomes of it is seen by the question. */
static void far_touch(void *of, const char *id)
{
	struct gateway_far *far = of;

	if (far->fd >= 0)
		(void)far_send(far, json_pack("{s:s, s:s}", "op", "touch", "question", id),
			       ++far->last_id); /* out of memory */
}

static const struct tty_source far_source = { far_each, far_text, far_give, far_touch, far_gone };

static void far_settle(struct gateway_far *far, struct far_request *request, int r,
		       const struct err *why)
{
	STAILQ_REMOVE(&far->requests, request, far_request, entry);
	far->request_count--;
	if (far->terminal)
		tty_answer_came(far->terminal, request->question, r, why);
	free(request);
}

/* The oldest that is not overdue. NULL: none. */
static struct far_request *far_awaited(struct gateway_far *far)
{
	struct far_request *request;

	STAILQ_FOREACH (request, &far->requests, entry) {
		if (!request->is_overdue)
			break;
	}
	return request;
}

static void far_late(void *arg)
{
	struct gateway_far *far = arg;
	struct far_request *request = far_awaited(far);

	/* It was sent, and may take effect: what became of it is said when it is known. */
	if (request)
		request->is_overdue = true;
	if (request && far->terminal)
		tty_answer_overdue(far->terminal, request->question);
	far_wait(far);
}

static void far_wait(struct gateway_far *far)
{
	if (!far_awaited(far))
		loop_timer_stop(&far->late);
	else if (!far->late.is_armed)
		loop_timer_start(far->loop, &far->late, FAR_WAIT_MS, far_late, far);
}

static void far_replied(struct gateway_far *far, const json_t *reply, json_int_t id)
{
	struct far_request *request;
	struct err why = { 0 };
	const char *error = json_string_value(json_object_get(reply, "error"));
	const char *code = json_string_value(json_object_get(reply, "code"));

	STAILQ_FOREACH (request, &far->requests, entry) {
		if (request->id == id)
			break;
	}
	if (!request)
		return;
	loop_timer_stop(&far->late);
	if (json_is_true(json_object_get(reply, "ok")))
		far_settle(far, request, 0, &why);
	else if (code && strcmp(code, "finished") == 0)
		far_settle(far, request, -ENOENT, &why);
	else
		far_settle(far, request,
			   err_set(&why, -EIO, "%s", error ? error : "the session refuses it"),
			   &why);
	far_wait(far);
}

/* A question that is there already has changed. False: it is none. */
static bool far_asked(struct gateway_far *far, json_t *object)
{
	struct far_question *ours = far_question_new(object, loop_now_ms(far->loop));
	struct far_question *before = ours ? far_find(far, ours->question.id) : NULL;

	if (!ours)
		return false;
	if (!before && far->question_count == GATEWAY_QUESTIONS_MAX) {
		far_question_free(ours);
		return true; /* others may still answer it */
	}
	if (before) {
		TAILQ_INSERT_AFTER(&far->questions, before, ours, entry);
		TAILQ_REMOVE(&far->questions, before, entry);
		far_question_free(before);
		tty_approver.changed(far->terminal, &ours->question);
		return true;
	}
	TAILQ_INSERT_TAIL(&far->questions, ours, entry);
	far->question_count++;
	tty_approver.ask(far->terminal, &ours->question);
	return true;
}

static bool far_retracted(struct gateway_far *far, const json_t *event)
{
	const char *id =
		json_string_value(json_object_get(json_object_get(event, "question"), "id"));
	const char *how = json_string_value(json_object_get(event, "how"));
	struct far_question *ours = id ? far_find(far, id) : NULL;
	const struct approver_end end = { .id = id, .by = "", .how = how };

	if (!ours)
		return id != NULL;
	TAILQ_REMOVE(&far->questions, ours, entry);
	far->question_count--;
	tty_approver.retract(far->terminal, &end);
	far_question_free(ours);
	return true;
}

static bool far_began(struct gateway_far *far, const json_t *reply)
{
	const json_t *questions = json_object_get(reply, "questions");

	for (size_t i = 0; i < json_array_size(questions); i++) {
		if (!far_asked(far, json_array_get(questions, i)))
			return false;
	}
	return json_is_array(questions);
}

/* False: not what a gateway says. */
static bool far_take(struct gateway_far *far, const json_t *message)
{
	const char *event = json_string_value(json_object_get(message, "event"));
	json_int_t id = json_integer_value(json_object_get(message, "id"));

	if (event && strcmp(event, "retracted") == 0)
		return far_retracted(far, message);
	if (event && (strcmp(event, "asked") == 0 || strcmp(event, "changed") == 0))
		return far_asked(far, json_object_get(message, "question"));
	if (id == FAR_VERSION_ID)
		return far_began(far, message);
	if (!event)
		far_replied(far, message, id);
	return true;
}

/* Every whole line that is there. */
static void far_read_lines(struct gateway_far *far)
{
	while (far->fd >= 0) {
		size_t len;
		auto_free char *line = evbuffer_readln(far->in, &len, EVBUFFER_EOL_LF);

		if (!line)
			break;
		json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
		bool is_good = json_is_object(message) && far_take(far, message);

		json_decref(message);
		if (is_good)
			continue;
		log_error("the session says what is no line of a gate: nothing is asked here");
		return far_close(far);
	}
	if (far->fd >= 0 && evbuffer_get_length(far->in) > FAR_LINE_MAX)
		far_close(far);
}

static void far_readable(evutil_socket_t fd, short what, void *arg)
{
	struct gateway_far *far = arg;
	int got = evbuffer_read(far->in, fd, FAR_READ_BYTES);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		return far_close(far);
	far_read_lines(far);
}

static void far_writable(evutil_socket_t fd, short what, void *arg)
{
	far_flush(arg);
}

static void far_begin(void *arg)
{
	far_read_lines(arg);
}

static int far_watch(struct gateway_far *far, const struct gateway_far_config *config,
		     struct err *why)
{
	struct event_base *base = loop_base(far->loop);

	far->in = evbuffer_new();
	far->out = evbuffer_new();
	far->read_event = event_new(base, far->fd, EV_READ | EV_PERSIST, far_readable, far);
	far->write_event = event_new(base, far->fd, EV_WRITE, far_writable, far);
	if (!far->in || !far->out || !far->read_event || !far->write_event)
		abort(); /* out of memory, as in base/mem */
	if (fd_set_nonblocking(far->fd, true) < 0 ||
	    evbuffer_add(far->in, config->heard, config->heard_len) < 0 ||
	    event_add(far->read_event, NULL) < 0)
		return err_set(why, -EIO, "the session's questions cannot be watched");
	loop_defer(far->loop, &far->begin, far_begin, far);
	return 0;
}

struct gateway_far *gateway_far_new(struct loop *loop, const struct gateway_far_config *config,
				    struct err *why)
{
	const struct gateway_config shown = {
		.terminal = config->terminal,
		.control_dir = config->control_dir,
		.run = config->run,
		.answers_path = config->may_always ? "" : NULL, /* only whether there is one */
	};
	struct gateway_far *far = mem_new(sizeof(*far));

	far->loop = loop;
	far->fd = config->socket;
	far->last_id = FAR_ID_FIRST;
	TAILQ_INIT(&far->questions);
	STAILQ_INIT(&far->requests);
	int r = far_watch(far, config, why);

	if (r == 0)
		far->terminal = tty_new(&far_source, far, loop, &shown, why);
	if (far->terminal)
		return far;
	gateway_far_free(far);
	return NULL;
}

void gateway_far_free(struct gateway_far *far)
{
	struct far_request *request;

	if (!far)
		return;
	far_close(far);
	loop_timer_stop(&far->begin);
	loop_timer_stop(&far->late);
	while ((request = STAILQ_FIRST(&far->requests))) {
		STAILQ_REMOVE_HEAD(&far->requests, entry);
		free(request);
	}
	if (far->read_event)
		event_free(far->read_event);
	if (far->write_event)
		event_free(far->write_event);
	if (far->in)
		evbuffer_free(far->in);
	if (far->out)
		evbuffer_free(far->out);
	free(far);
}
