#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/policies/policies_test.h"

#define START  1900000000 /* 2030-03-17T17:46:40Z */
#define ROUNDS 24

struct policy_parts {
	char text[4096];
};

static struct policy *load(const char *text, enum policy_layer layer)
{
	struct policy *policy = policy_new();

	ck_assert_msg(policy_load_text_layer(policy, "<test>", text, layer) == 0, "%s\n%s", text,
		      policy_errors(policy));
	policy_set_start(policy, START);
	ck_assert_int_eq(policy_finish(policy), 0);
	return policy;
}

static void note(const struct policy_change *change, void *arg)
{
	struct policy_parts *seen = arg;
	size_t used = strlen(seen->text);

	(void)snprintf(seen->text + used, sizeof(seen->text) - used, "%s %s%s%s%s%s\n",
		       change->what, change->destination, change->resolved[0] ? " at " : "",
		       change->resolved, change->from[0] ? " from " : "", change->from);
}

static const struct {
	enum policy_layer layer;
	const char *before, *after, *want;
} cases[] = {
	/* Time. */
	{ POLICY_USER, "default deny\nallow https://a.test until 2031-01-01\n",
	  "default deny\nallow https://a.test\n",
	  "newly allowed https://a.test:443 from 2031-01-01T00:00:00Z\n" },
	{ POLICY_USER, "default deny\nallow https://a.test until 2030-01-01\n", "default deny\n",
	  "" },
	{ POLICY_USER, "default deny\nallow https://a.test for 1h\n",
	  "default deny\nallow https://a.test until 2030-03-17T18:46:40Z\n", "" },
	{ POLICY_USER, "default deny\nallow https://a.test for 1h\n",
	  "default deny\nallow https://a.test for 2h\n",
	  "newly allowed https://a.test:443 from 2030-03-17T18:46:40Z\n" },
	/* Told once, for the time at which it begins. */
	{ POLICY_USER, "default deny\n",
	  "default deny\nallow https://a.test\n"
	  "deny b.test until 2031-01-01\ndeny c.test until 2032-01-01\n",
	  "newly allowed https://a.test:443\n" },
	{ POLICY_USER, "default ask\ndeny tcp://a.test:22 until 2031-01-01\n", "default ask\n",
	  "newly asked tcp://a.test:22\n" },
	{ POLICY_USER,
	  "default ask\nanswer allow https://a.test for 1h   # by ana on tty, 2030-03-17T17:46Z\n",
	  "default ask\n", "newly asked https://a.test:443\n" },
	/* What is not enforced denies, or holds always. */
	{ POLICY_USER, "default deny\nallow a.test\n", "default deny\nallow a.test no-inspect\n",
	  "" },
	{ POLICY_USER, "default deny\nallow http://a.test private\n",
	  "default deny\nallow http://a.test\nallow http://10.0.0.1\n",
	  "newly denied http://a.test:80 at 0.0.0.0/0 except 10.0.0.1\n"
	  "newly denied http://a.test:80 at [::]/0\n"
	  "newly denied http://a.test:80 at [::10.0.0.1]\n"
	  "newly allowed http://10.0.0.1:80\n" },
	/* Answers, where there is a question. */
	{ POLICY_USER, "default ask\nanswer allow https://a.test\n",
	  "default ask\nallow https://a.test\n", "" },
	{ POLICY_USER, "default deny\nanswer allow https://a.test\n", "default deny\n", "" },
	{ POLICY_USER, "default ask\nask https://a.test\nanswer allow https://a.test\n",
	  "default ask\nask https://a.test\nallow https://a.test\n",
	  "newly asked https://a.test:443\n" },
	/* Where nobody is asked. */
	{ POLICY_USER, "default ask\napprovals never\n", "default deny\n", "" },
	/* Layers: a project's allow does not count. */
	{ POLICY_PROJECT, "default deny\n", "default deny\nallow a.test\n", "" },
	{ POLICY_PROJECT, "default ask\n", "default ask\nallow a.test\ndeny tcp://b.test:22\n",
	  "newly denied tcp://b.test:22\n" },
	/* `only` */
	{ POLICY_MANAGED, "default allow\n", "default allow\nonly https://a.test\n", NULL },
	{ POLICY_MANAGED, "default deny\nallow https://*.a.test\nonly https://*.a.test\n",
	  "default deny\nallow https://*.a.test\n", "" },
	{ POLICY_MANAGED, "default deny\nallow https://*.a.test\nonly https://b.a.test\n",
	  "default deny\nallow https://*.a.test\n",
	  "newly allowed https://*.a.test:443 except **.b.a.test\n"
	  "newly allowed https://*.b.a.test:443\n" },
	{ POLICY_MANAGED, "default ask\nonly tcp://a.test:1-99\n",
	  "default ask\nonly tcp://a.test:1-98\n", "newly denied tcp://a.test:99\n" },
};

START_TEST(says_what_changed)
{
	struct policy *before = load(cases[_i].before, cases[_i].layer);
	struct policy *after = load(cases[_i].after, cases[_i].layer);
	struct policy_parts seen = { .text = "" };
	struct err why = { 0 };
	size_t count = 0;
	int r = policy_diff(before, after, 100, note, &seen, &count, &why);

	ck_assert_msg(r >= 0, "%s", why.text);
	if (cases[_i].want)
		ck_assert_str_eq(seen.text, cases[_i].want);
	ck_assert_int_eq(r, !cases[_i].want || cases[_i].want[0] != '\0');
	policy_free(before);
	policy_free(after);
}
END_TEST

static char *make_policy(struct policies_test_random *random)
{
	static const char *const actions[] = { "allow", "allow", "deny", "ask", "only" };
	static const char *const protocols[] = { "", "tcp://", "https://" };
	static const char *const hosts[] = { "a.test",    "*.a.test", "b.a.test",
					     "**.b.test", "8.8.8.8",  "8.8.0.0/16" };
	static const char *const ends[] = {
		"", "", " until 2030-06-01", " until 2031-01-01", " for 1h", " for 7d"
	};
	char *out = mem_strdup("default ask\n");
	uint32_t count = 1 + policies_test_below(random, 6);

	for (uint32_t i = 0; i < count; i++) {
		auto_free char *before = out;
		uint32_t action = policies_test_below(random, ARRAY_SIZE(actions));

		out = mem_printf("%s%s %s%s%s\n", before, actions[action],
				 protocols[policies_test_below(random, ARRAY_SIZE(protocols))],
				 hosts[policies_test_below(random, ARRAY_SIZE(hosts))],
				 action == 4 ? ""
					     : ends[policies_test_below(random, ARRAY_SIZE(ends))]);
	}
	return out;
}

static void make_request(struct policies_test_random *random, struct policy_facts *ret)
{
	static const int64_t ages[] = { 0,      1,       3599,    3600,     3601,     604799,
					604800, 7000000, 6500000, 24999999, 25000000, 60000000 };

	obvious_request(random, ret);
	ret->now = START + ages[policies_test_below(random, ARRAY_SIZE(ages))];
}

/* @random's own requests find nothing where the proof found nothing. */
START_TEST(no_sample_finds_more)
{
	struct policies_test_random random = { .state = 4711 + (uint32_t)_i };
	size_t same = 0;

	for (int round = 0; round < ROUNDS; round++) {
		auto_free char *left = make_policy(&random), *extra = make_policy(&random);
		/* One line more: often it changes nothing. */
		const char *last = strchr(extra, '\n') + 1;
		auto_free char *longer =
			mem_printf("%s%.*s\n", left, (int)strcspn(last, "\n"), last);
		struct policy *before = load(left, POLICY_MANAGED);
		struct policy *after = load(longer, POLICY_MANAGED);
		struct policy_parts seen = { .text = "" };
		size_t count = 0;
		int r = policy_diff(before, after, 20, note, &seen, &count, NULL);

		ck_assert_int_ge(r, 0);
		for (int i = 0; r == 0 && i < 300; i++) {
			struct policy_facts facts;
			struct policy_verdict one, two;

			make_request(&random, &facts);
			policy_decide(before, &facts, &one);
			policy_decide(after, &facts, &two);
			ck_assert_msg(one.action == two.action && one.promise == two.promise,
				      "%s\n%s\n%s:%u", left, longer, facts.dst.host,
				      facts.dst.port);
		}
		same += r == 0;
		policy_free(before);
		policy_free(after);
	}
	ck_assert_uint_gt(same, 0);
	ck_assert_uint_lt(same, ROUNDS);
}
END_TEST

TCase *diff_clauses_cases(void)
{
	TCase *tests = tcase_create("diff-clauses");

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, says_what_changed, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tests, no_sample_finds_more, 0, (int)policies_test_rounds(3));
	return tests;
}
