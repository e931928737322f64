#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"
#include "policies/policies_tools.h"

#define ROUNDS 300

/* One text a layer, NULL: none. */
static const struct {
	const char *managed, *user, *project, *line;
	const char *request;
	enum policy_reason want;
} cases_of_layers[] = {
	/* deny > ask > allow, in every layer */
	{ "deny a.test", "allow a.test", NULL, NULL, "a.test", POLICY_RULE_DENY },
	{ "allow a.test", "deny a.test", NULL, NULL, "a.test", POLICY_RULE_DENY },
	{ "allow a.test", NULL, NULL, "ask a.test", "a.test", POLICY_ASKED },
	{ "allow a.test", NULL, NULL, NULL, "a.test", POLICY_RULE_ALLOW },
	{ "allow a.test", "answer deny a.test", NULL, NULL, "a.test", POLICY_RULE_ALLOW },
	/* a project only narrows */
	{ NULL, NULL, "allow a.test", NULL, "a.test", POLICY_DEFAULT_DENY },
	{ NULL, "allow a.test", "deny a.test", NULL, "a.test", POLICY_RULE_DENY },
	{ NULL, "allow a.test", "ask a.test", NULL, "a.test", POLICY_ASKED },
	{ NULL, "default ask", "answer allow a.test", NULL, "a.test", POLICY_ASKED },
	{ NULL, "default ask", "answer deny a.test", NULL, "a.test", POLICY_ASKED },
	{ NULL, NULL, "allow a.test upload 1k", NULL, "a.test", POLICY_DEFAULT_DENY },
	{ NULL, "allow tcp://a.test:443", "deny http://a.test:443", NULL, "a.test",
	  POLICY_RULE_ALLOW },
	{ NULL, "ask a.test", "ask a.test private", NULL, "a.test", POLICY_ASKED },
	/* defaults */
	{ NULL, NULL, "default allow", NULL, "a.test", POLICY_DEFAULT_DENY },
	{ NULL, "default allow", "default ask", NULL, "a.test", POLICY_ASKED },
	{ NULL, "default allow", "default deny", NULL, "a.test", POLICY_DEFAULT_DENY },
	{ NULL, "default ask", "default allow", NULL, "a.test", POLICY_ASKED },
	{ "default deny", "default allow", NULL, NULL, "a.test", POLICY_DEFAULT_DENY },
	/* only */
	{ "only a.test", "allow *", NULL, NULL, "a.test", POLICY_RULE_ALLOW },
	{ "only a.test", "allow *", NULL, NULL, "b.test", POLICY_OUTSIDE_ONLY },
	{ "only a.test b.test\nonly c.test", "allow *", NULL, NULL, "b.test", POLICY_RULE_ALLOW },
	{ "only a.test b.test\nonly c.test", "allow *", NULL, NULL, "c.test", POLICY_RULE_ALLOW },
	{ "only a.test", "ask *", NULL, NULL, "b.test", POLICY_OUTSIDE_ONLY },
	{ "only a.test", "default ask\nanswer allow b.test", NULL, NULL, "b.test",
	  POLICY_OUTSIDE_ONLY },
	{ "only a.test", "default allow", NULL, NULL, "b.test", POLICY_OUTSIDE_ONLY },
	{ "only a.test", NULL, NULL, "allow b.test", "b.test", POLICY_OUTSIDE_ONLY },
	{ "only a.test\nallow b.test", NULL, NULL, NULL, "b.test", POLICY_OUTSIDE_ONLY },
	{ "only a.test", NULL, NULL, NULL, "a.test", POLICY_DEFAULT_DENY }, /* allows nothing */
	{ "only a.test", "deny b.test", NULL, NULL, "b.test", POLICY_RULE_DENY },
	{ "only https://a.test", "allow a.test:*", NULL, NULL, "http://a.test",
	  POLICY_OUTSIDE_ONLY },
	{ "only https://a.test", "allow tcp://a.test:443", NULL, NULL, "tcp://a.test:443",
	  POLICY_OUTSIDE_ONLY },
	{ "only a.test", "allow a.test:8443", NULL, NULL, "tcp://a.test:8443",
	  POLICY_OUTSIDE_ONLY },
	{ "only **.a.test because \"the house\"", "allow *", NULL, NULL, "c.b.a.test",
	  POLICY_RULE_ALLOW },
	{ "only 8.8.0.0/16", "allow *", NULL, NULL, "8.8.8.8", POLICY_RULE_ALLOW },
	{ "only 8.8.0.0/16", "allow *", NULL, NULL, "9.9.9.9", POLICY_OUTSIDE_ONLY },
	{ "only 8.8.0.0/16", "allow *", NULL, NULL, "a.test", POLICY_OUTSIDE_ONLY },
	{ "only a.test", NULL, NULL, NULL, "tcp://localhost:8000", POLICY_INSIDE },
	{ "only a.test", "allow localhost:8000", NULL, NULL, "tcp://localhost:8000",
	  POLICY_OUTSIDE_ONLY },
};

static void load(struct policy *policy, const char *name, const char *text, enum policy_layer layer)
{
	if (!text)
		return;
	int r = policy_load_text_layer(policy, name, text, layer);

	ck_assert_msg(r == 0, "%s", policy_errors(policy));
}

START_TEST(layer)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	load(policy, "<managed>", cases_of_layers[_i].managed, POLICY_MANAGED);
	load(policy, "<user>", cases_of_layers[_i].user, POLICY_USER);
	load(policy, "<project>", cases_of_layers[_i].project, POLICY_PROJECT);
	load(policy, "--policy", cases_of_layers[_i].line, POLICY_COMMAND_LINE);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, cases_of_layers[_i].request, &verdict);
	ck_assert_msg(verdict.reason == cases_of_layers[_i].want, "%d: %s", _i,
		      policy_reason_code(verdict.reason));
	policy_free(policy);
}
END_TEST

/* A trusted project's file counts like the others. */
START_TEST(a_trusted_project)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;
	int64_t ms;

	load(policy, "<project>",
	     "default allow\nallow a.test\nwrite /\nhide x\nread /\nprompt-timeout 1h\n"
	     "protect y\nunprotect z\nlimit processes 50\nlimit questions 500\n"
	     "limit records 1\nlimit memory 1g\nlimit connections 20000",
	     POLICY_TRUSTED);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_RULE_ALLOW);
	policies_test_decide(policy, "b.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_DEFAULT_ALLOW);
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_WRITE, 0));
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_READ, 0));
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_HIDE, 0), "x");
	ck_assert_str_eq(policy_get_path(policy, POLICY_PATH_PROTECT, 0), "y");
	ck_assert_ptr_null(policy_get_path(policy, POLICY_PATH_UNPROTECT, 0));
	ck_assert(!policy_get_prompt_timeout(policy, &ms));
	/* It takes away, and gives nothing; and it does not say what is recorded. */
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_PROCESSES), 50);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_QUESTIONS), 64);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_RECORDS), 64);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_MEMORY), 1ULL << 30);
	ck_assert_uint_eq(policy_limit_held(policy, POLICY_LIMIT_CONNECTIONS), 16384);
	ck_assert_ptr_nonnull(strstr(policy_notes(policy), "7 lines of this project's file"));
	policy_free(policy);
}
END_TEST

/* --default applies, but cannot be less strict than the managed layer. */
START_TEST(the_managed_default)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	load(policy, "<managed>", "default deny", POLICY_MANAGED);
	policy_set_default(policy, POLICY_ALLOW);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_DEFAULT_DENY);
	policy_free(policy);
}
END_TEST

/* `only https://` keeps a tcp:// rule to TLS. */
START_TEST(only_bounds_the_promise)
{
	struct policy *policy = policy_new();
	struct policy_verdict verdict;

	load(policy, "<managed>", "only https://a.test", POLICY_MANAGED);
	load(policy, "<user>", "allow tcp://a.test:443", POLICY_USER);
	ck_assert_int_eq(policy_finish(policy), 0);
	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(verdict.promise, POLICY_HTTPS);
	policy_free(policy);
}
END_TEST

static const struct {
	const char *text;
	int column;
	const char *words;
} bad_only[] = {
	{ "only", 5, "the destination is missing" },
	{ "only because \"x\"", 17, "the destination is missing" },
	{ "only a.test because", 20, "`because` needs a text" },
	{ "only a.test because \"x\" b.test", 25, "unexpected text at the end of the line" },
	{ "only a.test *.com", 13, "the wildcard matches a public suffix" },
	{ "only \"a.test\"", 6, "a destination must not be in quotes" },
	{ "only a..test", 8, "the host has an empty label" },
};

START_TEST(only_mistake)
{
	struct policy *policy = policy_new();
	auto_free char *want =
		mem_printf("<m>:1:%d: error: %s", bad_only[_i].column, bad_only[_i].words);

	ck_assert_int_eq(policy_load_text_layer(policy, "<m>", bad_only[_i].text, POLICY_MANAGED),
			 -EINVAL);
	ck_assert_msg(strncmp(policy_errors(policy), want, strlen(want)) == 0, "%s",
		      policy_errors(policy));
	policy_free(policy);
}
END_TEST

static struct policy *random_layers(struct policies_test_random *random, const char *added,
				    enum policy_layer added_layer)
{
	static const enum policy_layer all[] = { POLICY_PROJECT, POLICY_TRUSTED,
						 POLICY_COMMAND_LINE, POLICY_USER, POLICY_MANAGED };
	static const char *const only[] = { "", "only **.a.test\n", "only https://*:443\n",
					    "only 8.8.0.0/16 *:8000\n" };
	struct policy *policy = policy_new();

	load(policy, "<only>", only[policies_test_below(random, ARRAY_SIZE(only))], POLICY_MANAGED);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		struct obvious_policy rules;

		obvious_make(random, &rules);
		rules.count = rules.count > 3 ? 3 : rules.count;
		auto_free char *text = obvious_text(&rules);

		load(policy, policy_layer_name(all[i]), text, all[i]);
	}
	load(policy, "<added>", added, added_layer);
	ck_assert_int_eq(policy_finish(policy), 0);
	return policy;
}

/* No allow in any layer removes a denial or `only`; one of an untrusted project has no effect. */
START_TEST(an_allow_is_added)
{
	static const enum policy_layer all[] = { POLICY_PROJECT, POLICY_TRUSTED,
						 POLICY_COMMAND_LINE, POLICY_USER, POLICY_MANAGED };
	static const char *const added[] = { "allow *:*",           "allow tcp://**.a.test:*",
					     "allow 0.0.0.0/0:*",   "answer allow *:*",
					     "allow *:* upload 1k", "default allow" };
	struct policies_test_random random = { .state = 911 + (uint32_t)_i };
	size_t denials = 0, outside = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct policies_test_random same = random;
		struct policy *before = random_layers(&random, NULL, POLICY_USER);
		struct policy *after = random_layers(
			&same, added[policies_test_below(&random, ARRAY_SIZE(added))], all[_i]);

		for (int i = 0; i < 24; i++) {
			struct policy_facts facts;
			struct policy_verdict one, two;

			obvious_request(&random, &facts);
			policy_decide(before, &facts, &one);
			policy_decide(after, &facts, &two);
			denials += one.reason == POLICY_RULE_DENY;
			outside += one.reason == POLICY_OUTSIDE_ONLY;
			if (one.reason == POLICY_RULE_DENY || one.reason == POLICY_OUTSIDE_ONLY)
				ck_assert_int_eq(two.reason, one.reason);
			if (all[_i] == POLICY_PROJECT)
				ck_assert_int_eq(two.reason, one.reason);
		}
		policy_free(before);
		policy_free(after);
	}
	ck_assert_uint_gt(denials, ROUNDS);
	ck_assert_uint_gt(outside, ROUNDS);
}
END_TEST

TCase *layers_cases(void)
{
	TCase *cases = tcase_create("layers");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, layer, 0, ARRAY_SIZE(cases_of_layers));
	tcase_add_test(cases, a_trusted_project);
	tcase_add_test(cases, the_managed_default);
	tcase_add_test(cases, only_bounds_the_promise);
	tcase_add_loop_test(cases, only_mistake, 0, ARRAY_SIZE(bad_only));
	tcase_add_loop_test(cases, an_allow_is_added, 0, 5);
	return cases;
}
