#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <event2/buffer.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static struct approver_question *ask_risky(const char *host, const char *typed)
{
	struct approver_question *question;

	screen.gw.question_count = 0;
	question = fake_ask(&screen.gw, "7f3a-1", host);
	(void)screen_look();
	fake_retract(&screen.gw, "7f3a-1", "again");
	(void)screen_look();
	screen.gw.question_count = 1;
	question->risk = APPROVER_LISTED;
	question->warning = "nobody has asked for this domain before";
	(void)snprintf(question->typed, sizeof(question->typed), "%s", typed);
	screen.gw.ops->ask(screen.gw.approver, question);
	fake_settle(&screen.gw);
	return question;
}

/* What is typed at a risky question for a.example.org, and what it comes to. */
static const struct {
	const char *keys;
	int answers; /* 0: none yet; 1: allowed; -1: denied */
} risky[] = {
	{ "y\r", 0 },
	{ "y\r\r", 0 },
	{ "y\ry\r", 0 },
	{ "a\ry\ry\ry\r", 0 },
	{ "y\rexample.org", 0 },
	{ "y\rexample.org\r", 1 },
	{ "y\rexample.or\r", 0 },
	{ "y\rexample.orgg\r", 0 },
	{ "y\rEXAMPLE.ORG\r", 0 },
	{ "y\ra.example.org\r", 0 },
	{ "example.org\r", 0 },           /* no letter stands there but an "a" */
	{ "y\rwrong\rexample.org\r", 1 }, /* wrong is not no */
	{ "y\rexample.orx\x7fg\r", 1 },   /* taken back */
	{ "y\rnonsense\x15"
	  "example.org\r",
	  1 },
	{ "y\r\x1b[200~example.org\r\x1b[201~", 0 }, /* pasted */
	{ "y\r\x1b[200~example.org\x1b[201~\r", 0 },
	{ "y\r\x1b]0;example.org\r\x07\r", 0 },
	{ "y\rexample\x1b[A.org\r", 1 }, /* an arrow is nothing */
	{ "y\r\r\r", -1 },               /* back, and Enter alone */
	{ "y\r\x7f\rn", -1 },
	{ "n", -1 },
	{ "S", -1 },
	{ "yS", -1 },
	{ "D", -1 },
	{ "q", -1 },
	{ "y\rexample\x03", -1 },
};

START_TEST(risk_wants_the_name_typed)
{
	ask_risky("a.example.org", "example.org");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "  warning   nobody has asked for this domain"));
	screen_type(risky[_i].keys);
	if (risky[_i].answers == 0) {
		ck_assert_uint_eq(screen.gw.answer_count, 0);
		ck_assert_uint_eq(screen.released, 1); /* for the first, which was retracted */
		return;
	}
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_int_eq(screen.gw.answers[0].answer.action,
			 risky[_i].answers > 0 ? POLICY_ALLOW : POLICY_DENY);
}
END_TEST

START_TEST(risk_says_what_to_type)
{
	ask_risky("a.example.org", "example.org");
	screen_until_open();
	screen_type("s\r");
	ck_assert_ptr_nonnull(strstr(screen_look(), "  type      example.org\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  to allow it, then Enter: "));
	screen_type("exa");
	ck_assert_ptr_nonnull(strstr(screen_look(), "to allow it, then Enter: exa"));
	screen_type("\r");
	ck_assert_ptr_nonnull(strstr(screen_look(), "that is not example.org"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  type      example.org\r\n"));
	screen_type("example.org\r");
	ck_assert_int_eq(screen.gw.answers[0].answer.scope, GATEWAY_SESSION);
}
END_TEST

/* If the question is answered elsewhere while its name is typed, the remaining keys and Enter do
 * not answer the next one, however long that takes. */
START_TEST(a_name_that_is_typed_too_late)
{
	ask_risky("a.example.org", "example.org");
	screen_until_open();
	screen_type("y\rexa");
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	fake_retract(&screen.gw, "7f3a-1", "denied by somebody else");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "goes nowhere until Enter"));
	for (const char *key = "mple.org"; *key; key++) {
		screen_type((char[]){ *key, '\0' });
		loop_advance(screen.gw.loop, TTY_GUARD_MS + 1);
	}
	screen_type("s\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("s\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_str_eq(screen.gw.answers[0].id, "7f3a-2");
}
END_TEST

/* A gateway that says no name: then nothing that is typed is it. */
START_TEST(risk_without_a_name_is_never_allowed)
{
	ask_risky("a.example.org", "");
	screen_until_open();
	screen_type("y\r\r\ry\r");
	for (size_t i = 0; i < screen.gw.answer_count; i++)
		ck_assert_int_eq(screen.gw.answers[i].answer.action, POLICY_DENY);
}
END_TEST

/* It became risky while it was on the screen, as when another wave of connections came. */
START_TEST(risk_that_comes_later)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("y");
	screen.gw.questions[0].risk = APPROVER_LISTED;
	fake_changed(&screen.gw, "7f3a-1", 2);
	screen_type("\r"); /* in the moment after */
	ck_assert_ptr_nonnull(strstr(screen_look(), "this has just changed"));
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("a.test\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
}
END_TEST

static const struct {
	const char *keys, *label, *covers;
	struct approver_width width;
} scopes[] = {
	{ "s", "grants", "https://a.test:443", { 0 } },
	{ "hs", "grants", "https://**.a.test:443", { .is_domain = true } },
	{ "sh", "grants", "https://**.a.test:443", { .is_domain = true } },
	{ "shh", "grants", "https://a.test:443", { 0 } },
	{ "ep", "grants", "https://a.test:*", { .is_every_port = true } },
	{ "at", "grants", "https://a.test:443 for 1h", { .for_s = 3600 } },
	{ "att", "grants", "https://a.test:443 for 1d", { .for_s = 86400 } },
	{ "attt", "grants", "https://a.test:443", { 0 } },
	{ "yhptS",
	  "denies",
	  "https://**.a.test:* for 1h",
	  { .is_domain = true, .is_every_port = true, .for_s = 3600 } },
	{ "hy", "grants", "https://a.test:443", { 0 } }, /* once has no width */
	{ "hy\x7fs", "grants", "https://**.a.test:443", { .is_domain = true } },
	{ "sb", "grants", "https://a.test:443", { 0 } }, /* refused */
	{ "shb", "grants", "https://**.a.test:443", { .is_domain = true } },
	{ "so", "grants", "https://a.test:443", { 0 } }, /* no program is known */
};

START_TEST(scope_that_is_shown_is_answered)
{
	const struct approver_width *want = &scopes[_i].width, *got;
	auto_free char *line = mem_printf("  %-9s %s\r\n", scopes[_i].label, scopes[_i].covers);

	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "  covers    https://a.test:443\r\n"));
	screen_type(scopes[_i].keys);
	ck_assert_msg(strstr(screen_look(), line) != NULL, "%s", screen.text);
	loop_advance(screen.gw.loop, TTY_GUARD_MS); /* S had to be shown first */
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	got = &screen.gw.answers[0].answer.width;
	ck_assert_int_eq(got->is_domain, want->is_domain);
	ck_assert_int_eq(got->is_every_port, want->is_every_port);
	ck_assert_int_eq(got->is_program, want->is_program);
	ck_assert_int_eq(got->for_s, want->for_s);
	ck_assert_uint_eq(got->upload_max, 0);
	auto_free char *recorded = mem_printf("sallyport   %s ", scopes[_i].covers);
	ck_assert_ptr_nonnull(strstr(screen_look(), recorded));
}
END_TEST

/* In one piece they were not seen, and answer nothing; Enter alone does, once it stands there. */
START_TEST(letter_with_enter_answers_nothing)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type_at_once("s\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	ck_assert_msg(strstr(screen_look(), "look, then Enter") != NULL, "%s", screen.text);
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_int_eq(screen.gw.answers[0].answer.action, POLICY_ALLOW);
	ck_assert_int_eq(screen.gw.answers[0].answer.scope, GATEWAY_SESSION);
}
END_TEST

START_TEST(scope_that_is_refused_says_why)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("b");
	ck_assert_ptr_nonnull(strstr(screen_look(), "not here: no budgets here"));
	screen_type("y");
	(void)screen_look();
	screen_type("h");
	ck_assert_ptr_nonnull(strstr(screen_look(), "once is only about those that wait now"));
	ck_assert_uint_eq(screen.gw.answer_count, 0);
}
END_TEST

START_TEST(scope_of_a_program)
{
	struct approver_question *question = ask_risky("a.test", "a.test");

	fake_retract(&screen.gw, "7f3a-1", "again");
	(void)screen_look();
	screen.gw.question_count = 1;
	question->risk = 0;
	question->warning = "";
	question->program = "/usr/bin/node\x1b[2J";
	question->chain = "npm ci > node";
	screen.gw.ops->ask(screen.gw.approver, question);
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "  program   /usr/bin/node\\x1b[2J\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  started by npm ci > node\r\n"));
	screen_type("so\r");
	ck_assert(screen.gw.answers[0].answer.width.is_program);
}
END_TEST

/* A low screen loses what explains, never what is granted, nor a key; and one too low for that says
 * so, and how many lines it takes. */
START_TEST(low_screens)
{
	struct tty_look look = { .width = 80, .rows = (unsigned int)_i, .may_always = true };
	struct approver_question question = {
		.dst = { .host = "a.example.org", .protocol = POLICY_HTTPS, .port = 443 },
		.typed = "example.org",
		.waiting = 1,
		.command_count = 3,
		.commands = { "one", "two", "three" },
		.rule = "r",
		.because = "b",
		.warning = "first",
		.program = "p",
		.chain = "c",
	};
	struct tty_draft draft = { .letter = 's', .covers = "https://a.example.org:443" };
	memset(draft.words, 'w', sizeof(draft.words) - 1);
	struct evbuffer *out = evbuffer_new();
	bool is_whole;
	unsigned int lines = tty_prompt_write(out, &look, &question, &draft, 0, &is_whole);

	ck_assert_uint_le(lines, look.rows <= 3 ? 1 : look.rows - 2);
	ck_assert_int_eq(is_whole, look.rows >= 12);
	(void)evbuffer_add(out, "", 1);
	const char *text = (const char *)evbuffer_pullup(out, -1);

	if (!is_whole) {
		ck_assert_ptr_null(strstr(text, "grants "));
		ck_assert_ptr_nonnull(strstr(text, "this window is too small to allow anything"));
		if (look.rows > 3)
			ck_assert_ptr_nonnull(strstr(text, "12 lines are needed"));
		evbuffer_free(out);
		return;
	}
	ck_assert_ptr_nonnull(strstr(text, "sallyport   https://a.example.org:443"));
	ck_assert_ptr_nonnull(strstr(text, "grants    https://a.example.org:443"));
	ck_assert_ptr_nonnull(strstr(text, "warning   first"));
	ck_assert_ptr_nonnull(strstr(text, "reason    www"));
	ck_assert(strstr(text, "D always") || strstr(text, "nSD deny") ||
		  strstr(text, "? lists the keys"));
	ck_assert(strstr(text, "b any bytes") || strstr(text, "hptb scope") ||
		  strstr(text, "? lists the keys"));
	evbuffer_free(out);
}
END_TEST

Suite *suite_tty_scope(void)
{
	Suite *suite = suite_create("tty-scope");
	TCase *tcase = tcase_create("tty-scope");

	tcase_add_checked_fixture(tcase, screen_setup, screen_teardown);
	tcase_add_loop_test(tcase, risk_wants_the_name_typed, 0, (int)ARRAY_SIZE(risky));
	tcase_add_test(tcase, risk_says_what_to_type);
	tcase_add_test(tcase, a_name_that_is_typed_too_late);
	tcase_add_test(tcase, risk_without_a_name_is_never_allowed);
	tcase_add_test(tcase, risk_that_comes_later);
	tcase_add_loop_test(tcase, scope_that_is_shown_is_answered, 0, (int)ARRAY_SIZE(scopes));
	tcase_add_test(tcase, letter_with_enter_answers_nothing);
	tcase_add_test(tcase, scope_that_is_refused_says_why);
	tcase_add_test(tcase, scope_of_a_program);
	tcase_add_loop_test(tcase, low_screens, 0, 30);
	suite_add_tcase(suite, tcase);
	return suite;
}
