/* `sallyport top`: the destinations of all gates of this user, every second. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/tally.h"

#define TOP_EVERY_MS  1000
#define TOP_WAIT_MS   1000 /* for a gate, on a screen: keys wait as long */
#define TOP_ROWS_MAX  16384
#define TOP_NARROW    64 /* columns: a narrower screen shows fewer numbers */
#define TOP_OTHERS    "(other destinations)"
#define TOP_SCREEN    "\033[?1049h\033[?25l"
#define TOP_SCREEN_BY "\033[?25h\033[?1049l"

/* What happened to one destination in one run. */
struct top_row {
	uint64_t open, allowed, denied, failed, up, down;
};
struct top {
	struct tally rows; /* by "RUN  DESTINATION" */
	struct top_row sum;
	size_t runs, waiting;
	char order; /* a key */
	char *note; /* of a run that does not answer; NULL: none */
};

static volatile sig_atomic_t top_is_over;

static void top_end(int signal)
{
	top_is_over = signal;
}

static uint64_t top_number(const json_t *counts, const char *name)
{
	json_int_t number = json_integer_value(json_object_get(counts, name));

	return number > 0 ? (uint64_t)number : 0;
}

static void top_add(struct top_row *row, const json_t *counts)
{
	if (!row)
		return;
	row->allowed += top_number(counts, "allowed");
	row->denied += top_number(counts, "denied") + top_number(counts, "unanswered");
	row->failed += top_number(counts, "failed");
	row->up += top_number(counts, "bytes_up");
	row->down += top_number(counts, "bytes_down");
}

static struct top_row *top_row_of(struct top *top, const char *run, const char *to)
{
	auto_free char *key = mem_printf("%s  %s", run, to);

	return tally_at(&top->rows, key); /* NULL: there are too many */
}

static void top_add_totals(struct top *top, const char *run, const json_t *reply)
{
	const json_t *others = json_object_get(reply, "others"), *counts;
	size_t i;

	json_array_foreach(json_object_get(reply, "totals"), i, counts)
	{
		auto_free char *to = approve_text_destination(counts);

		top_add(top_row_of(top, run, to), counts);
		top_add(&top->sum, counts);
	}
	top_add(&top->sum, others);
	if (top_number(others, "allowed") + top_number(others, "denied") > 0)
		top_add(top_row_of(top, run, TOP_OTHERS), others);
}

static void top_add_live(struct top *top, const char *run, const json_t *reply)
{
	const json_t *live;
	size_t i;

	json_array_foreach(json_object_get(reply, "live"), i, live)
	{
		auto_free char *to = approve_text_destination(live);
		struct top_row *row = top_row_of(top, run, to);

		if (row)
			row->open++;
	}
	top->sum.open += i + top_number(reply, "more");
}

static int top_ask(struct top *top, struct approve_link *link, const char *run, struct err *why)
{
	json_t *totals = NULL, *live = NULL, *questions = json_array();
	int r = approve_link_request(link, json_pack("{s:s}", "op", "totals"), &totals, why);

	if (r == 0)
		r = approve_link_request(link, json_pack("{s:s}", "op", "live"), &live, why);
	if (r == 0)
		r = approve_link_questions(link, questions, why);
	if (r == 0 && !json_is_array(json_object_get(totals, "totals")))
		r = err_set(why, -EPROTO, "the gate of run %s sent a malformed list", run);
	if (r == 0) {
		top_add_totals(top, run, totals);
		top_add_live(top, run, live);
		top->waiting += json_array_size(questions);
		top->runs++;
	}
	json_decref(totals);
	json_decref(live);
	json_decref(questions);
	return r;
}

static void top_forget(struct top *top)
{
	tally_done(&top->rows, NULL);
	tally_init(&top->rows, sizeof(struct top_row), TOP_ROWS_MAX);
	free(top->note);
	*top = (struct top){ .rows = top->rows, .order = top->order };
}

/* A run that does not answer is named, and the others are shown. */
static int top_fill(struct top *top, const char *session, int limit_ms, struct err *why)
{
	auto_free_list char **runs = NULL;
	auto_close int dir = approve_dir_open(why);
	int r = dir < 0 ? -EACCES : approve_dir_runs(dir, session, &runs, why);

	top_forget(top);
	for (char **run = runs; r == 0 && !top_is_over && run && *run; run++) {
		struct approve_link link;
		struct err failed = { 0 };
		int failure = approve_link_open(dir, *run, limit_ms, &link, &failed);

		if (failure == -ECONNREFUSED || failure == -ENOENT)
			continue; /* it has ended */
		if (failure == 0) {
			failure = top_ask(top, &link, *run, &failed);
			approve_link_done(&link);
		}
		if (failure < 0 && !top->note)
			top->note = text_visible_once(failed.text);
	}
	return r;
}

/* Of the order that the last key chose; rows of equal weight stay in the order of their names. */
static int top_compare(const void *left, const void *right, void *arg)
{
	const struct top *top = arg;
	const struct top_row *a = *(const struct top_row *const *)left;
	const struct top_row *b = *(const struct top_row *const *)right;
	uint64_t of_a = top->order == 'o'   ? a->open
			: top->order == 'd' ? a->denied
					    : a->up + a->down;
	uint64_t of_b = top->order == 'o'   ? b->open
			: top->order == 'd' ? b->denied
					    : b->up + b->down;

	if (top->order != 'n' && of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return strcmp(tally_key(a), tally_key(b));
}

/* Returned owned: rows borrowed from @top. */
static struct top_row **top_sorted(struct top *top, size_t *ret_count)
{
	struct top_row **rows = (struct top_row **)tally_rows(&top->rows);

	*ret_count = mem_count_list(rows);
	qsort_r(rows, *ret_count, sizeof(void *), top_compare, top);
	return rows;
}

static void top_json(struct top *top)
{
	size_t count;
	auto_free struct top_row **rows = top_sorted(top, &count);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		const char *key = tally_key(rows[i]), *to = strstr(key, "  ") + 2;
		auto_free char *run = mem_strndup(key, (size_t)(to - key) - 2);

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "run", run,
					"to", to, "open", (json_int_t)rows[i]->open, "allowed",
					(json_int_t)rows[i]->allowed, "denied",
					(json_int_t)rows[i]->denied, "failed",
					(json_int_t)rows[i]->failed, "bytes_up",
					(json_int_t)rows[i]->up, "bytes_down",
					(json_int_t)rows[i]->down)); /* fails only without memory */
	}
	json_t *all = json_pack("{s:I, s:I, s:I, s:o}", "runs", (json_int_t)top->runs, "waiting",
				(json_int_t)top->waiting, "open", (json_int_t)top->sum.open,
				"destinations", list);

	(void)json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	(void)putchar('\n');
	json_decref(all);
}

/* Line @at of the screen, if it has one; @size {0, 0}: there is none, and lines have any length.
 * The last line of a screen has no end, which would scroll it. */
static void top_line(const char *text, size_t at, const struct winsize *size)
{
	if (size->ws_row == 0)
		(void)printf("%s\n", text);
	else if (at < size->ws_row)
		(void)printf("\033[K%.*s%s", (int)size->ws_col, text,
			     at + 1 < size->ws_row ? "\r\n" : "");
}

static char *top_row_text(const struct top_row *row, bool is_narrow)
{
	char up[32], down[32];

	text_bytes(up, sizeof(up), row->up);
	text_bytes(down, sizeof(down), row->down);
	return is_narrow
		       ? mem_printf("%4llu %5llu  %s", (unsigned long long)row->open,
				    (unsigned long long)row->denied, tally_key(row))
		       : mem_printf("%5llu %7llu %7llu %6llu %10s %10s  %s",
				    (unsigned long long)row->open, (unsigned long long)row->allowed,
				    (unsigned long long)row->denied,
				    (unsigned long long)row->failed, up, down, tally_key(row));
}

/* @size: {0, 0}: not a screen, and everything is printed. */
static void top_text(struct top *top, const struct winsize *size)
{
	bool is_screen = size->ws_row > 0, is_narrow = is_screen && size->ws_col < TOP_NARROW;
	char up[32], down[32];
	size_t count, at = 0;
	auto_free struct top_row **rows = top_sorted(top, &count);

	text_bytes(up, sizeof(up), top->sum.up);
	text_bytes(down, sizeof(down), top->sum.down);
	auto_free char *head =
		mem_printf("%zu run%s, %zu question%s waiting, %llu connection%s open", top->runs,
			   top->runs == 1 ? "" : "s", top->waiting, top->waiting == 1 ? "" : "s",
			   (unsigned long long)top->sum.open, top->sum.open == 1 ? "" : "s");
	auto_free char *sums = mem_printf("%llu allowed, %llu denied, %llu failed, %s up, %s down",
					  (unsigned long long)top->sum.allowed,
					  (unsigned long long)top->sum.denied,
					  (unsigned long long)top->sum.failed, up, down);

	top_line(head, at++, size);
	top_line(sums, at++, size);
	if (is_screen)
		top_line(top->note ? top->note : "b bytes  o open  d denied  n name  q quit", at++,
			 size);
	top_line(is_narrow ? "OPEN  DENY  RUN, DESTINATION"
			   : " OPEN ALLOWED  DENIED FAILED         UP       DOWN  RUN, DESTINATION",
		 at++, size);
	for (size_t i = 0; i < count && (!is_screen || at < size->ws_row); i++) {
		auto_free char *text = top_row_text(rows[i], is_narrow);

		top_line(text, at++, size);
	}
	if (!is_screen && top->note)
		(void)cli_fail(0, "%s", top->note);
}

static void top_draw(struct top *top)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	(void)fputs("\033[H", stdout);
	top_text(top, &size);
	(void)fputs("\033[J", stdout);
	(void)fflush(stdout);
}

/* The next key, or 0 when it is time to look again. */
static char top_wait(void)
{
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };
	char key = 0;

	if (poll(&keys, 1, TOP_EVERY_MS) > 0 && read(STDIN_FILENO, &key, 1) <= 0)
		return 'q'; /* the terminal has gone */
	return key;
}

static int top_follow(struct top *top, const char *session)
{
	const struct sigaction ends = { .sa_handler = top_end };
	struct termios before, raw;
	struct err why = { 0 };
	int r = 0;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return cli_fail(CLI_ERROR, "cannot read the terminal's settings: %s",
				strerror(errno));
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VSUSP] = _POSIX_VDISABLE; /* it would leave the screen as it is */
	(void)sigaction(SIGINT, &ends, NULL);
	(void)sigaction(SIGTERM, &ends, NULL);
	(void)sigaction(SIGHUP, &ends, NULL);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	(void)fputs(TOP_SCREEN, stdout);
	while (r == 0 && !top_is_over && !ferror(stdout)) {
		r = top_fill(top, session, TOP_WAIT_MS, &why);
		if (r == 0)
			top_draw(top);
		char key = r == 0 ? top_wait() : 'q';

		if (key == 'q')
			break;
		if (key && strchr("bodn", key))
			top->order = key;
	}
	(void)fputs(TOP_SCREEN_BY, stdout);
	(void)fflush(stdout); /* main() reports what was lost */
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	return r < 0 ? approve_dir_fail(r, &why) : CLI_OK;
}

int cli_top(const struct options *options)
{
	static const struct winsize all;
	const char *session = options_get(options, OPT_OF_SESSION), *term = getenv("TERM");
	bool is_json = options_has(options, OPT_JSON);
	bool is_screen = !is_json && !options_has(options, OPT_TOP_ONCE) && isatty(STDIN_FILENO) &&
			 isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
	struct top top = { .order = 'b' };
	struct err why = { 0 };
	int status;

	tally_init(&top.rows, sizeof(struct top_row), TOP_ROWS_MAX);
	if (is_screen) {
		status = top_follow(&top, session);
	} else {
		int r = top_fill(&top, session, APPROVE_WAIT_MS, &why);

		status = r < 0 ? approve_dir_fail(r, &why) : top.note ? CLI_ERROR : CLI_OK;
		if (r == 0 && is_json)
			top_json(&top);
		else if (r == 0)
			top_text(&top, &all);
	}
	top_forget(&top);
	tally_done(&top.rows, NULL);
	return status;
}
