#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "gateway/approvers/tty/tty_turn.h"

/* @count questions at once, two of every domain: 1 and 4 belong together, 2 and 5, 3 and 6. */
static void ask_many(unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct approver_question *question = &screen.gw.questions[i];

		*question = (struct approver_question){
			.dst = { .protocol = POLICY_HTTPS, .port = 443 },
			.waiting = i + 1,
			.command_count = 1,
			.commands = { "npm ci" },
			.rule = "",
			.because = "",
			.warning = "",
			.program = "",
			.chain = "",
			.left_ms = 299000,
			.is_shared = true,
		};
		(void)snprintf(question->id, sizeof(question->id), "7f3a-%u", i + 1);
		(void)snprintf(question->dst.host, sizeof(question->dst.host), "h%u.d%u.test",
			       i + 1, i % 3);
		(void)snprintf(question->typed, sizeof(question->typed), "d%u.test", i % 3);
	}
	screen.gw.question_count = count;
	screen.gw.ops->ask(screen.gw.approver, &screen.gw.questions[0]);
}

/* After g, each row has its line. Rows are by domain: 1 and 4, 2 and 5, 3 and 6, numbered 1 to 6
 * from the top. */
static const struct {
	const char *keys, *ids; /* of what was answered, in order */
	enum policy_action action;
} lists[] = {
	{ "", "", 0 },
	{ "\r\r\r", "", 0 }, /* Enter alone answers nothing */
	{ "y\r", "", 0 },    /* nothing is ticked */
	{ " y\r", "1", POLICY_ALLOW },
	{ "1 y\r", "1", POLICY_ALLOW },
	{ "2 y\r", "4", POLICY_ALLOW },
	{ "2 2 y\r", "", 0 }, /* ticked and unticked */
	{ "9 y\r", "", 0 },
	{ "9 1 s\r", "1", POLICY_ALLOW },
	{ "1 3 6 n", "1 2 6", POLICY_DENY },
	{ "jj s\r", "2", POLICY_ALLOW },
	{ "jjk s\r", "4", POLICY_ALLOW },
	{ "\x1b[B\x1b[B\x1b[A s\r", "4", POLICY_ALLOW }, /* the arrows */
	{ "g e\r", "1 4", POLICY_ALLOW }, /* g puts the rows of one domain together */
	{ "g  e\r", "", 0 },
	{ "g5 e\r", "3 6", POLICY_ALLOW },
	{ "gj s\r", "2 5", POLICY_ALLOW },
	{ "gjjjk n", "2 5", POLICY_DENY },
	{ "1 g s\r", "", 0 }, /* the ticked one has its own line */
	{ "1 gj s\r", "1 4", POLICY_ALLOW },
	{ "An", "1 4 2 5 3 6", POLICY_DENY },
	{ "A2 s\r", "1 2 5 3 6", POLICY_ALLOW },
	{ "AAn", "", 0 },
	{ "*D\r", "1 4 2 5 3 6", POLICY_DENY },
	{ "**D\r", "", 0 },
	{ "*1 s\r", "4 2 5 3 6", POLICY_ALLOW },
	{ "1 ys\r", "1", POLICY_ALLOW }, /* what is echoed counts */
	{ "1 yn", "1", POLICY_DENY },    /* but n always denies */
	{ "1 y\x7fn", "1", POLICY_DENY },
	{ "12\x7f s\r", "1", POLICY_ALLOW },
	{ "\x1b[200~*y\r\x1b[201~", "", 0 },
	{ "\x03", "1 4 2 5 3 6", POLICY_DENY },
};

static void check_answered(const char *ids, enum policy_action action)
{
	char got[512] = "";

	for (size_t i = 0; i < screen.gw.answer_count; i++) {
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s",
			       i > 0 ? " " : "", screen.gw.answers[i].id + strlen("7f3a-"));
		ck_assert_int_eq(screen.gw.answers[i].answer.action, action);
		ck_assert(!screen.gw.answers[i].answer.width.is_domain);
	}
	ck_assert_str_eq(got, ids);
}

START_TEST(list_answers_what_is_ticked)
{
	ask_many(6);
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(
		screen.text, "sallyport   6 questions wait, 3 domains; denied from 4m59s on"));
	ck_assert_ptr_nonnull(strstr(screen.text, ">   1 [ ]     d0.test, 2 hosts\r\n"
						  "      https://{h1,h4}.d0.test:443\r\n"));
	screen_type("g");
	(void)screen_look();
	ck_assert_ptr_nonnull(strstr(screen.text, ">   1 [ ]     https://h1.d0.test:443\r\n"));
	ck_assert_ptr_nonnull(
		strstr(screen.text, "    2 [ ]     https://h4.d0.test:443  4 connections\r\n"));
	ck_assert_ptr_null(strstr(screen.text, "[x]"));
	screen_type(lists[_i].keys);
	check_answered(lists[_i].ids, lists[_i].action);
}
END_TEST

/* 2 (h4) and 4 (h5) are risky, and 3 (h2) has a name that does not fit. */
static const struct {
	const char *keys, *ids;
	enum policy_action action;
} alone[] = {
	{ "2 y\r", "", 0 },
	{ "2 y\r\r\ry\r", "", 0 },
	{ "2 y\rd1.test\r", "", 0 },
	{ "2 y\rd0.test\r", "4", POLICY_ALLOW },
	{ "2 y\rno\rd0.test\r", "4", POLICY_ALLOW },
	{ "1 2 s\rd0.test\r", "1 4", POLICY_ALLOW },
	{ "2 4 s\rd0.test\r", "", 0 }, /* and the other one */
	{ "2 4 s\rd0.test\rd0.test\r", "", 0 },
	{ "2 4 s\rd0.test\rd1.test\r", "4 5", POLICY_ALLOW },
	{ "2 4 s\rd0.test\r\r4 s\r", "", 0 }, /* given up: it is typed again */
	{ "2 4 s\rd0.test\r\r4 s\rd0.test\r", "4", POLICY_ALLOW },
	{ "2 s\r\x1b[200~d0.test\r\x1b[201~\r", "", 0 },
	{ "3 y\r", "", 0 },
	{ "3 y\raaa\r", "", 0 },
	{ "1 3 s\r", "", 0 },
	{ "2 n", "4", POLICY_DENY },
	{ "3 n", "2", POLICY_DENY },
	{ "2 sS\r", "4", POLICY_DENY },
	{ "1 Ss\r", "1", POLICY_DENY },
	{ "*s\r", "1 3 6", POLICY_ALLOW },    /* never along with others */
	{ "An", "1 4 2 5 3 6", POLICY_DENY }, /* with one key, whatever they are */
	{ "A3 s\rd0.test\rd1.test\r", "1 4 5 3 6", POLICY_ALLOW },
	{ "g s\rd0.test\r", "1 4", POLICY_ALLOW },
	{ "1 2 2 s\r", "1", POLICY_ALLOW },
};

START_TEST(risky_ones_are_named_one_by_one)
{
	ask_many(6);
	screen.gw.questions[3].risk = APPROVER_LOOKALIKE;
	screen.gw.questions[4].risk = APPROVER_LISTED;
	screen.gw.questions[5].risk = APPROVER_FIRST_SEEN; /* which is only marked */
	memset(screen.gw.questions[1].dst.host, 'a', 230);
	for (int i = 60; i < 230; i += 60)
		screen.gw.questions[1].dst.host[i] = '.';
	screen_until_open();
	ck_assert_ptr_nonnull(
		strstr(screen.text, "1 [ ] (!) d0.test, 2 hosts  looks like another"));
	ck_assert_ptr_nonnull(strstr(screen.text, "5 [ ] NEW d2.test, 2 hosts\x1b[0m\r\n"));
	screen_type("g");
	(void)screen_look();
	ck_assert_ptr_nonnull(
		strstr(screen.text, "2 [ ] (!) https://h4.d0.test:443  looks like another"));
	ck_assert_ptr_nonnull(strstr(screen.text, "6 [ ] NEW https://h6.d2.test:443"));
	for (const char *key = alone[_i].keys; *key; key++) {
		screen_type((char[]){ *key, '\0' });
		(void)screen_look(); /* or the terminal fills up */
	}
	check_answered(alone[_i].ids, alone[_i].action);
}
END_TEST

/* The long hosts of a domain are shown whole and allowed together, in the smallest window. */
START_TEST(long_hosts_in_a_small_window)
{
	struct winsize size = { .ws_col = 40, .ws_row = 12 };

	ck_assert_int_eq(ioctl(screen.slave, TIOCSWINSZ, &size), 0);
	ask_many(6);
	for (unsigned int i = 0; i < 6; i += 3)
		(void)snprintf(screen.gw.questions[i].dst.host, POLICY_HOST_MAX,
			       "a-long-name-of-a-host-that-goes-on-and-on.and-on.h%u.d0.test",
			       i + 1);
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "sallyport   6 wait; denied in 4m59s"));
	for (const char *key = " j s"; *key; key++) {
		screen_type((char[]){ *key, '\0' });
		(void)screen_look();
	}
	ck_assert_ptr_nonnull(strstr(screen.text, "selected  2 of 6"));
	screen_type("\r"); /* the second was not seen along with the first */
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_ptr_nonnull(strstr(screen_look(), ">   2 [x]     https://a-long-name-of-a-"));
	screen_type("\r");
	check_answered("1 4", POLICY_ALLOW);
}
END_TEST

START_TEST(view_asks_for_one_alone)
{
	ask_many(6);
	screen.gw.questions[3].risk = APPROVER_LISTED;
	screen_until_open();
	screen_type("2vy\rd0.test\r"); /* what was typed ahead does not count */
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_ptr_nonnull(strstr(screen_look(), "sallyport   https://h4.d0.test:443"));
	ck_assert_ptr_nonnull(strstr(screen.text, SCREEN_FENCE));
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("y\rd0.test\r");
	check_answered("4", POLICY_ALLOW);
	screen_until_open(); /* the rest is a list again, with nothing ticked */
	ck_assert_ptr_nonnull(strstr(screen.text, "sallyport   5 questions wait"));
	ck_assert_ptr_null(strstr(screen.text, "[x]"));
}
END_TEST

/* What happens to other questions in between does not bring the list, or another question. */
START_TEST(view_stays_with_the_one_that_was_asked_for)
{
	ask_many(3);
	screen_until_open();
	screen_type("l");
	screen_until_open();
	tty_turn_switch(screen.gw.approver, "7f3a-2");
	tty_turn_say(screen.gw.approver, "run 5d5d has ended"); /* nothing is shown yet */
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "run 5d5d has ended"));
	ck_assert_ptr_nonnull(strstr(screen.text, "sallyport   https://h2.d1.test:443"));
	screen_type("l");
	screen_until_open();
	screen_type("3v");
	ck_assert_ptr_nonnull(strstr(screen_look(), "sallyport   https://h3.d2.test:443"));
	fake_ask(&screen.gw, "7f3a-4", "b.test"); /* keys have no effect yet */
	fake_ask(&screen.gw, "7f3a-5", "b.test");
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	ck_assert_ptr_null(strstr(screen_look(), "questions wait, "));
	screen_type("y\r");
	check_answered("3", POLICY_ALLOW);
}
END_TEST

START_TEST(list_on_demand)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("l");
	ck_assert_uint_eq(screen.held, 1);
	ck_assert_ptr_null(strstr(screen_look(), "questions wait")); /* there is one only */
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	screen_type("l");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "sallyport   2 questions wait"));
	screen_type("*y\r");
	check_answered("1 2", POLICY_ALLOW);
	ck_assert_uint_eq(screen.released, 1);
}
END_TEST

/* The first of many is on the screen for an instant only; keys for it do not reach the list. */
START_TEST(list_takes_the_place_of_a_fresh_question)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	ck_assert_ptr_nonnull(strstr(screen_look(), "sallyport   https://a.test:443"));
	for (unsigned int i = 2; i <= TTY_LIST_LEAST; i++) {
		char id[16];

		(void)snprintf(id, sizeof(id), "7f3a-%u", i);
		fake_ask(&screen.gw, id, "b.test");
	}
	ck_assert_ptr_nonnull(strstr(screen_look(), "sallyport   4 questions wait"));
	screen_type(SCREEN_READY); /* to the first status request, of two */
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("*y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("1 y\r");
	check_answered("1", POLICY_ALLOW);
}
END_TEST

/* Numbers are kept: what goes leaves a gap, what comes goes to the end. */
START_TEST(list_keeps_its_numbers)
{
	ask_many(6);
	screen_until_open();
	screen_type("g2 ");
	(void)screen_look();
	fake_retract(&screen.gw, "7f3a-1", "gone");
	fake_ask(&screen.gw, "7f3a-9", "h9.d0.test");
	ck_assert_ptr_nonnull(strstr(screen_look(), ">   2 [x]     https://h4.d0.test:443"));
	ck_assert_ptr_nonnull(strstr(screen.text, "    7 [ ]     https://h9.d0.test:443"));
	ck_assert_ptr_null(strstr(screen.text, "    1 ["));
	screen_type("1 7 3 s\r");
	check_answered("4 2 9", POLICY_ALLOW);
}
END_TEST

/* Nothing happens but that time passes. */
START_TEST(list_counts_down)
{
	ask_many(6);
	screen_until_open();
	for (size_t i = 0; i < screen.gw.question_count; i++)
		screen.gw.questions[i].left_ms = 100000;
	loop_advance(screen.gw.loop, TTY_TICK_MS);
	ck_assert_ptr_nonnull(strstr(screen_look(), "3 domains; denied from 1m40s on"));
}
END_TEST

START_TEST(list_that_empties)
{
	ask_many(5);
	screen_until_open();
	screen_type("*s");
	for (int i = 1; i <= 5; i++) {
		char id[24];

		(void)snprintf(id, sizeof(id), "7f3a-%d", i);
		fake_retract(&screen.gw, id, "nobody answered in time");
	}
	ck_assert_ptr_nonnull(strstr(screen_look(), "no question is left"));
	ck_assert_uint_eq(screen.released, 1);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
}
END_TEST

START_TEST(answer_that_fails_in_a_list)
{
	ask_many(4);
	screen_until_open();
	screen.gw.next_result = -EROFS;
	screen.gw.next_why = "read-only";
	screen_type("*a\r"); /* the first of four cannot be written */
	ck_assert_uint_eq(screen.gw.answer_count, 4);
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "nothing was recorded: read-only"));
	screen_type("y\r");
	ck_assert_str_eq(screen.gw.answers[4].id, "7f3a-1");
}
END_TEST

/* More than fit, on the screen and in the list: the cursor is always on the screen. */
START_TEST(long_list)
{
	ask_many(300);
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "sallyport   128 questions wait"));
	ck_assert_ptr_nonnull(strstr(screen.text, "and 172 more, after these"));
	screen_type("g");
	(void)screen_look();
	ck_assert_ptr_nonnull(strstr(screen.text, "0 above, "));
	screen_type("100 "); /* it was not on the screen: now it is */
	(void)screen_look();
	ck_assert_ptr_nonnull(strstr(screen.text, "> 100 [ ]"));
	ck_assert_ptr_nonnull(strstr(screen.text, "100 was not on the screen"));
	screen_type("100");
	(void)screen_look();
	screen_type(" ");
	(void)screen_look();
	ck_assert_ptr_nonnull(strstr(screen.text, "> 100 [x]"));
	unsigned int lines = 0;

	for (const char *at = screen.text; (at = strstr(at, "\r\n")); at += 2)
		lines++;
	ck_assert_uint_le(lines, 22);
	screen_type("*y\r"); /* those on the screen, and no other */
	ck_assert_uint_gt(screen.gw.answer_count, 2);
	ck_assert_uint_lt(screen.gw.answer_count, 20);
	ck_assert_ptr_nonnull(strstr(screen_look(), "sallyport   128 questions wait"));
}
END_TEST

Suite *suite_tty_list(void)
{
	Suite *suite = suite_create("tty-list");
	TCase *tcase = tcase_create("tty-list");

	tcase_add_checked_fixture(tcase, screen_setup, screen_teardown);
	tcase_add_loop_test(tcase, list_answers_what_is_ticked, 0, (int)ARRAY_SIZE(lists));
	tcase_add_loop_test(tcase, risky_ones_are_named_one_by_one, 0, (int)ARRAY_SIZE(alone));
	tcase_add_test(tcase, long_hosts_in_a_small_window);
	tcase_add_test(tcase, view_asks_for_one_alone);
	tcase_add_test(tcase, view_stays_with_the_one_that_was_asked_for);
	tcase_add_test(tcase, list_on_demand);
	tcase_add_test(tcase, list_takes_the_place_of_a_fresh_question);
	tcase_add_test(tcase, list_keeps_its_numbers);
	tcase_add_test(tcase, list_counts_down);
	tcase_add_test(tcase, list_that_empties);
	tcase_add_test(tcase, answer_that_fails_in_a_list);
	tcase_add_test(tcase, long_list);
	suite_add_tcase(suite, tcase);
	return suite;
}
