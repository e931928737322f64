#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

/* Every statement of the language must load. */
static const char *const accepted[] = {
	"",
	"\n\n",
	"# nothing\n\t # here",
	"version 1",
	"version 1\ndefault deny\n",
	"allow a.test",
	"  allow\ta.test  ",
	"allow a.test.",
	"allow A.TEST",
	"allow a.test # because it is",
	"allow a_b.test",
	"allow localhost:8080",
	"allow *",
	"allow *:*",
	"allow *.a.test",
	"allow **.a.test",
	"allow *.test",
	"allow *.internal",
	"allow *.com broad",
	"allow *.amazonaws.com broad",
	"allow *.example.windows.net",
	"allow **.github.io broad because \"all of it\" private",
	"allow *.example.com",
	"allow https://a.test",
	"allow HTTPS://a.test:8443",
	"allow tcp://a.test:*",
	"allow http://*:80,443,8000-8100",
	"allow 10.2.0.0/16:8000-8100",
	"allow 0.0.0.0/0",
	"allow 10.0.0.1:22",
	"allow [::1]:80",
	"allow [2001:db8::]/32",
	"allow [2001:db8::]/32:443",
	"allow [2001:db8::/32]:443",
	"allow 2001:db8::/32",
	"allow 2001:db8::/32:443",
	"allow tcp://[2001:DB8::1]:22",
	"allow [::ffff:10.0.0.1]",
	"allow b\xc3\xbc"
	"cher.example",
	"allow *.b\xc3\xbc"
	"cher.example",
	"deny a.test because \"say \\\"please\\\" and \\\\\"",
	"deny a.test because \"\xc3\xa9 # not a comment\"",
	"allow **.a.test except b.a.test",
	"allow **.a.test except b.a.test *.c.a.test because \"x\" private",
	"allow **.a.test:443,8443 private except https://b.a.test:8443",
	"allow * except 10.0.0.0/8",
	"deny * except a.test",
	"deny 10.0.0.0/8 except 10.0.0.1 db.test",
	"allow **.a.test except *.a.test",
	"allow *.b.a.test except *.a.test",
	"ask a.test private",
	"answer allow https://a.test:443   # by ana on tty, 2026-11-20T20:13Z",
	"answer deny tcp://[2001:db8::1]:22",
	"answer allow 10.0.0.1",
	"default allow\nexpect allow a.test",
	"default deny\nexpect deny http://a.test:8000",
	"default ask\nanswer allow a.test\nexpect ask a.test",
	"expect deny 169.254.169.254\nallow 169.254.0.0/16",
	"expect allow 127.0.0.1:8000",
};

START_TEST(language)
{
	struct policy *policy = policies_test_load(accepted[_i]);

	ck_assert_str_eq(policy_errors(policy), "");
	ck_assert_uint_eq(policy_error_count(policy), 0);
	policy_free(policy);
}
END_TEST

START_TEST(rules_are_counted)
{
	struct policy *policy =
		policies_test_load("version 1\nallow a.test\n\nask b.test\nanswer deny c.test\n"
				   "expect allow a.test\n");

	ck_assert_uint_eq(policy_rule_count(policy), 3);
	policy_free(policy);
}
END_TEST

START_TEST(a_default_can_be_missing)
{
	struct policy *policy = policies_test_load("allow a.test\n");
	enum policy_action action = POLICY_ALLOW;
	struct policy_verdict verdict;

	ck_assert(!policy_get_default(policy, &action));
	ck_assert_int_eq(action, POLICY_ALLOW); /* untouched */
	policies_test_decide(policy, "b.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_DEFAULT_DENY);
	policy_set_default(policy, POLICY_ASK);
	policies_test_decide(policy, "b.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_ASKED);
	policy_free(policy);
}
END_TEST

static const struct {
	const char *first, *second;
	enum policy_action want;
} defaults[] = {
	{ "default allow", "default ask", POLICY_ASK },
	{ "default ask", "default allow", POLICY_ASK },
	{ "default deny", "default allow", POLICY_DENY },
	{ "default allow", "default deny", POLICY_DENY },
	{ "default allow", "", POLICY_ALLOW },
	{ "", "default ask", POLICY_ASK },
};

/* Of two files the stricter default holds, in either order. */
START_TEST(defaults_of_two_files)
{
	struct policy *policy = policy_new();
	enum policy_action action = POLICY_DENY;

	ck_assert_int_eq(policy_load_text(policy, "<a>", defaults[_i].first), 0);
	ck_assert_int_eq(policy_load_text(policy, "<b>", defaults[_i].second), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert(policy_get_default(policy, &action));
	ck_assert_int_eq(action, defaults[_i].want);
	policy_free(policy);
}
END_TEST

/* --default changes verdicts, but not the file's own `expect` lines. */
START_TEST(expectations_hold_the_written_default)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	ck_assert_int_eq(policy_load_text(policy, "<test>", "default ask\nexpect ask a.test\n"), 0);
	policy_set_default(policy, POLICY_DENY);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_DEFAULT_DENY);
	policy_free(policy);
}
END_TEST

START_TEST(every_failing_expectation_is_said)
{
	struct policy *policy = policy_new();

	ck_assert_int_eq(
		policy_load_text(
			policy, "<test>",
			"default ask\nallow a.test\nexpect deny a.test\nexpect allow a.test\n"
			"expect allow b.test\n"),
		0);
	ck_assert_int_ne(policy_finish(policy), 0);
	ck_assert_uint_eq(policy_error_count(policy), 2);
	ck_assert_ptr_nonnull(
		strstr(policy_errors(policy),
		       "<test>:3:8: error: this line expects deny, but the policy says allow"));
	ck_assert_ptr_nonnull(
		strstr(policy_errors(policy),
		       "<test>:5:8: error: this line expects allow, but the policy says ask"));
	policy_free(policy);
}
END_TEST

/* An expectation that a broken line makes fail is not a second mistake. */
START_TEST(expectations_wait_for_rules_that_can_be_read)
{
	struct policy *policy = policy_new();

	ck_assert_int_ne(policy_load_text(policy, "<test>", "allow a..test\nexpect allow a.test\n"),
			 0);
	ck_assert_int_ne(policy_finish(policy), 0);
	ck_assert_uint_eq(policy_error_count(policy), 1);
	policy_free(policy);
}
END_TEST

/* A hundred thousand names: the index grows, and every one is found, at both ends of a chain. */
START_TEST(many_rules)
{
	size_t count = 100000;
	auto_free char *text = mem_new(count * 32 + 1);
	size_t len = 0;
	struct policy_verdict verdict;

	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, 33, "allow %sn%zu.test\n", i % 3 ? "" : "*.",
					i);
	struct policy *policy = policies_test_load(text);

	ck_assert_uint_eq(policy_rule_count(policy), count);
	for (size_t i = 0; i < count; i += 997) {
		char request[64];

		(void)snprintf(request, sizeof(request), "%sn%zu.test", i % 3 ? "" : "a.", i);
		policies_test_decide(policy, request, &verdict);
		ck_assert_msg(verdict.reason == POLICY_RULE_ALLOW, "%s", request);
		(void)snprintf(request, sizeof(request), "%sn%zu.test", i % 3 ? "a." : "", i);
		policies_test_decide(policy, request, &verdict);
		ck_assert_msg(verdict.reason == POLICY_DEFAULT_DENY, "%s", request);
	}
	policy_free(policy);
}
END_TEST

TCase *language_cases(void)
{
	TCase *cases = tcase_create("language");

	tcase_set_timeout(cases, 60);
	tcase_add_loop_test(cases, language, 0, ARRAY_SIZE(accepted));
	tcase_add_test(cases, rules_are_counted);
	tcase_add_test(cases, a_default_can_be_missing);
	tcase_add_loop_test(cases, defaults_of_two_files, 0, ARRAY_SIZE(defaults));
	tcase_add_test(cases, expectations_hold_the_written_default);
	tcase_add_test(cases, every_failing_expectation_is_said);
	tcase_add_test(cases, expectations_wait_for_rules_that_can_be_read);
	tcase_add_test(cases, many_rules);
	return cases;
}
