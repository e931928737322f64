#include "gateway/approvers/remote/far_question.h"
#include "tests/unit/gateway/approvers/test_approver.h"

#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/tty/tty_hold.h"
#include "gateway/approvers/tty/tty_self.h"
#include "gateway/gateway_far.h"

#define DESTINATION "\"protocol\":\"https\",\"host\":\"a.test\",\"port\":443"
#define BEGAN       "{\"id\":1,\"ok\":true,\"questions\":[" WHOLE "]}\n"
#define ENDED                                                                                      \
	"{\"event\":\"retracted\",\"question\":{\"id\":\"7f3a21-1\"},\"how\":\"denied by ana\"}\n"
#define WHOLE "{\"id\":\"7f3a21-1\"," DESTINATION ",\"typed\":\"a.test\"}"

static struct far_question *read_text(const char *text)
{
	json_t *object = json_loads(text, 0, NULL);
	struct far_question *question = far_question_new(object, 1000);

	json_decref(object);
	return question;
}

static const struct {
	const char *text;
	bool is_one;
} texts[] = {
	{ WHOLE, true },
	{ "{" DESTINATION ",\"typed\":\"a.test\"}", false },
	{ "{\"id\":\"\"," DESTINATION ",\"typed\":\"a.test\"}", false },
	{ "{\"id\":\"7f3a21-111111111111111111\"," DESTINATION ",\"typed\":\"a.test\"}", false },
	{ "{\"id\":\"7f3a21-1\"," DESTINATION "}", false }, /* an allow could not be held back */
	{ "{\"id\":\"7f3a21-1\",\"protocol\":\"https\",\"host\":\"A.test\",\"port\":443,"
	  "\"typed\":\"a.test\"}",
	  false }, /* what is shown is what is granted, to the letter */
	{ "{\"id\":\"7f3a21-1\",\"protocol\":\"https\",\"host\":\"a test\",\"port\":443,"
	  "\"typed\":\"a.test\"}",
	  false },
	{ "{\"id\":\"7f3a21-1\",\"protocol\":\"gopher\",\"host\":\"a.test\",\"port\":443,"
	  "\"typed\":\"a.test\"}",
	  false },
	{ "[]", false },
	{ "{}", false },
};

START_TEST(a_question_is_read_whole_or_not_at_all)
{
	struct far_question *question = read_text(texts[_i].text);

	ck_assert_int_eq(question != NULL, texts[_i].is_one);
	if (question)
		far_question_free(question);
}
END_TEST

START_TEST(a_question_keeps_what_it_says)
{
	struct approver_question shown;
	struct far_question *ours = read_text(
		"{\"id\":\"7f3a21-1\",\"protocol\":\"tcp\",\"host\":\"2001:db8::1\",\"port\":22,"
		"\"waiting\":3,\"commands\":[\"ls\",\"cat x\"],\"command_count\":5,\"age_s\":2,"
		"\"left_s\":9,\"rule\":\"r\",\"because\":\"b\",\"private\":true,\"touched\":true,"
		"\"risk\":[\"literal\",\"something "
		"new\"],\"warning\":\"w\",\"typed\":\"2001:db8::1\","
		"\"times\":2,\"program\":\"/bin/ls\",\"chain\":\"sh > ls\",\"plea\":\"p\"}");

	ck_assert_ptr_nonnull(ours);
	far_question_look(ours, 4000, &shown); /* three seconds later */
	ck_assert_str_eq(shown.id, "7f3a21-1");
	ck_assert_int_eq(shown.dst.protocol, POLICY_TCP);
	ck_assert_str_eq(shown.dst.host, "2001:db8::1");
	ck_assert_uint_eq(shown.dst.port, 22);
	ck_assert_uint_eq(shown.waiting, 3);
	ck_assert_uint_eq(shown.command_count, 5);
	ck_assert_str_eq(shown.commands[1], "cat x");
	ck_assert_str_eq(shown.commands[4], ""); /* counted, and not there: no crash */
	ck_assert_int_eq(shown.age_ms, 5000);
	ck_assert_int_eq(shown.left_ms, 6000);
	ck_assert(shown.is_private);
	ck_assert(shown.is_touched);
	/* What we do not know is a risk as well. */
	ck_assert_uint_eq(shown.risk, APPROVER_LITERAL | APPROVER_LISTED);
	ck_assert_str_eq(shown.warning, "w");
	ck_assert_str_eq(shown.program, "/bin/ls");
	ck_assert_str_eq(shown.plea, "p");
	far_question_look(ours, 1000000, &shown);
	ck_assert_int_eq(shown.left_ms, 0);
	far_question_free(ours);
}
END_TEST

static const struct {
	struct approver_answer answer;
	const char *want;
} answers[] = {
	{ { .action = POLICY_ALLOW, .scope = GATEWAY_ONCE },
	  "{\"confirm\":\"\",\"op\":\"allow\",\"question\":\"7f3a21-1\",\"scope\":\"once\"}" },
	{ { .action = POLICY_DENY, .scope = GATEWAY_SESSION, .shown = "https://a.test:443" },
	  "{\"op\":\"deny\",\"question\":\"7f3a21-1\",\"scope\":\"session\","
	  "\"text\":\"https://a.test:443\"}" },
	{ { .action = POLICY_ALLOW, .scope = GATEWAY_ONCE, .typed = "a.test" },
	  "{\"confirm\":\"a.test\",\"op\":\"allow\",\"question\":\"7f3a21-1\",\"scope\":"
	  "\"once\"}" },
	{ { .action = POLICY_DENY, .scope = GATEWAY_SESSION },
	  "{\"op\":\"deny\",\"question\":\"7f3a21-1\",\"scope\":\"session\"}" },
	{ { .action = POLICY_DENY, .is_abort = true },
	  "{\"op\":\"abort\",\"question\":\"7f3a21-1\"}" },
	{ { .action = POLICY_ALLOW,
	    .scope = GATEWAY_ALWAYS,
	    .words = "go on",
	    .typed = "a.test",
	    .shown = "https://**.a.test:*",
	    .width = { true, true, true, 3600, 65536, 0, 2 } },
	  "{\"confirm\":\"a.test\",\"connections\":2,\"for\":\"3600s\",\"host\":\"domain\","
	  "\"op\":\"allow\",\"ports\":\"all\",\"program\":\"this\",\"question\":\"7f3a21-1\","
	  "\"scope\":\"always\",\"text\":\"https://**.a.test:*\",\"upload\":65536,\"words\":\"go "
	  "on\"}" },
	{ { .action = POLICY_DENY, .is_abort = true, .words = "no\"" },
	  "{\"op\":\"abort\",\"question\":\"7f3a21-1\",\"words\":\"no\\\"\"}" },
	{ { .action = POLICY_DENY, .words = "" },
	  "{\"op\":\"deny\",\"question\":\"7f3a21-1\",\"scope\":\"once\"}" },
};

START_TEST(an_answer_is_exactly_as_wide_as_it_was_given)
{
	struct far_question *question = read_text(WHOLE);
	json_t *request = far_question_answer(&question->question, &answers[_i].answer);
	auto_free char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_str_eq(text, answers[_i].want);
	json_decref(request);
	far_question_free(question);
}
END_TEST

/* A terminal whose questions are a session's, which is the test. */
static struct {
	struct loop *loop;
	struct gateway_far *far;
	int master, slave, session, other;
	unsigned int lost, left;
	char text[16384];
} stage;

static void on_lost(bool is_greeted, void *arg)
{
	stage.lost++;
}

static void on_left(void *arg)
{
	stage.left++;
}

static const struct gateway_far_watch watch = { on_lost, on_left };

/* Returns the session's end. */
static int stage_add(const char *run, const char *heard)
{
	struct err why = { 0 };
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ck_assert_msg(gateway_far_add(stage.far, run, fds[0], heard, &why) == 0, "%s", why.text);
	ck_assert(gateway_far_has(stage.far, run));
	return fds[1];
}

/* @of_several: NULL: the terminal is a command's. */
static void stage_open(const struct gateway_far_watch *of_several)
{
	static struct gateway_terminal terminal;
	struct winsize size = { .ws_col = 80, .ws_row = 24 };
	struct err why = { 0 };

	setenv("TERM", "xterm", 1);
	unsetenv("TMUX");
	ck_assert_int_eq(openpty(&stage.master, &stage.slave, NULL, NULL, &size), 0);
	ck_assert_int_eq(fd_set_nonblocking(stage.master, true), 0);
	stage.loop = loop_new_fake();
	terminal = (struct gateway_terminal){ .fd = stage.slave };
	stage.far = gateway_far_new(stage.loop,
				    &(struct gateway_far_config){ .terminal = &terminal,
								  .run = "7f3a21",
								  .watch = of_several },
				    &why);
	ck_assert_msg(stage.far != NULL, "%s", why.text);
}

static void stage_close(void)
{
	gateway_far_free(stage.far);
	loop_free(stage.loop);
	(void)close(stage.master);
	(void)close(stage.slave);
	(void)close(stage.session);
}

/* Until the terminal shows @text; what comes over a pty takes its time. */
static void stage_shows(const char *text)
{
	size_t len = strlen(stage.text);

	for (int i = 0; i < 5000 && !strstr(stage.text, text); i++) {
		ssize_t got;

		for (int step = 0; step < 4; step++)
			loop_step(stage.loop);
		got = read(stage.master, stage.text + len, sizeof(stage.text) - 1 - len);
		if (got > 0)
			len += (size_t)got;
		else
			(void)poll(NULL, 0, 1);
		stage.text[len] = '\0';
	}
	ck_assert_msg(strstr(stage.text, text) != NULL, "never \"%s\" but: %s", text, stage.text);
}

static void stage_type(const char *keys, const char *shows)
{
	stage.text[0] = '\0';
	ck_assert_int_eq(write(stage.master, keys, strlen(keys)), (ssize_t)strlen(keys));
	stage_shows(shows);
}

/* The session answers after the terminal has given up waiting: what it did is said all the same. */
START_TEST(an_answer_that_is_confirmed_late)
{
	static const char *const replies[][2] = {
		{ "{\"id\":4,\"ok\":true}\n", "https://a.test:443 allowed once" },
		{ "{\"id\":4,\"ok\":false,\"code\":\"finished\",\"error\":\"over\"}\n",
		  "https://a.test:443: the question was finished already" },
		{ "{\"id\":4,\"ok\":false,\"code\":\"failed\",\"error\":\"disk full\"}\n",
		  "https://a.test:443: nothing was recorded: disk full" },
	};

	stage_open(NULL);
	stage.session = stage_add("7f3a21", BEGAN);
	stage_shows("wait a moment: ");
	loop_advance(stage.loop, TTY_FENCE_MS);
	loop_advance(stage.loop, TTY_GUARD_MS);
	stage_shows("answer, then Enter: ");
	stage_type("y", "answer, then Enter: y");
	ck_assert_int_eq(write(stage.master, "\r", 1), 1);
	for (int i = 0; i < 2000 && !strstr(stage.text, "\"op\":\"allow\""); i++) {
		loop_step(stage.loop);
		ssize_t got = recv(stage.session, stage.text, sizeof(stage.text) - 1, MSG_DONTWAIT);

		stage.text[got > 0 ? got : 0] = '\0';
		(void)poll(NULL, 0, 1);
	}
	ck_assert_ptr_nonnull(strstr(stage.text, "\"text\":\"https://a.test:443\""));
	stage.text[0] = '\0';
	loop_advance(stage.loop, 5000);
	stage_shows("the session has not answered yet");
	ck_assert_ptr_null(strstr(stage.text, "nothing was recorded"));
	stage.text[0] = '\0';
	ck_assert_int_gt(write(stage.session, replies[_i][0], strlen(replies[_i][0])), 0);
	stage_shows(replies[_i][1]);
	stage_close();
}
END_TEST

static void stage_opens(const char *label)
{
	stage_shows("wait a moment: ");
	loop_advance(stage.loop, TTY_FENCE_MS);
	loop_advance(stage.loop, TTY_GUARD_MS);
	stage_shows(label);
	stage.text[0] = '\0';
}

/* Each gateway has its own questions: no other can change them, or ask in their name. */
START_TEST(questions_of_several_gateways)
{
	stage_open(&watch);
	stage_shows("no question waits; 0 runs are watched");
	stage_opens(TTY_STATUS_LABEL);
	stage.session = stage_add("7f3a21", BEGAN);
	stage_shows("  question  7f3a21-1");
	stage_opens(TTY_LABEL);
	stage.other = stage_add("0b1c", "{\"sallyport\":1,\"run\":\"0b1c\"}\n" BEGAN);
	stage_shows("run 0b1c: the peer is not a Sallyport gateway of this version");
	ck_assert(!gateway_far_has(stage.far, "0b1c"));
	(void)close(stage.other);
	stage.other = stage_add("5d5d", "{\"id\":1,\"ok\":true,\"questions\":[]}\n" ENDED);
	stage.text[0] = '\0';
	for (int i = 0; i < 4; i++)
		loop_step(stage.loop);
	(void)close(stage.other);
	stage_shows("run 5d5d has ended");
	ck_assert_ptr_null(strstr(stage.text, "a.test:443 denied"));
	ck_assert_int_gt(write(stage.session, ENDED, strlen(ENDED)), 0);
	stage_shows("https://a.test:443 denied by ana");
	stage_opens(TTY_STATUS_LABEL);
	(void)shutdown(stage.session, SHUT_RDWR);
	stage_shows("run 7f3a21 has ended");
	ck_assert_uint_eq(stage.lost, 3);
	ck_assert_uint_eq(stage.left, 0);
	stage_type("z", "z does nothing here");
	ck_assert_int_eq(write(stage.master, "x", 1), 1);
	for (int i = 0; i < 2000 && stage.left == 0; i++) {
		loop_step(stage.loop);
		(void)poll(NULL, 0, 1);
	}
	ck_assert_uint_eq(stage.left, 1);
	stage_close();
}
END_TEST

Suite *suite_far(void)
{
	Suite *suite = suite_create("far");
	TCase *tcase = tcase_create("far");

	tcase_add_loop_test(tcase, a_question_is_read_whole_or_not_at_all, 0, ARRAY_SIZE(texts));
	tcase_add_test(tcase, a_question_keeps_what_it_says);
	tcase_add_loop_test(tcase, an_answer_is_exactly_as_wide_as_it_was_given, 0,
			    ARRAY_SIZE(answers));
	tcase_add_loop_test(tcase, an_answer_that_is_confirmed_late, 0, 3);
	tcase_add_test(tcase, questions_of_several_gateways);
	suite_add_tcase(suite, tcase);
	return suite;
}
