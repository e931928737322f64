#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "base/err.h"
#include "policies/policies_tools.h"

#define ROUNDS   24
#define REQUESTS 400

struct policy_parts {
	struct policy *before, *after;
	size_t count;
	char text[4096];
};

/* A counterexample has to be one. */
static void check_example(const struct policy_change *change, void *arg)
{
	struct policy_parts *seen = arg;
	struct policy_facts facts;
	struct policy_verdict one, two;
	struct addr addr;
	size_t used = strlen(seen->text);

	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s %s%s%s\n", change->what,
		       change->destination, change->resolved[0] ? " at " : "", change->resolved);
	seen->count++;
	policies_test_facts(change->example, &facts);
	policy_decide(seen->before, &facts, &one);
	policy_decide(seen->after, &facts, &two);
	if (!change->resolved[0]) {
		/* An ask for what can never be dialled counts as a denial. */
		if (facts.dst.addr.family == 0)
			ck_assert_msg(one.action == change->before && two.action == change->after,
				      "%s", seen->text);
		ck_assert_msg(one.action != two.action || one.promise != two.promise ||
				      one.may_private != two.may_private,
			      "%s", seen->text);
		return;
	}
	ck_assert_int_eq(
		addr_parse(change->example_address, strlen(change->example_address), &addr), 0);
	one.action = two.action = POLICY_ALLOW;
	policy_decide_address(seen->before, &facts.dst, &one, &addr, &one);
	policy_decide_address(seen->after, &facts.dst, &two, &addr, &two);
	ck_assert_msg(one.action != two.action || one.promise != two.promise, "%s", seen->text);
}

static int compare(struct policy_parts *seen, size_t *ret_count)
{
	struct err *nobody = NULL;

	seen->count = 0;
	seen->text[0] = '\0';
	return policy_diff(seen->before, seen->after, 100, check_example, seen, ret_count, nobody);
}

/* Is there anything that @facts get differently? */
static bool differs(const struct policy_parts *seen, const struct policy_facts *facts)
{
	static const char *const addresses[] = { "10.1.2.3", "93.184.216.34", "127.0.0.1",
						 "2001:470::1", "64:ff9b::a01:203" };
	struct policy_verdict one, two;

	policy_decide(seen->before, facts, &one);
	policy_decide(seen->after, facts, &two);
	if (one.action != two.action || one.promise != two.promise)
		return true;
	for (size_t i = 0;
	     one.action == POLICY_ALLOW && facts->dst.addr.family == 0 && i < ARRAY_SIZE(addresses);
	     i++) {
		struct policy_verdict left, right;
		struct addr addr;

		ck_assert_int_eq(addr_parse(addresses[i], strlen(addresses[i]), &addr), 0);
		policy_decide_address(seen->before, &facts->dst, &one, &addr, &left);
		policy_decide_address(seen->after, &facts->dst, &two, &addr, &right);
		if (left.action != right.action)
			return true;
	}
	return false;
}

/* The other policy is the first with a rule changed, so that many pairs are the same. */
static void make_pair(struct policies_test_random *random, struct obvious_policy pair[2])
{
	struct obvious_policy donor;

	obvious_make(random, &pair[0]);
	pair[1] = pair[0];
	obvious_make(random, &donor);
	if (pair[1].count > 0 && donor.count > 0)
		pair[1].rules[policies_test_below(random, (uint32_t)pair[1].count)] =
			donor.rules[0];
	if (policies_test_below(random, 8) == 0)
		pair[1].fallback = donor.fallback;
}

START_TEST(no_sample_finds_more)
{
	struct policies_test_random random = { .state = 90210 + (uint32_t)_i };
	size_t same = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct obvious_policy pair[2];
		size_t count;

		make_pair(&random, pair);
		auto_free char *left = obvious_text(&pair[0]), *right = obvious_text(&pair[1]);
		struct policy_parts seen = { .before = policies_test_load(left),
					     .after = policies_test_load(right) };
		int r = compare(&seen, &count);

		ck_assert_int_ge(r, 0);
		for (int i = 0; r == 0 && i < REQUESTS; i++) {
			struct policy_facts facts;
			char shown[POLICY_DESTINATION_TEXT_MAX];

			obvious_request(&random, &facts);
			ck_assert_msg(!differs(&seen, &facts), "before:\n%s\nafter:\n%s\n%s", left,
				      right, policy_destination_text(&facts.dst, shown));
		}
		same += r == 0;
		policy_free(seen.before);
		policy_free(seen.after);
	}
	ck_assert_uint_gt(same, 1);
	ck_assert_uint_lt(same, ROUNDS - 1);
}
END_TEST

static const struct {
	const char *before, *after, *want;
} cases[] = {
	{ "default deny\nallow a.test\n", "default deny\nallow A.test.:80,443\n", "" },
	{ "default deny\nallow **.a.test\n", "default deny\nallow a.test\nallow *.a.test\n", "" },
	{ "default deny\nallow 10.0.0.0/8\n",
	  "default deny\nallow 10.0.0.0/9\nallow 10.128.0.0/9\n", "" },
	{ "default deny\nallow tcp://a.test:1-99\n",
	  "default deny\nallow tcp://a.test:1-50\nallow tcp://a.test:51-99\n", "" },
	/* What is never reachable makes no difference. */
	{ "default deny\n", "default deny\nallow tcp://169.254.169.254:*\n", "" },
	{ "default deny\n", "default deny\nallow a.test:22\n", "newly allowed tcp://a.test:22\n" },
	{ "default deny\nallow https://a.test\n", "default deny\nask https://a.test\n",
	  "newly asked tcp://a.test:443\nnewly asked https://a.test:443\n" },
	{ "default deny\nallow https://*.a.test\n",
	  "default deny\nallow https://*.a.test except b.a.test\n",
	  "newly denied https://b.a.test:443\n" },
	{ "default deny\nallow https://a.test\n",
	  "default deny\nallow https://a.test\nallow tcp://a.test:443\n",
	  "newly allowed tcp://a.test:443\nother bytes https://a.test:443\n" },
	{ "default deny\nallow https://a.test\n",
	  "default deny\nallow https://a.test\ndeny 8.8.8.8:443\n",
	  "newly denied https://a.test:443 at 8.8.8.8\n"
	  "newly denied https://a.test:443 at [64:ff9b::808:808]\n" },
	{ "default deny\nallow tcp://[2001:470::]/32:22\n", "default deny\n",
	  "newly denied tcp://[2001:470::]/32:22\n" },
};

START_TEST(says_what_changed)
{
	struct policy_parts seen = { .before = policies_test_load(cases[_i].before),
				     .after = policies_test_load(cases[_i].after) };
	size_t count;
	int r = compare(&seen, &count);

	ck_assert_int_eq(r, cases[_i].want[0] != '\0');
	ck_assert_str_eq(seen.text, cases[_i].want);
	ck_assert_uint_eq(count, seen.count);
	policy_free(seen.before);
	policy_free(seen.after);
}
END_TEST

START_TEST(shows_no_more_than_asked)
{
	struct policy_parts seen = { .before = policies_test_load("default deny\n"),
				     .after = policies_test_load("default allow\n") };
	size_t count;

	ck_assert_int_eq(
		policy_diff(seen.before, seen.after, 2, check_example, &seen, &count, NULL), 1);
	ck_assert_uint_eq(seen.count, 2);
	ck_assert_uint_gt(count, 2);
	policy_free(seen.before);
	policy_free(seen.after);
}
END_TEST

TCase *diff_cases(void)
{
	TCase *tests = tcase_create("diff");

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, no_sample_finds_more, 0, (int)policies_test_rounds(3));
	tcase_add_loop_test(tests, says_what_changed, 0, ARRAY_SIZE(cases));
	tcase_add_test(tests, shows_no_more_than_asked);
	return tests;
}
