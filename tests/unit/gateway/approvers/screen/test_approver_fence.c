#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

/* None of these may answer anything, nor be taken for a letter that a later Enter would send. */
static const char *const not_answers[] = {
	"",
	"\r",
	"y",
	"s",
	"x\r",
	"Y\r",
	"yes",
	"\x1b",
	"\x1b[",
	"\x1b[Ay",
	"\x1by\r",
	"\x1bPy\r",
	"\x1b]0;y\r",
	"\x1b[200~y\ry\r",
	"\x9by\r",
	"\220y\r",
	"\x1b[?1;2c",
	"\x1b[>0;276;0c",
	"\x1bP>|XTerm(379)\x1b\\",
	"\x1b[5n",
};

START_TEST(no_answer)
{
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_until_open();
	screen_type(not_answers[_i]);
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_uint_eq(screen.released, 0);
}
END_TEST

START_TEST(type_ahead_is_ignored)
{
	screen_type("y\ry\r"); /* screen.before anything was asked */
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_type("s\rs\r"); /* before the fence */
	ck_assert_ptr_nonnull(strstr(screen_look(), SCREEN_FENCE));
	loop_advance(screen.gw.loop, TTY_FENCE_MS - 1);
	screen_type("a\ra\r" SCREEN_READY "e\re\r"); /* around it */
	screen_type("y");                            /* a letter in the guard, Enter after it */
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("n");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_int_eq(screen.gw.answers[0].answer.action, POLICY_DENY);
}
END_TEST

START_TEST(the_label_says_when_keys_count)
{
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	ck_assert_ptr_nonnull(strstr(screen_look(), "  wait a moment: " SCREEN_FENCE));
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS - 1);
	fake_changed(&screen.gw, "7f3a-1", 2); /* drawn again, in the guard */
	ck_assert_ptr_nonnull(strstr(screen_look(), "  wait a moment: "));
	ck_assert_ptr_null(strstr(screen.text, "answer, then Enter"));
	loop_advance(screen.gw.loop, 1);
	ck_assert_ptr_nonnull(strstr(screen_look(), "  answer, then Enter: "));
	ck_assert_ptr_null(strstr(screen.text, "wait a moment"));
}
END_TEST

START_TEST(terminal_that_never_answers)
{
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_look();
	loop_advance(screen.gw.loop, TTY_FENCE_MS + TTY_GUARD_MS - 1);
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

/* The command asked the screen.terminal for reports without end, and for a "ready" of its own that
 * ends the fence too early: what comes in then are letters, in sequences and (an answerback) bare,
 * for as long as it lasts. */
START_TEST(flood_of_replies)
{
	static const char flood[] =
		"\x1b[?1;2c\x1bP>|yas y\x1b\\\x1b]lyy\x1b\\\x1b[24;80Rya\x1b[0n";

	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_look();
	for (int i = 0; i < 100; i++) {
		screen_type(flood);
		loop_advance(screen.gw.loop, TTY_GUARD_MS - 1);
	}
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("\r"); /* nothing of the flood stands there as a letter */
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

START_TEST(somebody_who_goes_on_typing_gets_through)
{
	fake_ask(&screen.gw, "7f3a-1", "example.org");
	screen_look();
	screen_type(SCREEN_READY);
	for (int64_t spent_ms = 0; spent_ms < TTY_GUARD_MOST_MS + TTY_GUARD_MS; spent_ms += 300) {
		screen_type("y\r");
		loop_advance(screen.gw.loop, 300);
	}
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

/* A terminal that accepts no output has not shown the question, so it cannot answer it. */
START_TEST(terminal_that_is_full)
{
	struct pollfd room = { .fd = screen.mark_fd, .events = POLLOUT };
	char filler[4096];

	/* As the command's own screen.terminal program would have left it; with OPOST the kernel
	 * stops earlier. */
	cfmakeraw(&screen.before);
	ck_assert_int_eq(tcsetattr(screen.slave, TCSANOW, &screen.before), 0);
	memset(filler, '.', sizeof(filler));
	/* The kernel passes some of it on a moment later, and then there is room again. */
	while (write(screen.mark_fd, filler, sizeof(filler)) > 0 ||
	       write(screen.mark_fd, filler, 1) > 0 || poll(&room, 1, 100) > 0)
		;
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, 10 * (TTY_FENCE_MS + TTY_GUARD_MS));
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_uint_eq(screen.held, 1);
	for (int i = 0; i < 5000; i++) { /* and the count does not queue up */
		screen.gw.ops->changed(screen.gw.approver, &screen.gw.questions[0]);
		loop_step(screen.gw.loop);
	}
	ck_assert(screen.gw.ops->is_attached(screen.gw.approver));
	for (int i = 0; i < 100 && !strstr(screen_look(), SCREEN_FENCE); i++)
		;
	ck_assert_ptr_nonnull(strstr(screen.text, SCREEN_FENCE));
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

START_TEST(dumb_terminal)
{
	fake_close(&screen.gw);
	setenv("TERM", _i == 0 ? "dumb" : "", 1);
	fake_open(&screen.gw, &tty_approver);
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	ck_assert_ptr_nonnull(strstr(screen_look(), "sallyport   https://a.test:443\r\n"));
	fake_changed(&screen.gw, "7f3a-1", 2);
	ck_assert_str_eq(screen_look(), "");
	ck_assert_ptr_null(strchr(screen.text, '\x1b'));
	loop_advance(screen.gw.loop, TTY_FENCE_MS + TTY_GUARD_MS);
	screen_type("y\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_ptr_null(strchr(screen_look(), '\x1b'));
}
END_TEST

/* Asks from a background process group, until the session leader moves it to the foreground. */
static int ask_from_the_background(int ready, int front)
{
	char byte = 0;

	if (setpgid(0, 0) < 0 || screen.gw.ops->is_attached(screen.gw.approver))
		return 2;
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	loop_advance(screen.gw.loop, 2 * TTY_RECHECK_MS);
	if (screen.held != 0)
		return 3;
	if (write(ready, &byte, 1) != 1 || read(front, &byte, 1) != 1)
		return 4;
	if (!screen.gw.ops->is_attached(screen.gw.approver))
		return 5;
	loop_advance(screen.gw.loop, TTY_RECHECK_MS);
	if (screen.held != 1)
		return 6;
	fake_retract(&screen.gw, "7f3a-1", "gone");
	return screen.released == 1 ? 0 : 7;
}

/* Leads a session on the terminal, with a job in the background. */
static int lead_a_session(void)
{
	int ready[2], front[2], status = -1;
	char byte = 0;
	pid_t job;

	(void)signal(SIGTTOU, SIG_IGN);
	if (setsid() < 0 || ioctl(screen.slave, TIOCSCTTY, 0) < 0 || pipe(ready) < 0 ||
	    pipe(front) < 0)
		return 8;
	job = fork();
	if (job == 0)
		_exit(ask_from_the_background(ready[1], front[0]));
	fd_close(ready[1]);
	if (read(ready[0], &byte, 1) == 1 && tcsetpgrp(screen.slave, job) == 0)
		(void)!write(front[1], &byte, 1); /* the job says what it saw */
	if (waitpid(job, &status, 0) != job || !WIFEXITED(status))
		return 9;
	return WEXITSTATUS(status);
}

START_TEST(job_in_the_background)
{
	int status = -1;
	pid_t leader = fork();

	if (leader == 0)
		_exit(lead_a_session());
	ck_assert_int_eq(waitpid(leader, &status, 0), leader);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

Suite *suite_tty_fence(void)
{
	Suite *suite = suite_create("tty-fence");
	TCase *tcase = tcase_create("tty-fence");

	tcase_add_checked_fixture(tcase, screen_setup, screen_teardown);
	tcase_add_loop_test(tcase, no_answer, 0, (int)ARRAY_SIZE(not_answers));
	tcase_add_test(tcase, type_ahead_is_ignored);
	tcase_add_test(tcase, the_label_says_when_keys_count);
	tcase_add_test(tcase, terminal_that_never_answers);
	tcase_add_test(tcase, flood_of_replies);
	tcase_add_test(tcase, somebody_who_goes_on_typing_gets_through);
	tcase_add_test(tcase, terminal_that_is_full);
	tcase_add_loop_test(tcase, dumb_terminal, 0, 2);
	tcase_add_test(tcase, job_in_the_background);
	suite_add_tcase(suite, tcase);
	return suite;
}
