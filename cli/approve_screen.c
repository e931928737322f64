#include "cli/approve_screen_impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/approve_watch.h"
#include "cli/cli.h"

/* The other screen, without a cursor; what is pasted is marked as such. And all that undone. */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?2004h\033[2J"
#define SCREEN_LEAVE "\033[?2004l\033[?25h\033[?1049l"

#define SCREEN_TICK_MS 1000

static void screen_write(const char *text)
{
	(void)fd_write_all(STDOUT_FILENO, text, strlen(text)); /* nobody sees it: so be it */
}

int approve_screen_check(void)
{
	const char *term = getenv("TERM");
	struct stat in, out;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0)
		return -ENOTTY;
	if (fstat(STDIN_FILENO, &in) < 0 || fstat(STDOUT_FILENO, &out) < 0 ||
	    in.st_rdev != out.st_rdev)
		return -ENOTTY;
	return 0;
}

void approve_screen_measure(struct approve_screen *screen)
{
	struct winsize size = { 0 };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size); /* then it is as below */
	screen->rows = size.ws_row ? size.ws_row : 24;
	screen->columns = size.ws_col ? size.ws_col : 80;
}

/* Signals stay what they are: ^C ends the watch, ^Z stops it. */
static int screen_enter(struct approve_screen *screen)
{
	struct termios raw = screen->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	/* What was typed ahead was not meant for what is shown now. */
	if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) < 0)
		return -errno;
	screen->is_raw = true;
	screen_write(SCREEN_ENTER);
	approve_screen_measure(screen);
	return 0;
}

static void screen_leave(struct approve_screen *screen)
{
	if (!screen->is_raw)
		return;
	screen->is_raw = false;
	screen_write(SCREEN_LEAVE);
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before); /* the terminal is gone, then */
}

static void screen_draw_now(void *arg)
{
	struct approve_screen *screen = arg;

	if (screen->is_raw)
		approve_screen_draw(screen);
}

void approve_screen_touch(struct approve_screen *screen)
{
	if (!screen->draw.is_armed)
		loop_timer_start(screen->watch->loop, &screen->draw, SCREEN_DRAW_MS,
				 screen_draw_now, screen);
}

static void screen_tick(void *arg)
{
	struct approve_screen *screen = arg;

	approve_screen_touch(screen);
	loop_timer_start(screen->watch->loop, &screen->tick, SCREEN_TICK_MS, screen_tick, screen);
}

void approve_screen_guard(struct approve_screen *screen)
{
	screen->moved_ms = loop_now_ms(screen->watch->loop);
	screen->ready_ms = screen->moved_ms + SCREEN_GUARD_MS;
}

static void screen_resized(evutil_socket_t signal, short what, void *arg)
{
	struct approve_screen *screen = arg;

	approve_screen_measure(screen);
	screen_write("\033[2J");
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

/* As every program of the terminal: it is given back first, and taken again when we go on. */
static void screen_stopped(evutil_socket_t signal, short what, void *arg)
{
	struct approve_screen *screen = arg;

	screen_leave(screen);
	(void)kill(getpid(), SIGSTOP);
	if (screen_enter(screen) < 0)
		return loop_stop(screen->watch->loop);
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

const char *approve_screen_scope(enum screen_scope scope)
{
	static const char *const names[] = { "once", "exec", "session", "always" };

	return names[scope];
}

const char *approve_screen_typed(const struct screen_question *question)
{
	bool is_risky = json_array_size(json_object_get(question->question, "risk")) > 0;

	return is_risky ? approve_text_member(question->question, "typed") : "";
}

void approve_screen_say(struct approve_screen *screen, const char *text)
{
	char **place = &screen->past[screen->past_count++ % SCREEN_PAST_MAX];

	free(*place);
	*place = mem_strdup(text);
	approve_screen_touch(screen);
}

void approve_screen_preview(struct approve_screen *screen)
{
	struct screen_question *chosen = screen->chosen;
	struct err why = { 0 };

	screen->tag++;
	for (int scope = 0; scope < SCREEN_SCOPES; scope++) {
		free(screen->previews[scope]);
		screen->previews[scope] = NULL;
		screen->can_be[scope] = false;
		if (!chosen)
			continue;
		struct approve_answer answer = { .op = "allow",
						 .scope = approve_screen_scope(scope) };

		(void)snprintf(answer.id, sizeof(answer.id), "%s", chosen->id);
		if (scope != SCREEN_ONCE)
			answer.width = screen->width;
		if (approve_watch_link_preview(chosen->link, &answer,
					       screen->tag * SCREEN_SCOPES + (unsigned int)scope,
					       &why) < 0)
			screen->previews[scope] = mem_strdup(why.text);
	}
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

void approve_screen_choose(struct approve_screen *screen, struct screen_question *question)
{
	if (screen->chosen == question)
		return;
	screen->chosen = question;
	screen->width = (struct approve_width){ 0 };
	screen->is_late |= screen->is_typing;
	screen->is_typing = false;
	approve_screen_words_review(screen, true);
	approve_screen_preview(screen);
}

static struct screen_question *screen_find(struct approve_screen *screen, const char *id)
{
	struct screen_question *question;

	TAILQ_FOREACH (question, &screen->questions, entry) {
		if (strcmp(question->id, id) == 0)
			return question;
	}
	return NULL;
}

/* Another takes its place under the cursor: so for a moment no key answers. */
static void screen_drop(struct approve_screen *screen, struct screen_question *question)
{
	struct screen_question *next = TAILQ_NEXT(question, entry);

	if (!next)
		next = TAILQ_PREV(question, screen_questions, entry);
	if (screen->chosen == question)
		approve_screen_choose(screen, next);
	TAILQ_REMOVE(&screen->questions, question, entry);
	screen->count--;
	json_decref(question->question);
	free(question);
	approve_screen_many_review(screen);
}

static void screen_take(struct approve_screen *screen, struct watch_link *link, const json_t *asked)
{
	const char *id = approve_text_member(asked, "id");
	struct screen_question *question = screen_find(screen, id);
	bool is_other;

	if (!approve_input_is_id(id))
		return;
	if (!question && screen->count == SCREEN_QUESTIONS_MAX) {
		screen->hidden++;
		return;
	}
	if (!question) {
		question = mem_new(sizeof(*question));
		question->link = link;
		(void)snprintf(question->id, sizeof(question->id), "%s", id);
		TAILQ_INSERT_TAIL(&screen->questions, question, entry);
		screen->count++;
	}
	is_other = question->question && !approve_screen_drawn_is_same(question->question, asked);
	json_decref(question->question);
	question->question = json_incref((json_t *)(uintptr_t)asked);
	question->due_ms = loop_now_ms(screen->watch->loop) +
			   1000 * json_integer_value(json_object_get(asked, "left_s"));
	approve_screen_many_review(screen);
	if (!screen->chosen)
		approve_screen_choose(screen, question);
	else if (is_other && screen->chosen == question)
		approve_screen_preview(screen); /* what it would grant may have changed with it */
	else if (is_other && question->is_ticked)
		approve_screen_guard(screen);
}

void approve_screen_event(struct approve_screen *screen, struct watch_link *link,
			  const json_t *event)
{
	const json_t *asked = json_object_get(event, "question");
	const char *kind = approve_text_member(event, "event");
	auto_free char *run = approve_text_shown(approve_text_member(event, "run"));

	if (strcmp(kind, "asked") == 0 || strcmp(kind, "changed") == 0) {
		if (kind[0] == 'c' && screen->hidden > 0 &&
		    !screen_find(screen, approve_text_member(asked, "id")))
			screen->hidden--; /* there may be room by now */
		screen_take(screen, link, asked);
	} else if (strcmp(kind, "retracted") == 0) {
		struct screen_question *question =
			screen_find(screen, approve_text_member(asked, "id"));
		auto_free char *how = approve_text_shown(approve_text_member(event, "how"));
		auto_free char *to =
			question ? approve_text_destination(question->question) : mem_strdup("");
		auto_free char *line =
			question ? mem_printf("%s  %s  %s", question->id, to, how) : NULL;

		if (question)
			screen_drop(screen, question);
		else if (screen->hidden > 0)
			screen->hidden--;
		if (line)
			approve_screen_say(screen, line);
	} else if (strcmp(kind, "run_ended") == 0) {
		auto_free char *line = mem_printf("run %s is over", run);

		approve_screen_say(screen, line);
	}
	approve_screen_touch(screen);
}

void approve_screen_lost(struct approve_screen *screen, const struct watch_link *link)
{
	struct screen_question *question = TAILQ_FIRST(&screen->questions), *next;

	for (; question; question = next) {
		next = TAILQ_NEXT(question, entry);
		if (question->link == link)
			screen_drop(screen, question);
	}
	approve_screen_touch(screen);
}

void approve_screen_replied(struct approve_screen *screen, const struct approve_answer *answer,
			    const json_t *reply)
{
	struct screen_question *question = screen_find(screen, answer->id);
	auto_free char *error = approve_text_shown(approve_text_member(reply, "error"));
	auto_free char *line = mem_printf("%s  not answered: %s", answer->id, error);

	/* What became of it when it was taken, the retraction says. */
	if (json_is_true(json_object_get(reply, "ok")))
		return;
	if (question)
		question->is_answered = false;
	if (question && question == screen->chosen)
		approve_screen_preview(screen); /* it may grant something else by now */
	approve_screen_say(screen, line);
}

void approve_screen_previewed(struct approve_screen *screen, const struct approve_answer *answer,
			      unsigned int tag, const json_t *reply)
{
	unsigned int scope = tag % SCREEN_SCOPES;
	bool is_ok = json_is_true(json_object_get(reply, "ok")) &&
		     approve_text_member(reply, "text")[0] != '\0';

	if (tag / SCREEN_SCOPES != screen->tag)
		return; /* of what was chosen before */
	free(screen->previews[scope]);
	screen->previews[scope] =
		approve_text_shown(approve_text_member(reply, is_ok ? "text" : "error"));
	screen->can_be[scope] = is_ok;
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

void approve_screen_send(struct approve_screen *screen, const struct approve_answer *answer)
{
	struct screen_question *question = screen_find(screen, answer->id);
	struct err why = { 0 };
	int r = question ? approve_watch_link_answer(question->link, answer, &why)
			 : err_set(&why, -ENOENT, "%s is finished", answer->id);

	if (r < 0)
		approve_screen_say(screen, why.text);
	else
		question->is_answered = true;
	approve_screen_touch(screen);
}

static int screen_listen(struct approve_screen *screen)
{
	struct event_base *base = loop_base(screen->watch->loop);

	screen->size_event =
		event_new(base, SIGWINCH, EV_SIGNAL | EV_PERSIST, screen_resized, screen);
	screen->stop_event =
		event_new(base, SIGTSTP, EV_SIGNAL | EV_PERSIST, screen_stopped, screen);
	return screen->size_event && screen->stop_event &&
			       event_add(screen->size_event, NULL) == 0 &&
			       event_add(screen->stop_event, NULL) == 0
		       ? 0
		       : -ENOMEM;
}

struct approve_screen *approve_screen_new(struct watch *watch, struct err *why)
{
	struct approve_screen *screen = mem_new(sizeof(*screen));
	int r = 0;

	screen->watch = watch;
	screen->has_colours = cli_may_colour(stdout);
	TAILQ_INIT(&screen->questions);
	if (tcgetattr(STDIN_FILENO, &screen->before) < 0)
		r = -errno;
	if (r == 0)
		r = screen_listen(screen);
	if (r == 0)
		r = screen_enter(screen);
	if (r < 0) {
		(void)err_errno(why, -r, "cannot take the terminal");
		approve_screen_free(screen);
		return NULL;
	}
	screen_tick(screen);
	return screen;
}

void approve_screen_free(struct approve_screen *screen)
{
	struct screen_question *question;

	if (!screen)
		return;
	screen_leave(screen);
	while ((question = TAILQ_FIRST(&screen->questions))) {
		TAILQ_REMOVE(&screen->questions, question, entry);
		json_decref(question->question);
		free(question);
	}
	for (size_t i = 0; i < SCREEN_PAST_MAX; i++)
		free(screen->past[i]);
	for (size_t i = 0; i < SCREEN_SCOPES; i++)
		free(screen->previews[i]);
	free(screen->drawn);
	loop_timer_stop(&screen->draw);
	loop_timer_stop(&screen->tick);
	if (screen->size_event)
		event_free(screen->size_event);
	if (screen->stop_event)
		event_free(screen->stop_event);
	free(screen);
}
