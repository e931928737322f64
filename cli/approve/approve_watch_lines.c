/* Reads answers to `sallyport approve watch`, one per line. If a person types one with a width, it
 * is first shown what the gate would store; the answer is sent after a yes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve_watch.h"

#define LINE_BLANKS " \t\r"

static void line_refuse(const struct watch *watch, const char *id, const struct err *why)
{
	if (watch->is_json) {
		json_t *event =
			json_pack("{s:s, s:{s:s}, s:b, s:s, s:s}", "event", "answered", "question",
				  "id", id, "ok", 0, "error", why->text, "code", "not_sent");

		approve_watch_print(event);
		json_decref(event);
		return;
	}
	(void)printf("%s\n", why->text);
	(void)fflush(stdout);
}

static bool line_has_width(const struct approve_width *width)
{
	return width->is_domain || width->is_every_port || width->is_program ||
	       width->duration[0] != '\0' || width->upload > 0 || width->download > 0 ||
	       width->connections > 0;
}

static void line_drop(struct watch *watch)
{
	if (watch->pending.link)
		(void)printf("%s  not answered\n", watch->pending.answer.id);
	watch->pending.link = NULL;
	(void)fflush(stdout);
}

/* Takes @message. */
static int line_send(struct far_link *link, const struct approve_answer *answer, unsigned int tag,
		     json_t *message, struct err *why)
{
	struct watch_request *request = mem_new(sizeof(*request));

	request->tag = tag;
	request->answer = *answer;
	return far_link_give(link, message, request, why);
}

static int line_send_answer(struct far_link *link, const struct approve_answer *answer,
			    struct err *why)
{
	return line_send(link, answer, 0, approve_input_request(answer), why);
}

/* Requests what the answer would store; the answer itself is not sent before the person has seen
 * that. */
static int line_preview(struct watch *watch, struct far_link *link,
			const struct approve_answer *answer, struct err *why)
{
	struct approve_answer shown = *answer;
	int r;

	shown.is_person = false;
	shown.words[0] = '\0';
	json_t *message = approve_input_request(&shown);

	(void)json_object_del(message, "text"); /* a preview asks for this text */
	(void)json_object_set_new(message, "action", json_string(shown.op)); /* out of memory */
	(void)json_object_set_new(message, "op", json_string("preview"));
	r = line_send(link, &shown, watch->pending.tag + 1, message, why);
	if (r < 0)
		return r;
	watch->pending.tag++;
	watch->pending.link = link;
	watch->pending.answer = *answer;
	watch->pending.is_shown = false;
	return 0;
}

static int line_give(struct watch *watch, struct far_link *link,
		     const struct approve_answer *answer, struct err *why)
{
	if (watch->is_prompting && line_has_width(&answer->width))
		return line_preview(watch, link, answer, why);
	return line_send_answer(link, answer, why);
}

static int line_answer(struct watch *watch, const char *line, struct approve_answer *answer,
		       struct err *why)
{
	int r = approve_input_parse(line, answer, why);

	if (r == 0)
		r = err_set(why, -ENOENT, "no such question: no watched run has %s", answer->id);
	for (size_t i = 0; r == -ENOENT && i < watch->link_count; i++) {
		if (far_link_is_greeted(watch->links[i]) &&
		    approve_input_is_of(answer->id, far_link_run(watch->links[i])))
			r = line_give(watch, watch->links[i], answer, why);
	}
	return r;
}

static bool line_is_yes(const char *line)
{
	line += strspn(line, LINE_BLANKS);
	return strncmp(line, "yes", 3) == 0 && line[3 + strspn(line + 3, LINE_BLANKS)] == '\0';
}

/* The line after a preview: "yes" sends the answer; any other line drops it. True: the line has no
 * further meaning. */
static bool line_decides(struct watch *watch, const char *line)
{
	struct watch_pending pending = watch->pending;
	struct err why = { 0 };

	if (!pending.link)
		return false;
	if (!line_is_yes(line) || !pending.is_shown) { /* a yes must follow the preview */
		line_drop(watch);
		return line_is_yes(line);
	}
	watch->pending.link = NULL;
	if (line_send_answer(pending.link, &pending.answer, &why) < 0)
		line_refuse(watch, pending.answer.id, &why);
	return true;
}

void approve_watch_lines_take(struct watch *watch, const char *line)
{
	struct approve_answer answer = { .id = "" };
	struct err why = { 0 };

	if (line_decides(watch, line) || line[strspn(line, LINE_BLANKS)] == '\0')
		return;
	if (line_answer(watch, line, &answer, &why) < 0)
		line_refuse(watch, answer.id, &why);
}

void approve_watch_lines_previewed(struct watch *watch, const struct watch_request *request,
				   const json_t *reply)
{
	const struct approve_answer *answer = &request->answer;
	struct watch_pending *pending = &watch->pending;
	bool is_ok = json_is_true(json_object_get(reply, "ok"));
	auto_free char *text =
		text_visible_once(approve_text_member(reply, is_ok ? "text" : "error"));
	auto_free char *so = approve_text_answer(answer);

	if (!pending->link || pending->tag != request->tag)
		return;
	pending->is_shown = is_ok;
	(void)snprintf(pending->answer.text, sizeof(pending->answer.text), "%s", text);
	/* Drops a yes that was typed ahead; in the background there is no input. */
	if (tcgetpgrp(STDIN_FILENO) == getpgrp())
		(void)tcflush(STDIN_FILENO, TCIFLUSH);
	if (is_ok) {
		(void)printf("%s  would be  %s  %s\n            type yes to give this answer, and "
			     "any other line to give none\n",
			     answer->id, text, so);
	} else {
		(void)printf("%s  not answered: %s\n", answer->id, text);
		pending->link = NULL;
	}
	(void)fflush(stdout);
}

void approve_watch_lines_settled(struct watch *watch, const struct far_link *link, const char *id)
{
	struct watch_pending *pending = &watch->pending;

	if (pending->link == link && (!id || strcmp(pending->answer.id, id) == 0))
		pending->link = NULL;
}
