#include "tests/unit/policies/policies_test.h"

#include <string.h>

#include "base/mem.h"

#define NOON 1767182400 /* 2025-12-31T12:00:00Z */
#define K(n) ((uint64_t)(n) << 10)

/* @limits: without the account, of which only is told whether there is one. */
static const struct {
	const char *text;
	enum policy_reason reason;
	bool has_account;
	struct policy_limits limits;
} limited[] = {
	{ "allow a.test", POLICY_RULE_ALLOW, false, { 0 } },
	{ "allow a.test upload 64k", POLICY_RULE_ALLOW, true, { .upload = K(64) } },
	{ "allow a.test download 1g", POLICY_RULE_ALLOW, true, { .download = 1U << 30 } },
	{ "allow a.test connections 4", POLICY_RULE_ALLOW, true, { .connections = 4 } },
	{ "allow a.test rate 10/m", POLICY_RULE_ALLOW, true, { .rate_count = 10, .rate_s = 60 } },
	{ "allow a.test rate 7/s", POLICY_RULE_ALLOW, true, { .rate_count = 7, .rate_s = 1 } },
	{ "allow a.test rate 7/h", POLICY_RULE_ALLOW, true, { .rate_count = 7, .rate_s = 3600 } },
	{ "allow a.test rate 7/d", POLICY_RULE_ALLOW, true, { .rate_count = 7, .rate_s = 86400 } },
	{ "allow a.test for 1h", POLICY_RULE_ALLOW, false, { .until_s = NOON + 3600 } },
	{ "allow a.test until 2026-01-01", POLICY_RULE_ALLOW, false, { .until_s = NOON + 43200 } },
	{ "allow a.test upload 1k for 1h connections 2",
	  POLICY_RULE_ALLOW,
	  true,
	  { .upload = K(1), .connections = 2, .until_s = NOON + 3600 } },
	/* the least limited is what is allowed */
	{ "allow a.test upload 1k\nallow a.test", POLICY_RULE_ALLOW, false, { 0 } },
	{ "allow a.test for 1h\nallow **.test", POLICY_RULE_ALLOW, false, { 0 } },
	{ "allow a.test upload 1k\nallow a.test for 1h",
	  POLICY_RULE_ALLOW,
	  false,
	  { .until_s = NOON + 3600 } },
	{ "allow a.test upload 1k\nallow a.test upload 2k",
	  POLICY_RULE_ALLOW,
	  true,
	  { .upload = K(1) } },
	{ "default allow\nallow a.test upload 1k", POLICY_RULE_ALLOW, true, { .upload = K(1) } },
	{ "allow b.test upload 1k\nallow a.test", POLICY_RULE_ALLOW, false, { 0 } },
	/* denied: no limits are told */
	{ "allow a.test upload 1k\ndeny a.test", POLICY_RULE_DENY, false, { 0 } },
	/* what is asked for within limits is answered within them */
	{ "ask a.test upload 1k", POLICY_ASKED, true, { .upload = K(1) } },
	{ "ask a.test upload 1k\nask a.test", POLICY_ASKED, true, { .upload = K(1) } },
	{ "ask a.test for 1h", POLICY_ASKED, false, { 0 } },
	{ "ask a.test for 1h upload 1k", POLICY_ASKED, true, { .upload = K(1) } },
	{ "approvals never\nask a.test upload 1k", POLICY_NO_APPROVER, false, { 0 } },
	{ "default ask\nanswer allow a.test upload 1k",
	  POLICY_ANSWER_ALLOW,
	  true,
	  { .upload = K(1) } },
	{ "default ask\nanswer allow a.test upload 1k\nanswer allow a.test",
	  POLICY_ANSWER_ALLOW,
	  false,
	  { 0 } },
	{ "ask a.test upload 4k download 1k\nanswer allow a.test upload 1k connections 3",
	  POLICY_ANSWER_ALLOW,
	  true,
	  { .upload = K(1), .download = K(1), .connections = 3 } },
	{ "ask a.test rate 1/m\nanswer allow a.test rate 1/s",
	  POLICY_ANSWER_ALLOW,
	  true,
	  { .rate_count = 1, .rate_s = 60 } },
	{ "ask a.test rate 1/s\nanswer allow a.test rate 3/m",
	  POLICY_ANSWER_ALLOW,
	  true,
	  { .rate_count = 3, .rate_s = 60 } },
};

START_TEST(a_verdict_has_its_limits)
{
	struct policy *policy = policies_test_load(limited[_i].text);
	struct policy_limits want = limited[_i].limits;
	struct policy_verdict verdict;

	policy_set_start(policy, NOON);
	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_msg(verdict.reason == limited[_i].reason, "%s\n%s", limited[_i].text,
		      policy_reason_code(verdict.reason));
	ck_assert_msg((verdict.limits.account != 0) == limited[_i].has_account, "%s",
		      limited[_i].text);
	want.account = verdict.limits.account;
	ck_assert_msg(memcmp(&want, &verdict.limits, sizeof(want)) == 0, "%s", limited[_i].text);
	ck_assert_str_eq(policy_notes(policy), "");
	policy_free(policy);
}
END_TEST

/* Within limits or not: what one rule allows is not widened by another that has limits. */
static const struct {
	const char *text, *request;
	enum policy_protocol promise;
	bool may_private;
} widths[] = {
	{ "allow tcp://a.test:443 upload 1k", "https://a.test", POLICY_TCP, false },
	{ "allow tcp://a.test:443 upload 1k\nallow a.test", "https://a.test", POLICY_HTTPS, false },
	{ "allow a.test private upload 1k", "https://a.test", POLICY_HTTPS, true },
	{ "allow a.test private for 1h\nallow a.test", "https://a.test", POLICY_HTTPS, false },
	{ "allow a.test private upload 1k\nallow tcp://a.test:443 upload 2k", "https://a.test",
	  POLICY_TCP, false },
	{ "allow a.test private\nallow tcp://a.test:443", "https://a.test", POLICY_TCP, true },
	{ "allow 10.0.0.1:443 upload 1k", "https://10.0.0.1", POLICY_HTTPS, true },
	{ "ask a.test private upload 1k", "https://a.test", POLICY_HTTPS, true },
	{ "allow localhost:8000 upload 1k", "tcp://localhost:8000", POLICY_TCP, true },
};

START_TEST(a_limit_is_not_got_round)
{
	struct policy *policy = policies_test_load(widths[_i].text);
	struct policy_verdict verdict;

	policy_set_start(policy, NOON);
	policies_test_decide(policy, widths[_i].request, &verdict);
	ck_assert_int_ne(verdict.action, POLICY_DENY);
	ck_assert_msg(verdict.promise == widths[_i].promise, "%s\n%s", widths[_i].text,
		      policy_protocol_name(verdict.promise));
	ck_assert_msg(verdict.may_private == widths[_i].may_private, "%s", widths[_i].text);
	policy_free(policy);
}
END_TEST

/* A rule with a limit that names a private address does not permit it for a rule without one. */
START_TEST(an_address_keeps_its_limit)
{
	struct policy *policy = policies_test_load("allow a.test\nallow 10.0.0.1:443 upload 1k");
	struct policy_verdict verdict, now;
	struct policy_facts facts;
	struct addr addr;

	policies_test_facts("https://a.test", &facts);
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(addr_parse("10.0.0.1", 8, &addr), 0);
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &now);
	ck_assert_int_eq(now.reason, POLICY_PRIVATE_ADDRESS);
	policy_free(policy);
}
END_TEST

static uint64_t account_of(const char *text, const char *request)
{
	struct policy *policy = policies_test_load(text);
	struct policy_verdict verdict;

	policies_test_decide(policy, request, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policy_free(policy);
	return verdict.limits.account;
}

START_TEST(an_account_is_the_words_of_its_rule)
{
	uint64_t account = account_of("allow *.test upload 1k", "https://a.test");

	ck_assert_uint_ne(account, 0);
	ck_assert_uint_eq(account_of("allow *.test upload 1k", "https://b.test"), account);
	ck_assert_uint_eq(account_of("\n\nallow *.test upload 1k", "https://a.test"), account);
	ck_assert_uint_ne(account_of("allow *.test upload 2k", "https://a.test"), account);
	ck_assert_uint_eq(
		account_of("ask *.test upload 1k\nanswer allow a.test", "https://a.test"),
		account_of("ask *.test upload 1k\nanswer allow b.test", "https://b.test"));
}
END_TEST

TCase *limits_cases(void)
{
	TCase *tcase = tcase_create("limits");

	tcase_add_loop_test(tcase, a_verdict_has_its_limits, 0, ARRAY_SIZE(limited));
	tcase_add_loop_test(tcase, a_limit_is_not_got_round, 0, ARRAY_SIZE(widths));
	tcase_add_test(tcase, an_address_keeps_its_limit);
	tcase_add_test(tcase, an_account_is_the_words_of_its_rule);
	return tcase;
}
