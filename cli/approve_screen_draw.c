/* How the screen looks. All text in it is printable ASCII by now, so that a byte is a column. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/approve_screen_impl.h"
#include "cli/approve_watch.h"

#define DRAW_LINE_MAX 1024

struct draw {
	struct approve_screen *screen;
	FILE *out;
	unsigned int row, last; /* the next one; the one behind the last that may be used */
};

/* @style: an SGR parameter, or "". What does not fit is cut, and that is shown. */
static void draw_line(struct draw *draw, const char *style, const char *text)
{
	size_t room = draw->screen->columns, len = strlen(text);

	if (draw->row >= draw->last)
		return;
	draw->row++;
	(void)fprintf(draw->out, "\033[0%s%sm", style[0] ? ";" : "", style);
	if (len <= room)
		(void)fprintf(draw->out, "%s", text);
	else if (room > 3)
		(void)fprintf(draw->out, "%.*s...", (int)(room - 3), text);
	(void)fputs(strchr(style, '7') ? "\033[K\033[0m\r\n" : "\033[0m\033[K\r\n", draw->out);
}

static void draw_format(struct draw *draw, const char *style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void draw_format(struct draw *draw, const char *style, const char *format, ...)
{
	char line[DRAW_LINE_MAX];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args); /* cut again below */
	va_end(args);
	draw_line(draw, style, line);
}

/* Long text over several lines, none of it left out. */
static void draw_wrapped(struct draw *draw, const char *style, const char *label, const char *text)
{
	size_t indent = strlen(label), room = draw->screen->columns;
	char line[DRAW_LINE_MAX];

	room = room > indent + 8 && room < sizeof(line) ? room - indent : 64;
	do {
		size_t len = strlen(text) < room ? strlen(text) : room;

		(void)snprintf(line, sizeof(line), "%-*s%.*s", (int)indent, label, (int)len, text);
		draw_line(draw, style, line);
		label = "";
		text += len;
	} while (*text != '\0');
}

static long long draw_number(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
}

static void draw_question(struct draw *draw, const struct screen_question *question)
{
	struct approve_screen *screen = draw->screen;
	int64_t left_s = (question->due_ms - loop_now_ms(screen->watch->loop) + 999) / 1000;
	auto_free char *to = approve_text_destination(question->question);
	bool is_chosen = question == screen->chosen;

	left_s = left_s < 0 ? 0 : left_s;
	draw_format(draw, is_chosen ? "1" : "", "%c %-12s %3lld:%02lld  %4lld waiting  %c %s%s",
		    is_chosen ? '>' : ' ', question->id, (long long)left_s / 60,
		    (long long)left_s % 60, draw_number(question->question, "waiting"),
		    approve_screen_typed(question)[0] ? '!' : ' ', to,
		    question->is_answered ? "  (answered)" : "");
}

/* The chosen one is among them, and stays where it is as long as it can. */
static void draw_list(struct draw *draw, unsigned int height)
{
	struct approve_screen *screen = draw->screen;
	const struct screen_question *question;
	size_t at = 0, chosen = 0, skip;

	TAILQ_FOREACH (question, &screen->questions, entry) {
		if (question == screen->chosen)
			chosen = at;
		at++;
	}
	skip = chosen < height ? 0 : chosen - height + 1;
	at = 0;
	TAILQ_FOREACH (question, &screen->questions, entry) {
		if (at >= skip && at < skip + height)
			draw_question(draw, question);
		at++;
	}
	if (screen->count + screen->hidden > height)
		draw_format(draw, "2", "  %zu of %zu", chosen + 1, screen->count + screen->hidden);
}

static void draw_details(struct draw *draw, const struct screen_question *question)
{
	const char *careful = draw->screen->has_colours ? "1;33" : "1";
	char *text = NULL, *line, *rest;
	size_t len = 0;
	FILE *stream = open_memstream(&text, &len);

	if (!stream)
		return;
	approve_text_question(stream, question->question);
	(void)fclose(stream);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (line[0] != '\0')
			draw_wrapped(draw, strncmp(line, "  careful", 9) == 0 ? careful : "", "",
				     line);
	}
	free(text);
}

static void draw_keys(struct draw *draw)
{
	static const struct {
		const char *label;
		enum screen_scope scope;
	} keys[] = {
		{ "  y once     ", SCREEN_ONCE },
		{ "  e command  ", SCREEN_EXEC },
		{ "  s session  ", SCREEN_SESSION },
		{ "  a always   ", SCREEN_ALWAYS },
	};
	const struct approve_screen *screen = draw->screen;

	draw_line(draw, "2", "An allow grants exactly");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *text = screen->previews[keys[i].scope];

		draw_wrapped(draw, text && !screen->can_be[keys[i].scope] ? "2" : "", keys[i].label,
			     text ? text : "...");
	}
	draw_format(draw, "2", "n E S D deny the same   q end the command   %s%s%s",
		    screen->width.is_domain ? "[w] whole domain  " : "w whole domain  ",
		    screen->width.is_every_port ? "[p] every port  " : "p every port  ",
		    screen->width.is_program ? "[g] this program" : "g this program");
}

static void draw_help(struct draw *draw)
{
	static const char *const lines[] = {
		"",
		"  up, down, k, j    another question",
		"  y e s a           allow: once (those who wait), for the command, the session, "
		"always",
		"  n E S D           deny, the same",
		"  q                 deny, and end the commands that wait",
		"  w p g             wider or narrower: the whole domain, every port, this program "
		"only",
		"  x, ^C             leave: if nobody else is there to ask, questions are denied",
		"",
		"  What carries a warning (!) is allowed by typing its domain. For 0.4 seconds "
		"after",
		"  something moved no key answers, and what is pasted never does.",
		"",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		draw_line(draw, "", lines[i]);
}

/* The newest last, as far as there is room. */
static void draw_past(struct draw *draw)
{
	const struct approve_screen *screen = draw->screen;
	size_t kept = screen->past_count < SCREEN_PAST_MAX ? screen->past_count : SCREEN_PAST_MAX;
	size_t room = draw->last > draw->row + 1 ? draw->last - draw->row - 1 : 0;
	size_t shown = kept < room ? kept : room;

	if (shown == 0)
		return;
	draw_line(draw, "2", "Before");
	for (size_t i = screen->past_count - shown; i < screen->past_count; i++)
		draw_line(draw, "", screen->past[i % SCREEN_PAST_MAX]);
}

static void draw_foot(struct draw *draw)
{
	const struct approve_screen *screen = draw->screen;

	while (draw->row < draw->last)
		draw_line(draw, "", "");
	draw->last++;
	if (screen->is_typing) {
		draw_format(draw, "1", "To allow %s, type %s and Enter (Esc: not): %s",
			    screen->pending.id, approve_screen_typed(screen->chosen),
			    screen->typed);
		return;
	}
	draw_line(draw, "2", screen->is_help ? "any key: back" : "? help   x leave");
}

void approve_screen_draw(struct approve_screen *screen)
{
	char *text = NULL;
	size_t len = 0,
	       wanted = screen->count < screen->rows / 3U ? screen->count : screen->rows / 3U;
	struct draw draw = { .screen = screen, .last = screen->rows - 1U };

	draw.out = open_memstream(&text, &len);
	if (!draw.out)
		return;
	(void)fputs("\033[H", draw.out);
	draw_format(&draw, "7", " sallyport   %zu question%s in %zu run%s",
		    screen->count + screen->hidden, screen->count + screen->hidden == 1 ? "" : "s",
		    screen->watch->link_count, screen->watch->link_count == 1 ? "" : "s");
	if (screen->is_help) {
		draw_help(&draw);
	} else if (screen->chosen) {
		draw_list(&draw, (unsigned int)wanted);
		draw_line(&draw, "", "");
		draw_details(&draw, screen->chosen);
		draw_line(&draw, "", "");
		draw_keys(&draw);
		draw_line(&draw, "", "");
	} else {
		draw_line(&draw, "", "");
		draw_line(&draw, "", "Nothing waits. A question appears here by itself.");
		draw_line(&draw, "", "");
	}
	if (!screen->is_help)
		draw_past(&draw);
	draw_foot(&draw);
	(void)fclose(draw.out);
	/* The last line of the screen has no line below it to move to. */
	if (len > 2 && memcmp(text + len - 2, "\r\n", 2) == 0)
		len -= 2;
	(void)fd_write_all(STDOUT_FILENO, text, len); /* nobody sees it: so be it */
	free(text);
}
