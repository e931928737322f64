#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_agent.h"
#include "policies/policies_gate.h"
#include "policies/policies_image.h"
#include "tests/unit/policies/policies_test.h"

#define ALL    POLICY_ABOUT_ALL
#define NEVER  POLICY_APPROVALS_NEVER
#define ASKED  POLICY_APPROVALS_ON_REQUEST
#define STRICT POLICY_APPROVALS_UNTRUSTED
#define LATE   POLICY_APPROVALS_ON_FAILURE

/* In one layer each; NULL: nothing there. */
static const struct {
	const char *managed, *user, *project;
	enum policy_approvals_mode mode;
	unsigned int may_ask;
} approvals[] = {
	{ NULL, NULL, NULL, ASKED, ALL },
	{ NULL, "approvals on-request", NULL, ASKED, ALL },
	{ NULL, "approvals untrusted", NULL, STRICT, ALL },
	{ NULL, "approvals on-failure", NULL, LATE, ALL },
	{ NULL, "approvals never", NULL, NEVER, 0 },
	{ NULL, "approvals granular sandbox rules", NULL, ASKED,
	  POLICY_ABOUT_SANDBOX | POLICY_ABOUT_RULES },
	{ NULL, "approvals granular network elicitation permissions", NULL, ASKED,
	  POLICY_ABOUT_NETWORK | POLICY_ABOUT_ELICITATION | POLICY_ABOUT_PERMISSIONS },
	{ NULL, "approvals granular sandbox rules permissions elicitation network", NULL, ASKED,
	  ALL },
	/* the older spelling says what is not asked */
	{ NULL, "approvals reject sandbox", NULL, ASKED,
	  ALL & ~(unsigned int)POLICY_ABOUT_SANDBOX },
	{ NULL, "approvals reject sandbox rules permissions elicitation network", NULL, ASKED, 0 },
	/* the strictest mode, and what all of them let be asked */
	{ "approvals untrusted", "approvals on-failure", NULL, STRICT, ALL },
	{ "approvals on-failure", "approvals untrusted", NULL, STRICT, ALL },
	{ "approvals on-failure", "approvals granular network", NULL, ASKED, POLICY_ABOUT_NETWORK },
	{ "approvals granular network rules", "approvals granular rules sandbox", NULL, ASKED,
	  POLICY_ABOUT_RULES },
	{ "approvals granular network", "approvals reject network", NULL, ASKED, 0 },
	{ "approvals untrusted", "approvals granular rules", NULL, STRICT, POLICY_ABOUT_RULES },
	{ "approvals never", "approvals untrusted", NULL, NEVER, 0 },
	{ "approvals untrusted", "approvals never", NULL, NEVER, 0 },
	/* a project narrows, and nothing else */
	{ NULL, NULL, "approvals on-failure", ASKED, ALL },
	{ NULL, "approvals untrusted", "approvals on-failure", STRICT, ALL },
	{ NULL, "approvals on-failure", "approvals on-failure", LATE, ALL },
	{ NULL, "approvals on-failure", "approvals untrusted", STRICT, ALL },
	{ NULL, "approvals granular rules", "approvals granular network rules", ASKED,
	  POLICY_ABOUT_RULES },
	{ NULL, NULL, "approvals never", NEVER, 0 },
};

static void load(struct policy *policy, const char *text, enum policy_layer layer)
{
	if (text)
		ck_assert_msg(policy_load_text_layer(policy, "<test>", text, layer) == 0, "%s",
			      policy_errors(policy));
}

static struct policy *load_layers(const char *managed, const char *user, const char *project)
{
	struct policy *policy = policy_new();

	load(policy, managed, POLICY_MANAGED);
	load(policy, user, POLICY_USER);
	load(policy, project, POLICY_PROJECT);
	ck_assert_int_eq(policy_finish(policy), 0);
	return policy;
}

/* The same of the image that workers map. */
static struct policy *through_image(struct policy *policy)
{
	struct err why = { 0 };
	int fd = policy_image_make(policy, &why);
	struct policy *image = NULL;

	ck_assert_msg(fd >= 0, "%s", why.text);
	ck_assert_msg(policy_image_open(fd, &image, &why) == 0, "%s", why.text);
	policy_free(policy);
	return image;
}

START_TEST(when_people_are_asked)
{
	struct policy *policy =
		load_layers(approvals[_i].managed, approvals[_i].user, approvals[_i].project);
	struct policy_approvals said;
	char rule[POLICY_TEXT_MAX];

	for (int i = 0; i < 2; i++) {
		policy_get_approvals(policy, &said);
		ck_assert_int_eq(said.mode, approvals[_i].mode);
		ck_assert_uint_eq(said.may_ask, approvals[_i].may_ask);
		for (unsigned int about = 1; about < ALL; about <<= 1)
			ck_assert_int_eq(policy_may_not_ask(
						 policy, (enum policy_approvals_about)about, rule),
					 !(said.may_ask & about));
		if (i == 0)
			policy = through_image(policy);
	}
	policy_free(policy);
}
END_TEST

START_TEST(a_denial_names_the_line)
{
	struct policy *policy = policies_test_load("default ask\napprovals granular rules sandbox");
	struct policy_verdict verdict;
	char rule[POLICY_TEXT_MAX];

	policies_test_decide(policy, "https://a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	ck_assert_int_eq(verdict.reason, POLICY_NO_APPROVER);
	ck_assert_str_eq(verdict.because, "<test>:2: approvals granular rules sandbox");
	ck_assert(policy_may_not_ask(policy, POLICY_ABOUT_ELICITATION, rule));
	ck_assert_str_eq(rule, "<test>:2: approvals granular rules sandbox");
	policy_free(policy);
}
END_TEST

static const struct {
	const char *managed, *user, *project;
	bool want;
} durables[] = {
	{ NULL, NULL, NULL, false },
	{ NULL, "durable batch", NULL, false },
	{ NULL, "durable strict", NULL, true },
	{ "durable strict", "durable batch", "durable batch", true },
	{ "durable batch", "durable strict", NULL, true },
	{ NULL, "durable batch", "durable strict", true },
};

#define DAY_MS INT64_C(86400000)

static const struct {
	const char *managed, *user, *project;
	int64_t age_ms; /* 0: no line */
	uint64_t bytes;
} keeps[] = {
	{ NULL, NULL, NULL, 0, 0 },
	{ NULL, NULL, "audit keep 1d 1m", 0, 0 },
	{ NULL, "audit keep 90d 2g", NULL, 90 * DAY_MS, 2ULL << 30 },
	{ NULL, "audit keep 3m 90d", "audit keep 100d 4m", 90 * DAY_MS, 3U << 20 },
	{ NULL, "audit keep 90d", NULL, 90 * DAY_MS, INT64_MAX },
	{ NULL, "audit keep 2g", NULL, INT64_MAX, 2ULL << 30 },
	{ "audit keep 365d 1m", "audit keep 90d 2g", NULL, 365 * DAY_MS, 2ULL << 30 },
	{ "audit keep 365d", "audit keep 2g", NULL, INT64_MAX, INT64_MAX },
};

START_TEST(the_line_that_keeps_most_of_the_log_holds)
{
	struct policy *policy =
		through_image(load_layers(keeps[_i].managed, keeps[_i].user, keeps[_i].project));
	uint64_t bytes;
	int64_t age_ms;

	ck_assert(policy_get_keep(policy, &age_ms, &bytes) == (keeps[_i].age_ms != 0));
	ck_assert_int_eq(age_ms, keeps[_i].age_ms);
	ck_assert_uint_eq(bytes, keeps[_i].bytes);
	policy_free(policy);
}
END_TEST

START_TEST(the_strictest_line_about_the_disk_holds)
{
	struct policy *policy =
		load_layers(durables[_i].managed, durables[_i].user, durables[_i].project);

	ck_assert_int_eq(policy_is_durable(policy), durables[_i].want);
	policy = through_image(policy);
	ck_assert_int_eq(policy_is_durable(policy), durables[_i].want);
	policy_free(policy);
}
END_TEST

static const struct {
	const char *managed, *user, *project;
	enum policy_on_denial want;
} denials[] = {
	{ NULL, NULL, NULL, POLICY_DENIAL_REPORT },
	{ NULL, "on-denial report", NULL, POLICY_DENIAL_REPORT },
	{ NULL, "on-denial fail", NULL, POLICY_DENIAL_FAIL },
	{ NULL, "on-denial stop", NULL, POLICY_DENIAL_STOP },
	{ "on-denial report", "on-denial fail", NULL, POLICY_DENIAL_FAIL },
	{ "on-denial stop", "on-denial report", NULL, POLICY_DENIAL_STOP },
	{ NULL, "on-denial report", "on-denial stop", POLICY_DENIAL_STOP },
	{ NULL, "on-denial stop", "on-denial report", POLICY_DENIAL_STOP },
};

START_TEST(what_a_denial_does)
{
	struct policy *policy =
		load_layers(denials[_i].managed, denials[_i].user, denials[_i].project);

	ck_assert_int_eq(policy_get_on_denial(policy), denials[_i].want);
	policy = through_image(policy);
	ck_assert_int_eq(policy_get_on_denial(policy), denials[_i].want);
	policy_free(policy);
}
END_TEST

static const struct {
	const char *line, *rule;
	bool is_trusted;
} trusted[] = {
	{ "reviewer /bin/a for exec network trusted",
	  "<test>:1: reviewer /bin/a for exec network trusted", true },
	{ "reviewer /bin/a for exec", "<test>:1: reviewer /bin/a for exec", false },
	{ "reviewer /bin/a trusted for exec", "<test>:1: reviewer /bin/a trusted for exec", false },
};

START_TEST(a_reviewer_may_be_trusted)
{
	struct policy *policy = through_image(
		load_layers(trusted[_i].line, NULL, "reviewer /bin/b for exec trusted"));
	struct policy_helper helper;

	ck_assert(policy_get_helper(policy, POLICY_HELPS_ALL, 0, &helper));
	ck_assert(helper.is_trusted == trusted[_i].is_trusted);
	ck_assert_str_eq(helper.rule, trusted[_i].rule);
	policy_helper_done(&helper);
	ck_assert(!policy_get_helper(policy, POLICY_HELPS_ALL, 1, &helper));
	policy_free(policy);
}
END_TEST

START_TEST(programs_are_read_word_by_word)
{
	struct policy *policy = load_layers(
		"reviewer /usr/bin/judge --strict for exec patch",
		"hook ~/bin/check \"a b\" for \"for\" \"\\\"\" for patch elicitation permissions",
		"hook /bin/evil for exec\nreviewer /bin/evil for exec");
	struct policy_helper helper;

	ck_assert(policy_get_helper(policy, POLICY_HELPS_ALL, 0, &helper));
	ck_assert(helper.is_reviewer);
	ck_assert_uint_eq(helper.kinds, POLICY_HELPS_EXEC | POLICY_HELPS_PATCH);
	ck_assert_int_eq(helper.layer, POLICY_MANAGED);
	ck_assert_str_eq(helper.argv[0], "/usr/bin/judge");
	ck_assert_str_eq(helper.argv[1], "--strict");
	ck_assert_ptr_null(helper.argv[2]);
	ck_assert_str_eq(helper.rule, "<test>:1: reviewer /usr/bin/judge --strict for exec patch");
	policy_helper_done(&helper);
	ck_assert(policy_get_helper(policy, POLICY_HELPS_ALL, 1, &helper));
	ck_assert(!helper.is_reviewer);
	ck_assert_uint_eq(helper.kinds,
			  POLICY_HELPS_PATCH | POLICY_HELPS_ELICITATION | POLICY_HELPS_PERMISSIONS);
	ck_assert_str_eq(helper.argv[0], "~/bin/check");
	ck_assert_str_eq(helper.argv[1], "a b");
	ck_assert_str_eq(helper.argv[2], "for");
	ck_assert_str_eq(helper.argv[3], "for");
	ck_assert_str_eq(helper.argv[4], "\"");
	ck_assert_ptr_null(helper.argv[5]);
	policy_helper_done(&helper);
	ck_assert(!policy_get_helper(policy, POLICY_HELPS_ALL, 2,
				     &helper)); /* those of the project */
	ck_assert(policy_get_helper(policy, POLICY_HELPS_NETWORK | POLICY_HELPS_EXEC, 0, &helper));
	ck_assert_uint_eq(helper.kinds, POLICY_HELPS_EXEC);
	ck_assert_ptr_nonnull(strstr(helper.rule, "for exec patch"));
	policy_helper_done(&helper);
	ck_assert(policy_get_helper(policy, POLICY_HELPS_ELICITATION, 0, &helper));
	ck_assert(!helper.is_reviewer);
	policy_helper_done(&helper);
	ck_assert(!policy_get_helper(policy, POLICY_HELPS_NETWORK, 0, &helper));
	ck_assert_ptr_nonnull(
		strstr(policy_notes(policy), "2 lines of this project's file do not"));
	ck_assert_str_eq(policy_helper_kind_name(POLICY_HELPS_PATCH), "patch");
	ck_assert_str_eq(policy_helper_kind_name((enum policy_helper_kind)3), "");
	policy_free(policy);
}
END_TEST

/* One mistake each: its column, and the words. */
static const struct {
	const char *text;
	int column;
	const char *words;
} mistakes[] = {
	{ "approvals granular", 19, "the line is not complete" },
	{ "approvals reject", 17, "the line is not complete" },
	{ "approvals granular sandbox sandbox", 28, "this word is on the line twice" },
	{ "approvals granular skill", 20, "this is not a category of questions" },
	{ "approvals granular \"sandbox\"", 20, "this is not a category of questions" },
	{ "approvals never network", 17, "unexpected text at the end of the line" },
	{ "approvals untrusted sandbox", 21, "unexpected text at the end of the line" },
	{ "approvals \"never\"", 11, "this is not an approval mode" },
	{ "approvals Never", 11, "this is not an approval mode" },
	{ "on-denial", 10, "the line is not complete" },
	{ "on-denial kill", 11, "this is not an action after a denial" },
	{ "on-denial \"stop\"", 11, "this is not an action after a denial" },
	{ "on-denial stop fail", 16, "unexpected text at the end of the line" },
	{ "durable", 8, "the line is not complete" },
	{ "durable never", 9, "strict or batch" },
	{ "durable \"strict\"", 9, "strict or batch" },
	{ "durable strict batch", 16, "unexpected text at the end of the line" },
	{ "audit", 6, "the line is not complete" },
	{ "audit keep", 11, "the line is not complete" },
	{ "audit drop 90d", 7, "keep" },
	{ "audit keep 12h", 12, "an age from 1d to 36500d" },
	{ "audit keep 0d", 12, "an age from 1d to 36500d" },
	{ "audit keep 36501d", 12, "an age from 1d to 36500d" },
	{ "audit keep 64k", 12, "an age from 1d to 36500d" },
	{ "audit keep \"90d\"", 12, "an age from 1d to 36500d" },
	{ "audit keep 90d 80d", 16, "an age from 1d to 36500d" },
	{ "audit keep 1g 2g", 15, "an age from 1d to 36500d" },
	{ "audit keep 90d 2g 1", 19, "unexpected text at the end of the line" },
	{ "hook", 1, "the program's path, and what it answers for" },
	{ "hook /bin/a", 1, "the program's path, and what it answers for" },
	{ "hook /bin/a for", 1, "the program's path, and what it answers for" },
	{ "hook for exec", 1, "the program's path, and what it answers for" },
	{ "hook /bin/a exec", 1, "the program's path, and what it answers for" },
	{ "hook a for exec", 6, "a program is named by one path, without *, ?, [ and $" },
	{ "hook ../a for exec", 6, "a program is named by one path, without *, ?, [ and $" },
	{ "hook $HOME/a for exec", 6, "a program is named by one path, without *, ?, [ and $" },
	{ "hook /bin/* for exec", 6, "a program is named by one path, without *, ?, [ and $" },
	{ "hook \"\" for exec", 6, "a program is named by one path, without *, ?, [ and $" },
	{ "hook ~ana/a for exec", 6, "a program is named by one path, without *, ?, [ and $" },
	{ "hook /bin/a for everything", 17, "this is not a kind of question" },
	{ "hook /bin/a for exec exec", 22, "this word is on the line twice" },
	{ "hook /bin/a for exec network", 17, "a hook cannot answer for the network" },
	{ "reviewer /bin/a for sandbox", 21, "this is not a kind of question" },
	{ "reviewer /bin/a for exec \"trusted\"", 26, "this is not a kind of question" },
	{ "reviewer /bin/a for trusted", 1, "the program's path, and what it answers for" },
	{ "hook /bin/a for exec trusted", 22, "this is not a kind of question" },
	{ "reviewer \"/bin/\\a\" for exec", 16, "unknown escape \"\\\\a\" in this string" },
};

START_TEST(a_mistake_is_shown_where_it_is)
{
	struct policy *policy = policy_new();
	int r = policy_load_text(policy, "<test>", mistakes[_i].text);
	auto_free char *want =
		mem_printf("<test>:1:%d: error: %s", mistakes[_i].column, mistakes[_i].words);

	ck_assert_msg(r < 0, "accepted: %s", mistakes[_i].text);
	ck_assert_msg(strncmp(policy_errors(policy), want, strlen(want)) == 0, "wanted %s\ngot %s",
		      want, policy_errors(policy));
	ck_assert_uint_eq(policy_error_count(policy), 1);
	policy_free(policy);
}
END_TEST

START_TEST(settings_can_be_listed_as_they_stand)
{
	struct policy *policy = load_layers("  approvals  granular  rules   # mostly\n"
					    "prompt-timeout 5m\nallow a.test",
					    "hook /bin/a for exec\non-denial fail",
					    "approvals on-failure\nhide /etc");
	static const struct {
		const char *word, *rule;
		enum policy_match match;
	} want[] = {
		{ "approvals", "<test>:1: approvals  granular  rules   # mostly", POLICY_MATCHES },
		{ "prompt-timeout", "<test>:2: prompt-timeout 5m", POLICY_MATCHES },
		{ "hook", "<test>:1: hook /bin/a for exec", POLICY_MATCHES },
		{ "on-denial", "<test>:2: on-denial fail", POLICY_MATCHES },
		{ "approvals", "<test>:1: approvals on-failure", POLICY_MATCH_UNTRUSTED },
		{ "hide", "<test>:2: hide /etc", POLICY_MATCHES },
	};
	struct policy_rule_look look;

	policy = through_image(policy);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		ck_assert(policy_setting_look(policy, i, &look));
		ck_assert_str_eq(look.word, want[i].word);
		ck_assert_str_eq(look.rule, want[i].rule);
		ck_assert_int_eq(look.match, want[i].match);
	}
	ck_assert(!policy_setting_look(policy, ARRAY_SIZE(want), &look));
	policy_free(policy);
}
END_TEST

TCase *agent_cases(void)
{
	TCase *cases = tcase_create("agent");

	tcase_add_loop_test(cases, when_people_are_asked, 0, ARRAY_SIZE(approvals));
	tcase_add_test(cases, a_denial_names_the_line);
	tcase_add_loop_test(cases, the_strictest_line_about_the_disk_holds, 0,
			    ARRAY_SIZE(durables));
	tcase_add_loop_test(cases, the_line_that_keeps_most_of_the_log_holds, 0, ARRAY_SIZE(keeps));
	tcase_add_loop_test(cases, what_a_denial_does, 0, ARRAY_SIZE(denials));
	tcase_add_loop_test(cases, a_reviewer_may_be_trusted, 0, (int)ARRAY_SIZE(trusted));
	tcase_add_test(cases, programs_are_read_word_by_word);
	tcase_add_loop_test(cases, a_mistake_is_shown_where_it_is, 0, ARRAY_SIZE(mistakes));
	tcase_add_test(cases, settings_can_be_listed_as_they_stand);
	return cases;
}
