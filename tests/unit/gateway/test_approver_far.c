#include "gateway/approvers/far_question.h"
#include "tests/unit/gateway/test_approver.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DESTINATION "\"protocol\":\"https\",\"host\":\"a.test\",\"port\":443"
#define WHOLE       "{\"id\":\"7f3a21-1\"," DESTINATION ",\"typed\":\"a.test\"}"

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

Suite *suite_far(void)
{
	Suite *suite = suite_create("far");
	TCase *tcase = tcase_create("far");

	tcase_add_loop_test(tcase, a_question_is_read_whole_or_not_at_all, 0, ARRAY_SIZE(texts));
	tcase_add_test(tcase, a_question_keeps_what_it_says);
	tcase_add_loop_test(tcase, an_answer_is_exactly_as_wide_as_it_was_given, 0,
			    ARRAY_SIZE(answers));
	suite_add_tcase(suite, tcase);
	return suite;
}
