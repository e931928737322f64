#include "test_approver.h"

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
#include "gateway/approvers/tty.h"

#define SCREEN_MAX 65536
#define FENCE      "\x1b[5n"
#define READY      "\x1b[0n"

static struct gateway gw;
static struct gateway_terminal terminal;
static int master = -1, slave = -1, mark_fd = -1;
static char screen[SCREEN_MAX]; /* all that was written since the last look */
static unsigned int held, released;
static struct termios before;

static void on_hold(void *arg)
{
	held++;
}

static void on_release(void *arg)
{
	released++;
}

/* What a pty's side writes reaches the other a moment later, by the kernel's own worker. So a mark
 * of ours goes after it, and whatever was written before has arrived when the mark has. */
#define MARK '\x1e'

static const char *look(void)
{
	size_t len = 0;
	bool is_marked = false;

	fake_settle(&gw);
	for (;;) {
		struct pollfd readable = { .fd = master, .events = POLLIN };
		char mark = MARK;
		ssize_t got = read(master, screen + len, sizeof(screen) - 1 - len);

		fake_settle(&gw);
		if (got > 0) {
			len += (size_t)got;
			if (screen[len - 1] == MARK)
				break;
			continue;
		}
		if (!is_marked)
			is_marked = write(mark_fd, &mark, 1) == 1;
		ck_assert_int_eq(poll(&readable, 1, 5000), 1);
	}
	screen[len - 1] = '\0';
	return screen;
}

/* All of it has reached the approver's side before the approver looks. */
static void type_bytes(const char *bytes, size_t len)
{
	int there = 0, earlier = 0;

	ck_assert_int_eq(ioctl(slave, FIONREAD, &earlier), 0);
	ck_assert_int_eq(write(master, bytes, len), (ssize_t)len);
	for (int i = 0; i < 5000 && (size_t)(there - earlier) < len; i++) {
		(void)poll(NULL, 0, i > 0); /* 1 ms each, if it takes any */
		ck_assert_int_eq(ioctl(slave, FIONREAD, &there), 0);
	}
	ck_assert_uint_eq((size_t)(there - earlier), len);
	fake_settle(&gw);
}

static void type(const char *text)
{
	type_bytes(text, strlen(text));
}

/* The question is on the screen, the terminal answers the fence, the guard passes. */
static void until_open(void)
{
	ck_assert_ptr_nonnull(strstr(look(), FENCE));
	type(READY);
	loop_advance(gw.loop, TTY_GUARD_MS);
}

static void setup(void)
{
	struct winsize size = { .ws_col = 80, .ws_row = 24 };

	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, &size), 0);
	ck_assert_int_eq(fd_set_nonblocking(master, true), 0);
	mark_fd = open(ttyname(slave), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(mark_fd, 0);
	ck_assert_int_eq(tcgetattr(slave, &before), 0);
	terminal = (struct gateway_terminal){ slave, on_hold, on_release, NULL };
	held = released = 0;
	gw = (struct gateway){ .config = { .terminal = &terminal, .answers_path = "answers" } };
	fake_open(&gw, &tty_approver);
}

static bool is_restored(void)
{
	struct termios now;

	ck_assert_int_eq(tcgetattr(slave, &now), 0);
	return now.c_iflag == before.c_iflag && now.c_oflag == before.c_oflag &&
	       now.c_lflag == before.c_lflag && now.c_cflag == before.c_cflag &&
	       now.c_cc[VMIN] == before.c_cc[VMIN] && now.c_cc[VTIME] == before.c_cc[VTIME];
}

static void teardown(void)
{
	if (gw.approver)
		fake_close(&gw);
	if (master >= 0) {
		ck_assert(is_restored());
		ck_assert_uint_eq(held, released);
	}
	fd_close(master);
	fd_close(slave);
	fd_close(mark_fd);
}

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
	{ "s\r", POLICY_ALLOW, GATEWAY_SESSION, false, "allowed for this session" },
	{ "a\r", POLICY_ALLOW, GATEWAY_ALWAYS, false, "allowed always" },
	{ "n\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "E\r", POLICY_DENY, GATEWAY_EXEC, false, "denied for this command" },
	{ "S\r", POLICY_DENY, GATEWAY_SESSION, false, "denied for this session" },
	{ "D\r", POLICY_DENY, GATEWAY_ALWAYS, false, "denied always" },
	{ "q\r", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "\x03", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "y\x03", POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
	{ "\r\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "\ry\r", POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" },
	{ "yn\r", POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once" }, /* what is echoed counts */
	{ "y\x7fn\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "y\bs\r", POLICY_ALLOW, GATEWAY_SESSION, false, "allowed for this session" },
	{ "\x7f\x7fxYN1 \ts\r", POLICY_ALLOW, GATEWAY_SESSION, false, "allowed for this session" },
	{ "\x1b[Dn\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" }, /* the arrow is no "D" */
	{ "\x1bOSn\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" }, /* F4 is no "S" */
	{ "\x1b[200~y\r\x1b[201~n\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
	{ "\xc3\xa9n\r", POLICY_DENY, GATEWAY_ONCE, false, "denied once" },
};

START_TEST(every_answer)
{
	fake_ask(&gw, "7f3a-1", "example.org");
	until_open();
	type(answers[_i].keys);
	ck_assert_uint_eq(gw.answer_count, 1);
	ck_assert_str_eq(gw.answers[0].id, "7f3a-1");
	ck_assert_int_eq(gw.answers[0].answer.action, answers[_i].action);
	ck_assert_int_eq(gw.answers[0].answer.scope, answers[_i].scope);
	ck_assert_int_eq(gw.answers[0].answer.is_abort, answers[_i].is_abort);
	ck_assert_ptr_nonnull(strstr(gw.answers[0].by, " on tty"));

	auto_free char *line =
		mem_printf("sallyport   https://example.org:443 %s", answers[_i].recorded);
	ck_assert_msg(strstr(look(), line) != NULL, "%s", screen);
	ck_assert_uint_eq(released, 1);
	ck_assert(is_restored());
}
END_TEST

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
	"\x90"
	"y\r",
	"\x1b[?1;2c",
	"\x1b[>0;276;0c",
	"\x1bP>|XTerm(379)\x1b\\",
	"\x1b[5n",
};

START_TEST(no_answer)
{
	fake_ask(&gw, "7f3a-1", "example.org");
	until_open();
	type(not_answers[_i]);
	ck_assert_uint_eq(gw.answer_count, 0);
	ck_assert_uint_eq(released, 0);
}
END_TEST

START_TEST(prompt_text)
{
	fake_ask(&gw, "7f3a-1", "example.org");
	look();
	ck_assert_ptr_nonnull(strstr(screen, "sallyport   https://example.org:443\x1b[0m\r\n"));
	ck_assert_ptr_nonnull(strstr(screen, "asked by  curl -sS https://example.org/\r\n"));
	ck_assert_ptr_nonnull(strstr(screen, "waiting   1 connection, 4m59s left\r\n"));
	ck_assert_ptr_nonnull(
		strstr(screen, "  [y] once  [e] this command  [s] session  [a] always\r\n"));
	ck_assert_ptr_nonnull(strstr(screen, "answer, then Enter: " FENCE));
	ck_assert_uint_eq(held, 1);
}
END_TEST

START_TEST(type_ahead_is_ignored)
{
	type("y\ry\r"); /* before anything was asked */
	fake_ask(&gw, "7f3a-1", "example.org");
	type("s\rs\r"); /* before the fence */
	ck_assert_ptr_nonnull(strstr(look(), FENCE));
	loop_advance(gw.loop, TTY_FENCE_MS - 1);
	type("a\ra\r" READY "e\re\r"); /* around it */
	type("y");                     /* a letter in the guard, Enter after it */
	loop_advance(gw.loop, TTY_GUARD_MS);
	type("\r");
	ck_assert_uint_eq(gw.answer_count, 0);
	type("n\r");
	ck_assert_uint_eq(gw.answer_count, 1);
	ck_assert_int_eq(gw.answers[0].answer.action, POLICY_DENY);
}
END_TEST

START_TEST(terminal_that_never_answers)
{
	fake_ask(&gw, "7f3a-1", "example.org");
	look();
	loop_advance(gw.loop, TTY_FENCE_MS + TTY_GUARD_MS - 1);
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 0);
	loop_advance(gw.loop, TTY_GUARD_MS);
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 1);
}
END_TEST

/* The command asked the terminal for reports without end, and for a "ready" of its own that ends
 * the fence too early: what comes in then are letters, in sequences and (an answerback) bare, for
 * as long as it lasts. */
START_TEST(flood_of_replies)
{
	static const char flood[] =
		"\x1b[?1;2c\x1bP>|yas y\x1b\\\x1b]lyy\x1b\\\x1b[24;80Rya\x1b[0n";

	fake_ask(&gw, "7f3a-1", "example.org");
	look();
	for (int i = 0; i < 100; i++) {
		type(flood);
		loop_advance(gw.loop, TTY_GUARD_MS - 1);
	}
	type("\r");
	ck_assert_uint_eq(gw.answer_count, 0);
	loop_advance(gw.loop, TTY_GUARD_MS);
	type("\r"); /* nothing of the flood stands there as a letter */
	ck_assert_uint_eq(gw.answer_count, 0);
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 1);
}
END_TEST

START_TEST(somebody_who_goes_on_typing_gets_through)
{
	fake_ask(&gw, "7f3a-1", "example.org");
	look();
	type(READY);
	for (int64_t spent_ms = 0; spent_ms < TTY_GUARD_MOST_MS + TTY_GUARD_MS; spent_ms += 300) {
		type("y\r");
		loop_advance(gw.loop, 300);
	}
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 1);
}
END_TEST

START_TEST(hostile_bytes_are_shown)
{
	struct approver_question *question;

	gw.question_count = 0;
	question = fake_ask(&gw, "7f3a-1",
			    "a\x1b[2J\x9b"
			    "1A\xe2\x80\xae.test");
	(void)look();
	fake_retract(&gw, "7f3a-1", "x");
	(void)look();
	question->command_count = 1;
	question->commands[0] = "a \x1b]0;x\x07\r\n  [y] nothing at all\xff";
	question->rule = "f:1: ask \x1b[8m";
	question->because = "\x08\x08\x08";
	gw.question_count = 1;
	gw.ops->ask(gw.approver, question);
	look();
	ck_assert_ptr_nonnull(strstr(screen, "a\\x1b[2J\\x9b1A\\xe2\\x80\\xae.test:443"));
	ck_assert_ptr_nonnull(strstr(screen, "a \\x1b]0;x\\x07\\x0d\\x0a  [y] nothing"));
	ck_assert_ptr_nonnull(strstr(screen, "f:1: ask \\x1b[8m"));
	ck_assert_ptr_nonnull(strstr(screen, "\\x08\\x08\\x08"));
	ck_assert_ptr_null(strstr(screen, "\x1b[2J"));
	ck_assert_ptr_null(strstr(screen, "\x1b]0"));
	ck_assert_ptr_null(strstr(screen, "\x1b[8m"));
	for (const char *at = screen; *at; at++)
		ck_assert_int_ge(*at, 0);
}
END_TEST

START_TEST(questions_wait_their_turn)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	fake_ask(&gw, "7f3a-2", "b.test");
	fake_ask(&gw, "7f3a-3", "c.test");
	until_open();
	ck_assert_ptr_nonnull(strstr(screen, "a.test"));
	ck_assert_ptr_null(strstr(screen, "b.test"));
	ck_assert_ptr_nonnull(strstr(screen, "2 more questions wait"));
	type("s\ry\r"); /* the second answer comes before the second question */
	ck_assert_uint_eq(gw.answer_count, 1);
	ck_assert_uint_eq(released, 0);

	until_open();
	ck_assert_ptr_nonnull(strstr(screen, "b.test"));
	ck_assert_ptr_nonnull(strstr(screen, "1 more question waits"));
	type("n\r");
	until_open();
	ck_assert_ptr_nonnull(strstr(screen, "c.test"));
	ck_assert_ptr_null(strstr(screen, "more question"));
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 3);
	ck_assert_str_eq(gw.answers[2].id, "7f3a-3");
	ck_assert_uint_eq(held, 1);
	ck_assert_uint_eq(released, 1);
}
END_TEST

START_TEST(count_is_rewritten_in_place)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	until_open();
	type("y");
	look();
	fake_changed(&gw, "7f3a-1", 8);
	/* three lines up, the count, and back behind the label and the letter */
	ck_assert_str_eq(look(), "\x1b[3A\r  waiting   8 connections, 4m59s left\x1b[K\x1b[3B\r"
				 "\x1b[23C");
	fake_ask(&gw, "7f3a-2", "b.test");
	ck_assert_ptr_nonnull(strstr(look(), "8 connections, 4m59s left, 1 more question waits"));
	fake_retract(&gw, "7f3a-2", "gone");
	ck_assert_ptr_nonnull(strstr(look(), "8 connections, 4m59s left\x1b[K"));
	type("\r");
	ck_assert_uint_eq(gw.answer_count, 1);
}
END_TEST

START_TEST(settled_elsewhere)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	fake_ask(&gw, "7f3a-2", "b.test");
	until_open();
	type("y");
	fake_retract(&gw, "7f3a-1", "allowed for session by ana on approve");
	look();
	ck_assert_ptr_nonnull(strstr(screen, "\r\n  allowed for session by ana on approve\r\n"));
	ck_assert_ptr_nonnull(strstr(screen, "b.test"));
	type("\r"); /* the letter belonged to the first */
	type(READY);
	loop_advance(gw.loop, TTY_GUARD_MS);
	type("\r");
	ck_assert_uint_eq(gw.answer_count, 0);
	fake_retract(&gw, "7f3a-2", "nobody answered in time");
	ck_assert_ptr_nonnull(strstr(look(), "nobody answered in time"));
	ck_assert_uint_eq(released, 1);
	fake_retract(&gw, "7f3a-9", "unknown");
	ck_assert_str_eq(look(), "");
}
END_TEST

START_TEST(settled_before_it_was_shown)
{
	struct approver_question *question = &gw.questions[0];

	*question = (struct approver_question){ .id = "7f3a-1", .dst = { .host = "a.test" } };
	gw.question_count = 1;
	gw.ops->ask(gw.approver, question);
	fake_retract(&gw, "7f3a-1", "gone");
	ck_assert_str_eq(look(), "");
	ck_assert_uint_eq(held, 0);
}
END_TEST

START_TEST(answer_that_fails_is_asked_again)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	until_open();
	gw.next_result = -EROFS;
	gw.next_why = "answers: read-only\x1b[m";
	type("a\r");
	until_open();
	ck_assert_ptr_nonnull(strstr(screen, "nothing was recorded: answers: read-only\\x1b[m"));
	ck_assert_ptr_nonnull(strstr(screen, "answer, then Enter: "));
	type("s\r");
	ck_assert_uint_eq(gw.answer_count, 2);
	ck_assert_int_eq(gw.answers[1].answer.scope, GATEWAY_SESSION);
	ck_assert_uint_eq(released, 1);
}
END_TEST

/* Finished in the same moment, and the retraction still on its way. */
START_TEST(answer_that_comes_late)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	until_open();
	gw.question_count = 0;
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 0);
	ck_assert_ptr_nonnull(strstr(look(), "finished already"));
	ck_assert_uint_eq(released, 1);
	fake_retract(&gw, "7f3a-1", "gone");
	ck_assert_str_eq(look(), "");
}
END_TEST

START_TEST(gateway_that_does_not_retract_what_we_answered)
{
	gw.is_quiet = true;
	fake_ask(&gw, "7f3a-1", "a.test");
	until_open();
	type("y\r");
	ck_assert_uint_eq(released, 1);
	fake_ask(&gw, "7f3a-2", "b.test");
	until_open();
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 2);
}
END_TEST

START_TEST(window_is_closed)
{
	ck_assert(gw.ops->is_attached(gw.approver));
	if (_i > 0) {
		fake_ask(&gw, "7f3a-1", "a.test");
		if (_i > 1)
			until_open();
	}
	fd_close(master);
	master = -1;
	fake_settle(&gw);
	ck_assert(!gw.ops->is_attached(gw.approver));
	ck_assert_uint_eq(gw.changed_count, _i > 0);
	ck_assert_uint_eq(held, released);
	fake_ask(&gw, "7f3a-2", "b.test");
	if (_i > 0)
		fake_retract(&gw, "7f3a-1", "gone");
	ck_assert_uint_eq(gw.answer_count, 0);
	ck_assert_uint_eq(held, released);
}
END_TEST

START_TEST(close_puts_the_terminal_back)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	if (_i > 0)
		until_open();
	if (_i > 1)
		type("y");
	ck_assert(!is_restored());
	fake_close(&gw);
	gw.approver = NULL;
	ck_assert(is_restored());
	ck_assert_uint_eq(released, 1);
	ck_assert_uint_eq(gw.answer_count, 0);
	gw.loop = loop_new_fake(); /* for look() */
	ck_assert_ptr_nonnull(strstr(look(), "\r\n"));
	loop_free(gw.loop);
}
END_TEST

/* A terminal that takes nothing has shown nothing: there is no question on it to answer. */
START_TEST(terminal_that_is_full)
{
	struct pollfd room = { .fd = mark_fd, .events = POLLOUT };
	char filler[4096];

	/* As the command's own terminal program would have left it; with OPOST the kernel stops
	 * earlier. */
	cfmakeraw(&before);
	ck_assert_int_eq(tcsetattr(slave, TCSANOW, &before), 0);
	memset(filler, '.', sizeof(filler));
	/* The kernel passes some of it on a moment later, and then there is room again. */
	while (write(mark_fd, filler, sizeof(filler)) > 0 || write(mark_fd, filler, 1) > 0 ||
	       poll(&room, 1, 100) > 0)
		;
	fake_ask(&gw, "7f3a-1", "a.test");
	type(READY);
	loop_advance(gw.loop, 10 * (TTY_FENCE_MS + TTY_GUARD_MS));
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 0);
	ck_assert_uint_eq(held, 1);
	for (int i = 0; i < 5000; i++) { /* and the count does not queue up */
		gw.ops->changed(gw.approver, &gw.questions[0]);
		loop_step(gw.loop);
	}
	ck_assert(gw.ops->is_attached(gw.approver));
	for (int i = 0; i < 100 && !strstr(look(), FENCE); i++)
		;
	ck_assert_ptr_nonnull(strstr(screen, FENCE));
	type(READY);
	loop_advance(gw.loop, TTY_GUARD_MS);
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 1);
}
END_TEST

START_TEST(dumb_terminal)
{
	fake_close(&gw);
	setenv("TERM", _i == 0 ? "dumb" : "", 1);
	fake_open(&gw, &tty_approver);
	fake_ask(&gw, "7f3a-1", "a.test");
	ck_assert_ptr_nonnull(strstr(look(), "sallyport   https://a.test:443\r\n"));
	fake_changed(&gw, "7f3a-1", 2);
	ck_assert_str_eq(look(), "");
	ck_assert_ptr_null(strchr(screen, '\x1b'));
	loop_advance(gw.loop, TTY_FENCE_MS + TTY_GUARD_MS);
	type("y\r");
	ck_assert_uint_eq(gw.answer_count, 1);
	ck_assert_ptr_null(strchr(look(), '\x1b'));
}
END_TEST

START_TEST(nowhere_to_keep_an_answer)
{
	fake_close(&gw);
	gw.config.answers_path = NULL;
	fake_open(&gw, &tty_approver);
	fake_ask(&gw, "7f3a-1", "a.test");
	until_open();
	ck_assert_ptr_null(strstr(screen, "always"));
	ck_assert_ptr_null(strstr(screen, "never"));
	type("a\rD");
	ck_assert_uint_eq(gw.answer_count, 0);
	type("y\r");
	ck_assert_int_eq(gw.answers[0].answer.scope, GATEWAY_ONCE);
}
END_TEST

START_TEST(not_a_terminal)
{
	struct gateway_terminal no_terminal = { .fd = open("/dev/null", O_RDWR | O_CLOEXEC) };
	struct gateway_config config = { .terminal = &no_terminal };
	struct err why = { 0 };

	ck_assert_ptr_null(tty_approver.open(&gw, gw.loop, &config, &why));
	ck_assert_str_ne(why.text, "");
	fd_close(no_terminal.fd);
	config.terminal = NULL;
	why.text[0] = '\0';
	ck_assert_ptr_null(tty_approver.open(&gw, gw.loop, &config, &why));
	ck_assert_str_eq(why.text, "");
}
END_TEST

Suite *suite_tty(void)
{
	Suite *suite = suite_create("tty");
	TCase *tcase = tcase_create("tty");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, every_answer, 0, (int)ARRAY_SIZE(answers));
	tcase_add_loop_test(tcase, no_answer, 0, (int)ARRAY_SIZE(not_answers));
	tcase_add_test(tcase, prompt_text);
	tcase_add_test(tcase, type_ahead_is_ignored);
	tcase_add_test(tcase, terminal_that_never_answers);
	tcase_add_test(tcase, flood_of_replies);
	tcase_add_test(tcase, somebody_who_goes_on_typing_gets_through);
	tcase_add_test(tcase, hostile_bytes_are_shown);
	tcase_add_test(tcase, questions_wait_their_turn);
	tcase_add_test(tcase, count_is_rewritten_in_place);
	tcase_add_test(tcase, settled_elsewhere);
	tcase_add_test(tcase, settled_before_it_was_shown);
	tcase_add_test(tcase, answer_that_fails_is_asked_again);
	tcase_add_test(tcase, answer_that_comes_late);
	tcase_add_test(tcase, gateway_that_does_not_retract_what_we_answered);
	tcase_add_loop_test(tcase, window_is_closed, 0, 3);
	tcase_add_loop_test(tcase, close_puts_the_terminal_back, 0, 3);
	tcase_add_test(tcase, terminal_that_is_full);
	tcase_add_loop_test(tcase, dumb_terminal, 0, 2);
	tcase_add_test(tcase, nowhere_to_keep_an_answer);
	tcase_add_test(tcase, not_a_terminal);
	suite_add_tcase(suite, tcase);
	return suite;
}
