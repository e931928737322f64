#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/tty/tty_hold.h"
#include "gateway/approvers/tty/tty_self.h"

static const struct {
	const char *keys;
	enum policy_action action;
	enum gateway_scope scope;
	bool is_abort;
	const char *recorded;
} answers[] = {
	{ "y\r", POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" },
	{ "y\n", POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" },
	{ "e\r", POLICY_ALLOW, GATEWAY_EXEC, false, "allowed for this command" },
	{ "s\r", POLICY_ALLOW, GATEWAY_SESSION, false,
	  "allowed for this session (undo: sallyport approve undo)" },
	{ "a\r", POLICY_ALLOW, GATEWAY_ALWAYS, false, "allowed always" },
	{ "n", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "E\r", POLICY_DENY, GATEWAY_EXEC, false, "denied for this command" },
	{ "S\r", POLICY_DENY, GATEWAY_SESSION, false, "denied for this session" },
	{ "D\r", POLICY_DENY, GATEWAY_ALWAYS, false, "denied always" },
	{ "q\r", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "\x03", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "y\x03", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "\r\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "\ry\r", POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" },
	{ "ys\r", POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" }, /* what is echoed counts */
	{ "yn", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },     /* but n always denies */
	{ "sS\r", POLICY_DENY, GATEWAY_SESSION, false, "denied for this session" },
	{ "sq\r", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "Ds\r", POLICY_DENY, GATEWAY_ALWAYS, false, "denied always" },
	{ "y\x7fn", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "y\bs\r", POLICY_ALLOW, GATEWAY_SESSION, false,
	  "allowed for this session (undo: sallyport approve undo)" },
	{ "\x7f\x7fxYN1 \ts\r", POLICY_ALLOW, GATEWAY_SESSION, false,
	  "allowed for this session (undo: sallyport approve undo)" },
	{ "\x1b[Dn", POLICY_DENY, GATEWAY_ONCE, false, "denied once" }, /* the arrow is no "D" */
	{ "\x1bOSn", POLICY_DENY, GATEWAY_ONCE, false, "denied once" }, /* F4 is no "S" */
	{ "\x1b[200~y\r\x1b[201~n", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "\xc3\xa9n", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
};

START_TEST(every_answer)
{
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_until_open();
	screen_type(answers[_i].keys);
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_str_eq(screen.gw.answers[0].id, "7f3a-1");
	ck_assert_int_eq(screen.gw.answers[0].answer.action, answers[_i].action);
	ck_assert_int_eq(screen.gw.answers[0].answer.scope, answers[_i].scope);
	ck_assert_int_eq(screen.gw.answers[0].answer.is_abort, answers[_i].is_abort);
	ck_assert_ptr_nonnull(strstr(screen.gw.answers[0].by, " on tty"));

	auto_free char *line =
		mem_printf("sallyport   https://example.org:443 %s", answers[_i].recorded);
	ck_assert_msg(strstr(screen_look(), line) != NULL, "%s", screen.text);
	ck_assert_uint_eq(screen.released, 1);
	ck_assert(screen_is_restored());
}
END_TEST

START_TEST(prompt_text)
{
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_look();
	ck_assert_ptr_nonnull(
		strstr(screen.text, "sallyport   https://example.org:443\x1b[0m\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "command   curl -sS https://example.org/\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  denied in 4m59s, 1 connection waits\r\n"));
	ck_assert_ptr_nonnull(strstr(
		screen.text,
		"  allow     y once  e this command  s session  a always  (then Enter)\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "wait a moment: " SCREEN_FENCE));
	ck_assert_uint_eq(screen.held, 1);
}
END_TEST

START_TEST(hostile_bytes_are_shown)
{
	struct approver_question *question;

	screen.gw.question_count = 0;
	question = fake_ask(&screen.gw, "7f3a-1", "a\x1b[2J\2331A\xe2\x80\xae.test");
	(void)screen_look();
	fake_retract(&screen.gw, "7f3a-1", "x");
	(void)screen_look();
	question->command_count = 1;
	question->commands[0] = "a \x1b]0;x\x07\r\n  [y] nothing at all\xff";
	question->rule = "f:1: ask \x1b[8m";
	question->because = "\x08\x08\x08";
	screen.gw.question_count = 1;
	screen.gw.ops->ask(screen.gw.approver, question);
	screen_look();
	ck_assert_ptr_nonnull(strstr(screen.text, "a\\x1b[2J\\x9b1A\\xe2\\x80\\xae.test:443"));
	ck_assert_ptr_nonnull(strstr(screen.text, "a \\x1b]0;x\\x07\\x0d\\x0a  [y] nothing"));
	ck_assert_ptr_nonnull(strstr(screen.text, "f:1: ask \\x1b[8m"));
	ck_assert_ptr_nonnull(strstr(screen.text, "\\x08\\x08\\x08"));
	ck_assert_ptr_null(strstr(screen.text, "\x1b[2J"));
	ck_assert_ptr_null(strstr(screen.text, "\x1b]0"));
	ck_assert_ptr_null(strstr(screen.text, "\x1b[8m"));
	for (const char *at = screen.text; *at; at++)
		ck_assert_int_ge(*at, 0);
}
END_TEST

START_TEST(questions_wait_their_turn)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	fake_ask(&screen.gw, "7f3a-3", "c.test");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "a.test"));
	ck_assert_ptr_null(strstr(screen.text, "b.test"));
	ck_assert_ptr_nonnull(strstr(screen.text, "2 more questions wait"));
	screen_type("s\ry\r"); /* the second answer comes before the second question */
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_uint_eq(screen.released, 0);

	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "b.test"));
	ck_assert_ptr_nonnull(strstr(screen.text, "1 more question waits"));
	screen_type("n");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "c.test"));
	ck_assert_ptr_null(strstr(strstr(screen.text, "c.test"), "more question"));
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 3);
	ck_assert_str_eq(screen.gw.answers[2].id, "7f3a-3");
	ck_assert_uint_eq(screen.held, 1);
	ck_assert_uint_eq(screen.released, 1);
}
END_TEST

/* The first key that counts says that a person is there; what was typed ahead does not. */
START_TEST(the_gateway_knows_that_somebody_types)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_type("y");
	ck_assert_uint_eq(screen.gw.touch_count, 0);
	screen_until_open();
	ck_assert_uint_eq(screen.gw.touch_count, 0);
	screen_type("y");
	ck_assert_uint_eq(screen.gw.touch_count, 1);
	screen_look();
	screen.gw.questions[0].is_touched = true; /* by us, who need not be told */
	fake_changed(&screen.gw, "7f3a-1", 1);
	ck_assert_ptr_nonnull(strstr(screen_look(), "denied in 4m59s, 1 connection waits\r\n"));
	screen_type("\x7fn");
	ck_assert_uint_eq(screen.gw.touch_count, 1);
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	screen_until_open();
	screen_type("n");
	ck_assert_uint_eq(screen.gw.touch_count, 2);
}
END_TEST

START_TEST(count_is_rewritten_in_place)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("y");
	screen_look();
	fake_changed(&screen.gw, "7f3a-1", 8);
	/* up to the title, all of it again, and the letter behind the label */
	ck_assert_int_eq(strncmp(screen_look(), "\x1b[8A\r\x1b[J\x1b[1msallyport", 20), 0);
	ck_assert_ptr_nonnull(strstr(screen.text, "  denied in 4m59s, 8 connections wait\r\n"));
	ck_assert_str_eq(strstr(screen.text, "  answer, then"), "  answer, then Enter: y");
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	ck_assert_ptr_nonnull(
		strstr(screen_look(), "4m59s, 8 connections wait, 1 more question waits"));
	fake_retract(&screen.gw, "7f3a-2", "gone");
	ck_assert_ptr_nonnull(strstr(screen_look(), "4m59s, 8 connections wait\r\n"));
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

START_TEST(settled_elsewhere)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	screen_until_open();
	screen_type("y");
	fake_retract(&screen.gw, "7f3a-1", "allowed for session by ana on approve");
	screen_look();
	ck_assert_ptr_nonnull(
		strstr(screen.text, "a.test:443 allowed for session by ana on approve\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "b.test"));
	screen_type("\r"); /* the letter belonged to the first */
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	fake_retract(&screen.gw, "7f3a-2", "nobody answered in time");
	ck_assert_ptr_nonnull(strstr(screen_look(), "nobody answered in time"));
	ck_assert_uint_eq(screen.released, 1);
	fake_retract(&screen.gw, "7f3a-9", "unknown");
	ck_assert_str_eq(screen_look(), "");
}
END_TEST

START_TEST(settled_before_it_was_shown)
{
	struct approver_question *question = &screen.gw.questions[0];

	*question = (struct approver_question){ .id = "7f3a-1", .dst = { .host = "a.test" } };
	screen.gw.question_count = 1;
	screen.gw.ops->ask(screen.gw.approver, question);
	fake_retract(&screen.gw, "7f3a-1", "gone");
	ck_assert_str_eq(screen_look(), "");
	ck_assert_uint_eq(screen.held, 0);
}
END_TEST

START_TEST(answer_that_fails_is_asked_again)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen.gw.next_result = -EROFS;
	screen.gw.next_why = "answers: read-only\x1b[m";
	screen_type("a\r");
	screen_until_open();
	ck_assert_ptr_nonnull(
		strstr(screen.text, "nothing was recorded: answers: read-only\\x1b[m"));
	ck_assert_ptr_nonnull(strstr(screen.text, "answer, then Enter: "));
	screen_type("s\r");
	ck_assert_uint_eq(screen.gw.answer_count, 2);
	ck_assert_int_eq(screen.gw.answers[1].answer.scope, GATEWAY_SESSION);
	ck_assert_uint_eq(screen.released, 1);
}
END_TEST

/* With all that it was given with. */
START_TEST(answer_that_is_being_written)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen.gw.next_result = -EINPROGRESS;
	screen_type("a\r");
	ck_assert_ptr_nonnull(screen.gw.kept);
	ck_assert_uint_eq(screen.gw.question_count, 1);
	ck_assert_uint_eq(screen.released, 0);
	screen.gw.kept->is_waiting = false;
	screen.gw.kept->fn(screen.gw.kept->arg);
	(void)screen_look();
	ck_assert_uint_eq(screen.gw.answer_count, 2);
	ck_assert_int_eq(screen.gw.answers[1].answer.scope, GATEWAY_ALWAYS);
	ck_assert_str_eq(screen.gw.answers[1].by, screen.gw.answers[0].by);
	ck_assert_uint_eq(screen.gw.question_count, 0);
	ck_assert_uint_eq(screen.released, 1);
}
END_TEST

/* Finished in the same moment, and the retraction still on its way. */
START_TEST(answer_that_comes_late)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen.gw.question_count = 0;
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_ptr_nonnull(strstr(screen_look(), "the question was finished already"));
	ck_assert_uint_eq(screen.released, 1);
	fake_retract(&screen.gw, "7f3a-1", "gone");
	ck_assert_str_eq(screen_look(), "");
}
END_TEST

START_TEST(gateway_that_does_not_retract_what_we_answered)
{
	screen.gw.is_quiet = true;
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("y\r");
	ck_assert_uint_eq(screen.released, 1);
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	screen_until_open();
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 2);
}
END_TEST

START_TEST(window_is_closed)
{
	ck_assert(screen.gw.ops->is_attached(screen.gw.approver));
	if (_i > 0) {
		fake_ask(&screen.gw, "7f3a-1", "a.test");
		if (_i > 1)
			screen_until_open();
	}
	fd_close(screen.master);
	screen.master = -1;
	/* A keeper that was forked a moment ago may hold it for another. */
	ck_assert_int_eq(poll(&(struct pollfd){ .fd = screen.slave }, 1, 5000), 1);
	fake_settle(&screen.gw);
	ck_assert(!screen.gw.ops->is_attached(screen.gw.approver));
	ck_assert_uint_eq(screen.gw.changed_count, _i > 0);
	ck_assert_uint_eq(screen.held, screen.released);
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	if (_i > 0)
		fake_retract(&screen.gw, "7f3a-1", "gone");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_uint_eq(screen.held, screen.released);
}
END_TEST

START_TEST(close_puts_the_terminal_back)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	if (_i > 0)
		screen_until_open();
	if (_i > 1)
		screen_type("y");
	ck_assert(!screen_is_restored());
	fake_close(&screen.gw);
	screen.gw.approver = NULL;
	ck_assert(screen_is_restored());
	ck_assert_uint_eq(screen.released, 1);
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen.gw.loop = loop_new_fake(); /* for screen_look() */
	ck_assert_ptr_nonnull(strstr(screen_look(), "\r\n"));
	loop_free(screen.gw.loop);
}
END_TEST

START_TEST(nowhere_to_keep_an_answer)
{
	fake_close(&screen.gw);
	screen.gw.config.answers_path = NULL;
	fake_open(&screen.gw, &tty_approver);
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	ck_assert_ptr_null(strstr(screen.text, "always"));
	ck_assert_ptr_null(strstr(screen.text, "never"));
	screen_type("a\rD");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("y\r");
	ck_assert_int_eq(screen.gw.answers[0].answer.scope, GATEWAY_ONCE);
}
END_TEST

START_TEST(not_a_terminal)
{
	struct gateway_terminal no_terminal = { .fd = open("/dev/null", O_RDWR | O_CLOEXEC) };
	struct gateway_config config = { .terminal = &no_terminal };
	struct err why = { 0 };

	ck_assert_ptr_null(tty_approver.open(&screen.gw, screen.gw.loop, &config, &why));
	ck_assert_str_ne(why.text, "");
	fd_close(no_terminal.fd);
	config.terminal = NULL;
	why.text[0] = '\0';
	ck_assert_ptr_null(tty_approver.open(&screen.gw, screen.gw.loop, &config, &why));
	ck_assert_str_eq(why.text, "");
}
END_TEST

Suite *suite_tty(void)
{
	Suite *suite = suite_create("tty");
	TCase *tcase = tcase_create("tty");

	tcase_add_checked_fixture(tcase, screen_setup, screen_teardown);
	tcase_add_loop_test(tcase, every_answer, 0, (int)ARRAY_SIZE(answers));
	tcase_add_test(tcase, prompt_text);
	tcase_add_test(tcase, hostile_bytes_are_shown);
	tcase_add_test(tcase, questions_wait_their_turn);
	tcase_add_test(tcase, the_gateway_knows_that_somebody_types);
	tcase_add_test(tcase, count_is_rewritten_in_place);
	tcase_add_test(tcase, settled_elsewhere);
	tcase_add_test(tcase, settled_before_it_was_shown);
	tcase_add_test(tcase, answer_that_fails_is_asked_again);
	tcase_add_test(tcase, answer_that_is_being_written);
	tcase_add_test(tcase, answer_that_comes_late);
	tcase_add_test(tcase, gateway_that_does_not_retract_what_we_answered);
	tcase_add_loop_test(tcase, window_is_closed, 0, 3);
	tcase_add_loop_test(tcase, close_puts_the_terminal_back, 0, 3);
	tcase_add_test(tcase, nowhere_to_keep_an_answer);
	tcase_add_test(tcase, not_a_terminal);
	suite_add_tcase(suite, tcase);
	return suite;
}
