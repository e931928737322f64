#include <string.h>

#include "proxy/http/denials.h"
#include "proxy/http/refusal.h"
#include "tests/unit/proxy/rig.h"

static const struct {
	const char *accept; /* NULL: no such field */
	bool wants_json;
} accepts[] = {
	{ NULL, false },
	{ "*/*", false },
	{ "application/json", true },
	{ "Application/JSON", true },
	{ "application/json, text/plain, */*", true },
	{ "text/html, application/json;q=0.9", false },
	{ "text/html;q=0.5, application/json;q=0.9", true },
	{ "application/json;q=0", false },
	{ "application/json; charset=utf-8 ; q=0.001", true },
	{ "text/plain", false },
	{ "application/jsonx", false },
};

START_TEST(accept_prefers_json)
{
	struct http1_head head = { 0 };
	const char *accept = accepts[_i].accept;

	if (accept) {
		head.fields[0].name = (struct http1_span){ "Accept", 6 };
		head.fields[0].value = (struct http1_span){ accept, strlen(accept) };
		head.field_count = 1;
	}
	ck_assert_int_eq(refusal_wants_json(&head), accepts[_i].wants_json);
}
END_TEST

static char *text_of(struct buffer *buffer)
{
	char *text = mem_strndup(buffer_at(buffer), buffer->len);

	buffer_clear(buffer);
	return text;
}

static void make(struct refusal *refusal, struct policy_destination *dst,
		 struct policy_verdict *verdict)
{
	ck_assert_int_eq(policy_destination_set(dst, "a.test", 6, 443, NULL), 0);
	*verdict = (struct policy_verdict){ .rule = "p:3: deny a.test",
					    .because = "\x1b[2J \"no\"",
					    .by = "ana on tty" };
	*refusal = (struct refusal){
		.reason = POLICY_RULE_DENY, .dst = dst, .verdict = verdict, .cause = "tab\there"
	};
}

START_TEST(json_says_all_and_escapes)
{
	struct policy_destination dst;
	struct policy_verdict verdict;
	struct refusal refusal;
	struct buffer out = { 0 };

	make(&refusal, &dst, &verdict);
	ck_assert_int_eq(refusal_json(&refusal, &out), 0);
	auto_free char *text = text_of(&out);
	ck_assert_str_eq(
		text,
		"{\"status\":\"denied\",\"reason\":\"rule_deny\",\"host\":\"a.test\",\"port\":443,"
		"\"protocol\":\"https\",\"rule\":\"p:3: deny a.test\","
		"\"because\":\"\\u001b[2J \\\"no\\\"\",\"by\":\"ana on tty\","
		"\"message\":\"A rule denies it.\","
		"\"next\":\"To allow this destination, change the rule named here.\","
		"\"cause\":\"tab\\u0009here\"}\n");
}
END_TEST

START_TEST(text_says_all_and_moves_no_cursor)
{
	struct policy_destination dst;
	struct policy_verdict verdict;
	struct refusal refusal;
	struct buffer out = { 0 };

	make(&refusal, &dst, &verdict);
	ck_assert_int_eq(refusal_text(&refusal, &out), 0);
	auto_free char *text = text_of(&out);
	ck_assert_str_eq(text, "sallyport: denied: https://a.test:443 (rule_deny)\n"
			       "A rule denies it.\n"
			       "rule: p:3: deny a.test\n"
			       "because: \\x1b[2J \"no\"\n"
			       "by: ana on tty\n"
			       "cause: tab\\x09here\n"
			       "next: To allow this destination, change the rule named here.\n");
}
END_TEST

/* Where nobody is asked, nothing leads to a person; a reason in the rule's own text is said once.
 */
START_TEST(text_is_of_the_run_and_says_it_once)
{
	struct policy_verdict verdict = { .rule = "p:3: ask a.test because \"ask the team\"",
					  .because = "ask the team" };
	struct refusal refusal = { .reason = POLICY_NO_APPROVER, .verdict = &verdict };
	struct buffer out = { 0 };

	ck_assert_int_eq(refusal_text(&refusal, &out), 0);
	auto_free char *asks = text_of(&out);
	ck_assert_ptr_nonnull(strstr(asks, "approve watch"));
	ck_assert_ptr_null(strstr(asks, "because:"));
	refusal.is_unasked = true;
	ck_assert_int_eq(refusal_text(&refusal, &out), 0);
	auto_free char *text = text_of(&out);
	ck_assert_ptr_null(strstr(text, "approve watch"));
	ck_assert_ptr_nonnull(strstr(text, "--ci"));
	ck_assert_int_eq(refusal_json(&refusal, &out), 0);
	auto_free char *json = text_of(&out);
	ck_assert_ptr_null(strstr(json, "approve watch"));
	ck_assert_ptr_nonnull(strstr(json, "\"because\":\"ask the team\""));
}
END_TEST

static const struct {
	uint32_t count, seconds;
	const char *field; /* NULL: none */
} rates[] = {
	{ 2, 60, "retry-after: 30\r\n" }, { 1, 86400, "retry-after: 86400\r\n" },
	{ 7, 60, "retry-after: 9\r\n" }, /* upwards: earlier is too early */
	{ 100, 1, "retry-after: 1\r\n" }, { 0, 0, NULL },
};

START_TEST(a_rate_says_when)
{
	const struct policy_verdict verdict = { .limits = { .rate_count = rates[_i].count,
							    .rate_s = rates[_i].seconds } };
	const struct refusal refusal = { .reason = POLICY_RATE_LIMITED, .verdict = &verdict };
	const struct refusal_style style = { 0 };
	struct buffer out = { 0 };

	ck_assert_int_eq(refusal_http(&refusal, &style, &out), 0);
	auto_free char *text = text_of(&out);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 429 Too Many Requests\r\n", 32), 0);
	ck_assert_int_eq(strstr(text, "retry-after") != NULL, rates[_i].field != NULL);
	if (rates[_i].field)
		ck_assert_ptr_nonnull(strstr(text, rates[_i].field));
}
END_TEST

START_TEST(every_reason_is_a_refusal)
{
	const struct refusal_style style = { .keeps_alive = true };
	struct refusal refusal = { .reason = (enum policy_reason)_i };
	struct buffer out = { 0 };

	ck_assert_int_eq(refusal_http(&refusal, &style, &out), 0);
	auto_free char *text = text_of(&out);
	ck_assert_int_eq(strncmp(text, "HTTP/1.1 ", 9), 0);
	ck_assert_msg(text[9] == '4' || text[9] == '5', "%s", text);
}
END_TEST

START_TEST(ring_keeps_the_last_fifty)
{
	struct denials denials = { 0 };
	struct buffer text = { 0 }, json = { 0 };
	struct policy_destination dst;

	for (int i = 1; i <= LIMITS_DENIALS_MAX + 10; i++) {
		struct refusal refusal = { .reason = POLICY_DEFAULT_DENY, .dst = &dst };

		ck_assert_int_eq(policy_destination_set(&dst, "a.test", 6, (uint16_t)i, NULL), 0);
		denials_add(&denials, &refusal, (int64_t)i * 1000000);
	}
	ck_assert_int_eq(denials_text(&denials, &text), 0);
	ck_assert_int_eq(denials_json(&denials, &json), 0);
	auto_free char *lines = text_of(&text);
	auto_free char *object = text_of(&json);

	ck_assert_int_eq(strncmp(lines, "1970-01-01T00:01:00Z\n", 21), 0);
	ck_assert_ptr_nonnull(strstr(lines, "a.test:60 "));
	ck_assert_ptr_nonnull(strstr(lines, "a.test:11 "));
	ck_assert_ptr_null(strstr(lines, "a.test:10 "));
	ck_assert_int_eq(
		strncmp(object, "{\"denials\":[{\"time\":\"1970-01-01T00:01:00Z\",\"status\":", 52),
		0);
	denials_done(&denials);
}
END_TEST

TCase *test_refusal(void)
{
	TCase *tcase = tcase_create("refusal");

	tcase_add_loop_test(tcase, accept_prefers_json, 0, (int)ARRAY_SIZE(accepts));
	tcase_add_test(tcase, json_says_all_and_escapes);
	tcase_add_test(tcase, text_says_all_and_moves_no_cursor);
	tcase_add_test(tcase, text_is_of_the_run_and_says_it_once);
	tcase_add_loop_test(tcase, a_rate_says_when, 0, ARRAY_SIZE(rates));
	tcase_add_loop_test(tcase, every_reason_is_a_refusal, 0, POLICY_REASON_COUNT);
	tcase_add_test(tcase, ring_keeps_the_last_fifty);
	return tcase;
}
