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

#define DRAW_LINE_MAX      1024
#define DRAW_DETAIL_LINES  3  /* of one text of a question, most of which a command can choose */
#define DRAW_KEY_INDENT    13 /* of draw_scopes */
#define DRAW_MANY_INDENT   2
#define DRAW_COLUMNS_LEAST (DRAW_KEY_INDENT + 9) /* draw_room(): narrower, lines are cut */
#define DRAW_LIST_COLUMNS  45 /* in front of a destination; a long id takes from it */
#define DRAW_ANSWERED      "  (answered)"

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

/* Of a line behind a label of @indent columns. */
static size_t draw_room(const struct approve_screen *screen, size_t indent)
{
	size_t columns = screen->columns;

	return columns > indent + 8 && columns < DRAW_LINE_MAX ? columns - indent : 64;
}

/* Long text over several lines; what is more than @most is left out, and that is shown. */
static void draw_wrapped(struct draw *draw, const char *style, const char *label, const char *text,
			 unsigned int most)
{
	size_t indent = strlen(label), room = draw_room(draw->screen, indent);
	char line[DRAW_LINE_MAX];

	do {
		size_t len = strlen(text) < room ? strlen(text) : room;
		bool is_cut = --most == 0 && text[len] != '\0';

		(void)snprintf(line, sizeof(line), "%-*s%.*s%s", (int)indent, label,
			       (int)(is_cut ? len - 3 : len), text, is_cut ? "..." : "");
		draw_line(draw, style, line);
		label = "";
		text += len;
	} while (*text != '\0' && most > 0);
}

static long long draw_number(const json_t *object, const char *name)
{
	return (long long)json_integer_value(json_object_get(object, name));
}

/* A long host loses its middle: what it ends with says whose it is. */
static void draw_shorten(char *to, size_t room, const char *typed)
{
	size_t len = strlen(to), tail = strlen(typed) + strlen(":65535") + 1;

	if (len <= room || room < 4)
		return;
	if (tail > room - 3)
		tail = room - 3;
	memmove(to + room - tail, to + len - tail, tail + 1);
	memcpy(to + room - tail - 3, "...", 3);
}

static void draw_question(struct draw *draw, const struct screen_question *question)
{
	struct approve_screen *screen = draw->screen;
	int64_t left_s = (question->due_ms - loop_now_ms(screen->watch->loop) + 999) / 1000;
	auto_free char *to = approve_text_destination(question->question);
	const char *domain = approve_text_member(question->question, "typed");
	size_t taken = DRAW_LIST_COLUMNS + (question->is_answered ? strlen(DRAW_ANSWERED) : 0);
	bool is_chosen = question == screen->chosen;

	left_s = left_s < 0 ? 0 : left_s;
	draw_shorten(to, screen->columns > taken ? screen->columns - taken : 0, domain);
	draw_format(draw, is_chosen ? "1" : "", "%c %-12s %3lld:%02lld%c %4lld waiting %s%s%s",
		    is_chosen ? '>' : ' ', question->id, (long long)left_s / 60,
		    (long long)left_s % 60,
		    json_is_true(json_object_get(question->question, "touched")) ? '+' : ' ',
		    draw_number(question->question, "waiting"),
		    question->is_ticked                 ? "[x] "
		    : approve_screen_typed(question)[0] ? "  ! "
							: "    ",
		    to, question->is_answered ? DRAW_ANSWERED : "");
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

/* What has to be seen before an allow, and is not cut. */
static bool draw_is_warning(const char *line)
{
	return strncmp(line, "  careful", 9) == 0 || strncmp(line, "  private", 9) == 0;
}

/* The lines that the warnings of the chosen question take. */
static unsigned int draw_warnings_height(const struct approve_screen *screen)
{
	size_t room = draw_room(screen, 0), height = 0, len = 0;
	char *text = NULL, *line, *rest;
	FILE *stream = open_memstream(&text, &len);

	if (!stream)
		return screen->rows; /* out of memory: no room */
	approve_text_question(stream, screen->chosen->question);
	(void)fclose(stream);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (draw_is_warning(line))
			height += (strlen(line) + room - 1) / room;
	}
	free(text);
	return (unsigned int)height;
}

/* The warnings, or all but them. */
static void draw_details(struct draw *draw, const struct screen_question *question,
			 bool is_warnings)
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
		if (line[0] == '\0' || draw_is_warning(line) != is_warnings)
			continue;
		draw_wrapped(draw, is_warnings ? careful : "", "", line,
			     is_warnings || line[0] != ' ' ? DRAW_LINE_MAX : DRAW_DETAIL_LINES);
	}
	free(text);
}

static const struct {
	const char *label;
	enum screen_scope scope;
} draw_scopes[] = {
	{ "  y once     ", SCREEN_ONCE },
	{ "  e command  ", SCREEN_EXEC },
	{ "  s session  ", SCREEN_SESSION },
	{ "  a always   ", SCREEN_ALWAYS },
};

static size_t draw_words_height(const struct approve_screen *screen)
{
	size_t room = draw_room(screen, DRAW_KEY_INDENT);

	return (strlen(screen->words) + room - 1) / room;
}

static void draw_words(struct draw *draw)
{
	if (draw->screen->words[0] != '\0')
		draw_wrapped(draw, "", "  words      ", draw->screen->words, DRAW_LINE_MAX);
}

/* The lines that draw_keys() takes. */
static unsigned int draw_keys_height(const struct approve_screen *screen)
{
	size_t room = draw_room(screen, DRAW_KEY_INDENT), height = 3 + draw_words_height(screen);

	for (size_t i = 0; i < SCREEN_SCOPES; i++) {
		size_t len = screen->previews[i] ? strlen(screen->previews[i]) : 0;

		height += len > room ? (len + room - 1) / room : 1;
	}
	return (unsigned int)height;
}

/* What the keys do while something is ticked. */
static void draw_ticked(struct draw *draw)
{
	draw_format(draw, "1",
		    "%zu ticked: y e s a n E S D answer all of them, after they were listed",
		    approve_screen_many_count(draw->screen));
	draw_words(draw);
	draw_line(draw, "2", "Space ticks and unticks   * ticks all that do not warn   r words");
}

static void draw_widths(struct draw *draw)
{
	const struct approve_width *width = &draw->screen->width;
	auto_free char *duration =
		width->duration[0] ? mem_printf("[t] for %s  ", width->duration) : NULL;
	auto_free char *upload =
		width->upload ? mem_printf("[b] at most %lldk up", (long long)width->upload >> 10)
			      : NULL;

	draw_format(draw, "2", "%s%s%s%s%s",
		    width->is_domain ? "[w] whole domain  " : "w whole domain  ",
		    width->is_every_port ? "[p] every port  " : "p every port  ",
		    width->is_program ? "[g] this program  " : "g this program  ",
		    duration ? duration : "t for a time  ", upload ? upload : "b a budget");
}

static void draw_keys(struct draw *draw)
{
	const struct approve_screen *screen = draw->screen;

	draw_line(draw, "2", "An allow grants exactly");
	for (size_t i = 0; i < SCREEN_SCOPES; i++) {
		const char *text = screen->previews[draw_scopes[i].scope];

		draw_wrapped(draw, text && !screen->can_be[draw_scopes[i].scope] ? "2" : "",
			     draw_scopes[i].label, text ? text : "...", DRAW_LINE_MAX);
	}
	draw_words(draw);
	draw_line(draw, "2", "n E S D deny the same   q end the command   r words");
	draw_widths(draw);
}

/* Narrower than that, lines are cut. */
static bool draw_is_narrow(const struct approve_screen *screen)
{
	return screen->columns < DRAW_COLUMNS_LEAST;
}

static void draw_too_small(struct draw *draw, unsigned int lines)
{
	if (draw_is_narrow(draw->screen))
		draw_format(draw, "1", "%d columns are needed to allow: the window is too small",
			    DRAW_COLUMNS_LEAST);
	else
		draw_format(draw, "1", "%u lines are needed to allow: the window is too small",
			    lines);
}

/* What is granted, and what warns of it, has its place first; what is left is the list's, and what
 * the command says may fill no more than the rest. */
static void draw_chosen(struct draw *draw)
{
	struct approve_screen *screen = draw->screen;
	unsigned int keys = draw_keys_height(screen), warnings = draw_warnings_height(screen);
	unsigned int last = draw->last, needed = draw->row + 2 + warnings + keys, room;
	size_t rows = screen->count < screen->rows / 3U ? screen->count : screen->rows / 3U;

	screen->is_cramped = needed > last || draw_is_narrow(screen);
	warnings = screen->is_cramped ? 0 : warnings;
	room = screen->is_cramped ? 2 : last - draw->row - keys - warnings;
	if (rows + 3 > room) /* the list's count, and a line of the question */
		rows = room > 4 ? room - 3 : 1;
	draw->last = draw->row + room;
	draw_list(draw, (unsigned int)rows);
	draw->last += warnings;
	if (!screen->is_cramped)
		draw_details(draw, screen->chosen, true);
	draw_details(draw, screen->chosen, false);
	draw_line(draw, "", "");
	draw->last = last;
	if (approve_screen_many_count(screen) > 0)
		draw_ticked(draw);
	else if (screen->is_cramped)
		draw_too_small(draw, needed + 1); /* with the last, which is draw_foot()'s */
	else
		draw_keys(draw);
	draw_line(draw, "", "");
}

size_t approve_screen_draw_many_height(const struct approve_screen *screen)
{
	size_t room = draw_room(screen, DRAW_MANY_INDENT), height = draw_words_height(screen);
	const struct screen_question *question;

	if (draw_is_narrow(screen))
		return screen->rows; /* no room */
	TAILQ_FOREACH (question, &screen->questions, entry) {
		auto_free char *to = approve_text_destination(question->question);

		if (question->is_ticked)
			height += (strlen(to) + room - 1) / room;
	}
	return height;
}

/* Each as it is asked, and none of it left out: approve_screen_draw_many_height() has been looked
 * at. */
static void draw_many(struct draw *draw)
{
	const struct approve_screen *screen = draw->screen;
	const struct screen_question *question;

	draw_format(draw, "1", "%s, %s, exactly these %zu:",
		    strcmp(screen->pending.op, "allow") == 0 ? "Allow" : "Deny",
		    screen->pending.scope, approve_screen_many_count(screen));
	TAILQ_FOREACH (question, &screen->questions, entry) {
		auto_free char *to = approve_text_destination(question->question);

		if (question->is_ticked)
			draw_wrapped(draw, "", "  ", to, DRAW_LINE_MAX);
	}
	draw_words(draw);
	draw_line(draw, "", "");
}

static void draw_help(struct draw *draw)
{
	const char *line;

	for (size_t i = 0; (line = approve_screen_keys_help(i)); i++)
		draw_line(draw, "", line);
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

/* The end of them, where all do not fit. */
static void draw_wording(struct draw *draw)
{
	static const char label[] = "Words to whoever asked, then Enter (Esc: not): ";
	const char *typed = draw->screen->typed;
	size_t room = draw->screen->columns, len = strlen(typed), taken = strlen(label);

	room = room > taken ? room - taken : 0;
	draw_format(draw, "1", "%s%s", label, typed + (len > room ? len - room : 0));
}

static void draw_foot(struct draw *draw)
{
	const struct approve_screen *screen = draw->screen;

	while (draw->row < draw->last)
		draw_line(draw, "", "");
	draw->last++;
	if (screen->is_late)
		return draw_line(draw, "1",
				 "That question is over. What you type goes nowhere until Enter or "
				 "Esc.");
	if (screen->is_many) {
		draw_format(draw, "1", "Type yes and Enter (Esc: not): %s", screen->typed);
		return;
	}
	if (screen->is_wording)
		return draw_wording(draw);
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
	size_t len = 0;
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
	} else if (screen->is_many) {
		draw_many(&draw);
	} else if (screen->chosen) {
		draw_chosen(&draw);
	} else {
		draw_line(&draw, "", "");
		if (screen->hidden > 0)
			draw_format(&draw, "1",
				    "%zu more wait. Leave, and begin again, to see them.",
				    screen->hidden);
		else
			draw_line(&draw, "", "Nothing waits. A question appears here by itself.");
		draw_line(&draw, "", "");
	}
	if (!screen->is_help && !screen->is_many)
		draw_past(&draw);
	draw_foot(&draw);
	(void)fclose(draw.out);
	/* The last line of the screen has no line below it to move to. */
	if (len > 2 && memcmp(text + len - 2, "\r\n", 2) == 0)
		len -= 2;
	if (fd_write_all(STDOUT_FILENO, text, len) == 0) /* else nobody sees it: so be it */
		approve_screen_drawn_take(screen);
	free(text);
}
