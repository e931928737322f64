#include "tests/unit/policies/policies_test.h"

#include <string.h>

#include "base/mem.h"

#define WORDS_MAX 8

static const struct {
	const char *text;
	const char *argv[WORDS_MAX]; /* none: the command is not known */
	const char *program;
	enum policy_action want;
	enum policy_reason reason;
} cases[] = {
	/* by: the very executable, or no allow */
	{ "allow a.test by /bin/a", { "a" }, "/bin/a", POLICY_ALLOW, POLICY_RULE_ALLOW },
	{ "allow a.test by /bin/a", { "a" }, "/bin/b", POLICY_DENY, POLICY_DEFAULT_DENY },
	{ "allow a.test by /bin/a", { "a" }, "/tmp/bin/a", POLICY_DENY, POLICY_DEFAULT_DENY },
	{ "allow a.test by /bin/a", { "a" }, NULL, POLICY_DENY, POLICY_DEFAULT_DENY },
	{ "allow a.test by /bin/a", { "a" }, "", POLICY_DENY, POLICY_DEFAULT_DENY },
	{ "allow a.test by /bin/a", { NULL }, "/bin/a", POLICY_DENY, POLICY_DEFAULT_DENY },
	/* and not to know it keeps every denial */
	{ "allow a.test\ndeny a.test by /bin/a", { "a" }, "/bin/a", POLICY_DENY, POLICY_RULE_DENY },
	{ "allow a.test\ndeny a.test by /bin/a",
	  { "a" },
	  "/bin/b",
	  POLICY_ALLOW,
	  POLICY_RULE_ALLOW },
	{ "allow a.test\ndeny a.test by /bin/a", { "a" }, NULL, POLICY_DENY, POLICY_RULE_DENY },
	{ "allow a.test\nask a.test by /bin/a", { NULL }, NULL, POLICY_ASK, POLICY_ASKED },
	{ "default ask\nanswer allow a.test by /bin/a",
	  { "a" },
	  "/bin/a",
	  POLICY_ALLOW,
	  POLICY_ANSWER_ALLOW },
	{ "default ask\nanswer allow a.test by /bin/a",
	  { "a" },
	  "/bin/b",
	  POLICY_ASK,
	  POLICY_ASKED },
	/* from: token by token, through launchers */
	{ "allow a.test from \"pip install\"",
	  { "pip", "install", "x" },
	  NULL,
	  POLICY_ALLOW,
	  POLICY_RULE_ALLOW },
	{ "allow a.test from \" pip\tinstall \"",
	  { "pip", "install" },
	  NULL,
	  POLICY_ALLOW,
	  POLICY_RULE_ALLOW },
	{ "allow a.test from \"pip install\"",
	  { "pip", "installer" },
	  NULL,
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
	{ "allow a.test from \"pip install\"", { "pip" }, NULL, POLICY_DENY, POLICY_DEFAULT_DENY },
	{ "allow a.test from \"pip install\"",
	  { "./pip", "install" },
	  NULL,
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
	{ "allow a.test from \"pip install\"",
	  { "nice", "pip", "install", "x" },
	  NULL,
	  POLICY_ALLOW,
	  POLICY_RULE_ALLOW },
	{ "allow a.test from \"pip install\"",
	  { "sh", "-c", "pip install x" },
	  NULL,
	  POLICY_ALLOW,
	  POLICY_RULE_ALLOW },
	{ "allow a.test from \"pip install\"",
	  { "sh", "-c", "pip install x; curl a.test" },
	  NULL,
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
	{ "allow a.test from \"pip install\"",
	  { "sh", "-c", "pip install $(curl a.test)" },
	  NULL,
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
	{ "allow a.test from \"pip install\"",
	  { "sh", "-c", "pip install ((" },
	  NULL,
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
	{ "allow a.test from \"pip install\"", { NULL }, NULL, POLICY_DENY, POLICY_DEFAULT_DENY },
	/* to deny, one piece is enough, by whatever path, and so is a doubt */
	{ "allow a.test\ndeny a.test from \"curl\"",
	  { "sh", "-c", "ls; curl a.test" },
	  NULL,
	  POLICY_DENY,
	  POLICY_RULE_DENY },
	{ "allow a.test\ndeny a.test from \"curl\"",
	  { "/usr/bin/curl", "a.test" },
	  NULL,
	  POLICY_DENY,
	  POLICY_RULE_DENY },
	{ "allow a.test\ndeny a.test from \"curl\"",
	  { "sh", "-c", "ls ((" },
	  NULL,
	  POLICY_DENY,
	  POLICY_RULE_DENY },
	{ "allow a.test\ndeny a.test from \"curl\"",
	  { "wget", "curl" },
	  NULL,
	  POLICY_ALLOW,
	  POLICY_RULE_ALLOW },
	{ "allow a.test\ndeny a.test from \"curl\"",
	  { NULL },
	  NULL,
	  POLICY_DENY,
	  POLICY_RULE_DENY },
	/* both */
	{ "allow a.test from \"a\" by /bin/a", { "a" }, "/bin/a", POLICY_ALLOW, POLICY_RULE_ALLOW },
	{ "allow a.test from \"b\" by /bin/a",
	  { "a" },
	  "/bin/a",
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
	{ "allow a.test from \"a\" by /bin/b",
	  { "a" },
	  "/bin/a",
	  POLICY_DENY,
	  POLICY_DEFAULT_DENY },
};

START_TEST(who_asks)
{
	struct policy *policy = policies_test_load(cases[_i].text);
	struct policy_asker *asker = cases[_i].argv[0] ? policy_asker_new(cases[_i].argv) : NULL;
	struct policy_verdict verdict;
	struct policy_facts facts;

	policies_test_facts("https://a.test", &facts);
	facts.asker = asker;
	if (asker)
		policy_asker_set_program(asker, cases[_i].program);
	policy_decide(policy, &facts, &verdict);
	ck_assert_msg(verdict.action == cases[_i].want && verdict.reason == cases[_i].reason,
		      "%d %s\n%s (%s)", _i, cases[_i].text, policy_action_name(verdict.action),
		      policy_reason_code(verdict.reason));
	ck_assert_int_eq(policy_wants_program(policy), strstr(cases[_i].text, " by ") != NULL);
	policy_asker_free(asker);
	policy_free(policy);
}
END_TEST

/* The code that checks addresses does not know the program: only the rule that decided is used. */
START_TEST(an_address_is_judged_by_the_rule_that_decided)
{
	static const char *const argv[] = { "a", NULL };
	struct policy *policy = policies_test_load(
		"allow a.test by /bin/a except 192.0.2.0/24\nallow a.test by /bin/b private\n"
		"allow c.test by /bin/a private\n");
	struct policy_asker *asker = policy_asker_new(argv);
	struct policy_verdict verdict, dialled;
	struct policy_facts facts;
	struct addr outside, excepted;

	ck_assert_int_eq(addr_parse("1.1.1.1", 7, &outside), 0);
	ck_assert_int_eq(addr_parse("192.0.2.1", 9, &excepted), 0);
	policy_asker_set_program(asker, "/bin/a");
	policies_test_facts("https://a.test", &facts);
	facts.asker = asker;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policy_decide_address(policy, &facts.dst, &verdict, &outside, &dialled);
	ck_assert_int_eq(dialled.action, POLICY_ALLOW);
	verdict.may_private = true; /* as if: the exception alone is asked about here */
	policy_decide_address(policy, &facts.dst, &verdict, &excepted, &dialled);
	ck_assert_int_eq(dialled.action, POLICY_DENY);
	ck_assert_int_eq(dialled.reason, POLICY_RULE_DENY);
	policies_test_facts("https://c.test", &facts);
	facts.asker = asker;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policy_decide_address(policy, &facts.dst, &verdict, &excepted, &dialled);
	ck_assert_int_eq(dialled.action, POLICY_ALLOW);
	policy_asker_free(asker);
	policy_free(policy);
}
END_TEST

TCase *askers_cases(void)
{
	TCase *tcase = tcase_create("askers");

	tcase_add_loop_test(tcase, who_asks, 0, ARRAY_SIZE(cases));
	tcase_add_test(tcase, an_address_is_judged_by_the_rule_that_decided);
	return tcase;
}
