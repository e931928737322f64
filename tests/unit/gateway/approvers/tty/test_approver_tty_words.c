#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* What is typed at a.test, and the words that go with the answer. */
static const struct {
	const char *keys, *words;
	enum policy_action action;
	bool is_abort;
} typed[] = {
	{ "n", "", POLICY_DENY, false },
	{ "ruse the mirror\rn", "use the mirror", POLICY_DENY, false },
	{ "sruse the mirror\r\r", "use the mirror", POLICY_ALLOW, false }, /* behind the letter */
	{ "ryes, but only now\ry\r", "yes, but only now", POLICY_ALLOW, false },
	{ "rstop that\rq\r", "stop that", POLICY_DENY, true },
	{ "rone\rrtwo\rn", "onetwo", POLICY_DENY, false }, /* goes on where it ended */
	{ "rone\rr\x15two\rn", "two", POLICY_DENY, false },
	{ "rone\rr\x15\rn", "", POLICY_DENY, false },
	{ "rab\x7f\rn", "a", POLICY_DENY, false },
	{ "ra\x7f\x7fn", "", POLICY_DENY, false }, /* one deletion more leaves the input */
	{ "r\rn", "", POLICY_DENY, false },
	{ "rnesSyEaDqhptbol\rn", "nesSyEaDqhptbol", POLICY_DENY, false },
	{ "ra \\ b\rn", "a \\ b", POLICY_DENY, false },
	{ "r\xd0\x9d\xd0\xb5t \xc4\x9bno\rn", "t no", POLICY_DENY, false }, /* whole characters */
	{ "r\xf0\x9f\x98\x9dno\rn", "no", POLICY_DENY, false },
	{ "ra\x1b[Db\x1bOSc\rn", "abc", POLICY_DENY, false },
	{ "r\x1b[200~pasted\r\x1b[201~typed\rn", "typed", POLICY_DENY, false },
	{ "ry\x03", "", POLICY_DENY, true }, /* Ctrl-C, as everywhere */
};

START_TEST(words_go_with_the_answer)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "  r reason"));
	screen_type(typed[_i].keys);
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_int_eq(screen.gw.answers[0].answer.action, typed[_i].action);
	ck_assert_int_eq(screen.gw.answers[0].answer.is_abort, typed[_i].is_abort);
	ck_assert(!screen.gw.answers[0].answer.width.is_domain);
	ck_assert_str_eq(screen.gw.answers[0].words, typed[_i].words);
}
END_TEST

START_TEST(words_are_shown_before_they_are_sent)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("sr");
	ck_assert_ptr_nonnull(
		strstr(screen_look(), "the command is shown this reason: Enter keeps it"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  reason, then Enter: "));
	screen_type("use it");
	ck_assert_ptr_nonnull(strstr(screen_look(), "  reason, then Enter: use it"));
	screen_type("\r");
	ck_assert_ptr_nonnull(strstr(screen_look(), "  reason    use it\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  grants    https://a.test:443\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  answer, then Enter: s"));
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("\r");
	ck_assert_str_eq(screen.gw.answers[0].words, "use it");
}
END_TEST

/* A lone Escape is the key, a sequence that comes in pieces is one all the same. */
START_TEST(escape_leaves)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("rkept\rr, or not");
	screen_type("\x1b");
	ck_assert_ptr_nonnull(strstr(screen_look(), "  reason    kept\r\n"));
	ck_assert_ptr_nonnull(strstr(screen.text, "  answer, then Enter: "));
	screen_type("[D"); /* the arrow's: no "D" */
	screen_type("r");
	screen_type("\x1b");
	screen_type("s");
	ck_assert_ptr_nonnull(strstr(screen_look(), "  answer, then Enter: s"));
	screen_type("\r");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_int_eq(screen.gw.answers[0].answer.scope, GATEWAY_SESSION);
	ck_assert_str_eq(screen.gw.answers[0].words, "kept");
}
END_TEST

/* As many as arrive, and what is doubled on the way counts twice. */
START_TEST(words_are_bounded)
{
	char want[GATEWAY_WORDS_MAX];

	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("r");
	for (int i = 0; i < 400; i++)
		screen_type(_i == 0 ? "x" : "\\");
	ck_assert_ptr_nonnull(strstr(screen_look(), "no more than that"));
	screen_type("\rn");
	memset(want, _i == 0 ? 'x' : '\\', sizeof(want));
	want[_i == 0 ? sizeof(want) - 1 : (sizeof(want) - 1) / 2] = '\0';
	ck_assert_str_eq(screen.gw.answers[0].words, want);
}
END_TEST

/* If the question is answered elsewhere while a message is typed, the remaining keys do not answer
 * the next one, however long that takes, and are not a message for it. */
START_TEST(words_that_are_typed_too_late)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	screen_until_open();
	screen_type("rno, ");
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	fake_retract(&screen.gw, "7f3a-1", "denied by somebody else");
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "goes nowhere until Enter"));
	for (const char *key = "say so y \xd0\x9d"; *key; key++) {
		screen_type((char[]){ *key, '\0' });
		loop_advance(screen.gw.loop, TTY_GUARD_MS + 1);
	}
	screen_type("s\r");
	ck_assert_uint_eq(screen.gw.answer_count, 0);
	screen_type("n");
	ck_assert_uint_eq(screen.gw.answer_count, 1);
	ck_assert_str_eq(screen.gw.answers[0].id, "7f3a-2");
	ck_assert_str_eq(screen.gw.answers[0].words, "");
}
END_TEST

/* They were for one question only. */
START_TEST(words_end_with_their_question)
{
	fake_ask(&screen.gw, "7f3a-1", "a.test");
	fake_ask(&screen.gw, "7f3a-2", "b.test");
	screen_until_open();
	screen_type("rnot that one\r");
	if (_i == 0)
		screen_type("n");
	else
		fake_retract(&screen.gw, "7f3a-1", "denied by somebody else");
	screen_until_open();
	ck_assert_ptr_null(strstr(strstr(screen.text, "b.test"), "  reason    "));
	screen_type("n");
	size_t last = screen.gw.answer_count - 1;
	ck_assert_str_eq(screen.gw.answers[last].id, "7f3a-2");
	ck_assert_str_eq(screen.gw.answers[last].words, "");
	ck_assert_str_eq(screen.gw.answers[0].words, _i == 0 ? "not that one" : "");
}
END_TEST

START_TEST(words_of_a_list_go_with_each)
{
	for (char i = '1'; i < '7'; i++) {
		char id[] = "7f3a-0", host[] = "h0.test";

		id[5] = host[1] = i;
		fake_ask(&screen.gw, id, host);
	}
	screen_type(SCREEN_READY); /* for the first, before there was a list */
	screen_until_open();
	ck_assert_ptr_nonnull(strstr(screen.text, "6 questions wait"));
	screen_type("1 3 rask for 2 * first\r");
	ck_assert_msg(strstr(screen_look(), "  reason    ask for 2 * first\r\n") != NULL, "%s",
		      screen.text);
	ck_assert_ptr_nonnull(strstr(screen.text, "2 of 6"));
	screen_type("n");
	ck_assert_uint_eq(screen.gw.answer_count, 2);
	for (size_t i = 0; i < 2; i++)
		ck_assert_str_eq(screen.gw.answers[i].words, "ask for 2 * first");
	screen_until_open();
	screen_type("1 n");
	ck_assert_str_eq(screen.gw.answers[2].words, "");
}
END_TEST

Suite *suite_tty_words(void)
{
	Suite *suite = suite_create("tty-words");
	TCase *tcase = tcase_create("tty-words");

	tcase_add_checked_fixture(tcase, screen_setup, screen_teardown);
	tcase_add_loop_test(tcase, words_go_with_the_answer, 0, (int)ARRAY_SIZE(typed));
	tcase_add_test(tcase, words_are_shown_before_they_are_sent);
	tcase_add_test(tcase, escape_leaves);
	tcase_add_loop_test(tcase, words_are_bounded, 0, 2);
	tcase_add_test(tcase, words_that_are_typed_too_late);
	tcase_add_loop_test(tcase, words_end_with_their_question, 0, 2);
	tcase_add_test(tcase, words_of_a_list_go_with_each);
	suite_add_tcase(suite, tcase);
	return suite;
}
