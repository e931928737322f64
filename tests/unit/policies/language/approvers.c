#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/crypto/sign.h"
#include "policies/policies_approvers.h"
#include "tests/unit/policies/policies_test.h"

#define RAW "ed25519:tq/tfC1D9XhlaThAdjMaun74IJSOmCeFzh1ra3dHfC4="
#define SSH                                                                                        \
	"\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILav7XwtQ/V4ZWk4QHYzGrp++CCUjpgnhc4da2t3R3wu "      \
	"ana@x\""
#define OTHER "ed25519:HOIhPNTDkSz2AhbTddYtf/sM6FbmzWooCgntgXmnUfY="

/* In one layer each; NULL: nothing there. What is named, "NAME NAME", and how many are needed. */
static const struct {
	const char *managed, *user, *project, *line;
	const char *names;
	unsigned int needed;
} cases[] = {
	{ NULL, NULL, NULL, NULL, "", 1 },
	{ "approver ana " RAW, NULL, NULL, NULL, "ana ", 1 },
	{ "approver ana " SSH, NULL, NULL, NULL, "ana ", 1 },
	{ NULL, "approver ana \"" RAW "\"", NULL, NULL, "ana ", 1 },
	{ NULL, NULL, NULL, "approver a.n_a@x-1 " RAW, "a.n_a@x-1 ", 1 },
	/* a project names nobody, and does not keep a name from anybody either */
	{ NULL, NULL, "approver ana " RAW, NULL, "", 1 },
	{ NULL, NULL, "approver eve " RAW, "approver ana " RAW, "ana ", 1 },
	/* several keys; one key twice */
	{ NULL, "approver ana " RAW "\napprover ana " OTHER, NULL, NULL, "ana ana ", 1 },
	{ "approver ana " RAW, "approver ana " SSH, NULL, NULL, "ana ana ", 1 },
	{ "approver ana " RAW, "approver ben " OTHER, NULL, NULL, "ana ben ", 1 },
	/* the largest counts, a project's too */
	{ "approvers-needed 2", "approvers-needed 3", NULL, "approvers-needed 1", "", 3 },
	{ NULL, "approvers-needed 2", "approvers-needed 5", NULL, "", 5 },
	{ NULL, "approvers-needed 16", NULL, NULL, "", 16 },
};

static void load(struct policy *policy, const char *text, enum policy_layer layer)
{
	if (text)
		ck_assert_msg(policy_load_text_layer(policy, "<test>", text, layer) == 0, "%s",
			      policy_errors(policy));
}

START_TEST(who_is_named_by_whom)
{
	struct policy *policy = policy_new();
	struct policy_approver approver;
	char names[128] = "";

	load(policy, cases[_i].managed, POLICY_MANAGED);
	load(policy, cases[_i].user, POLICY_USER);
	load(policy, cases[_i].project, POLICY_PROJECT);
	load(policy, cases[_i].line, POLICY_COMMAND_LINE);
	ck_assert_int_eq(policy_finish(policy), 0);
	for (size_t i = 0; policy_get_approver(policy, i, &approver); i++) {
		size_t len = strlen(names);

		(void)snprintf(names + len, sizeof(names) - len, "%s ", approver.name);
	}
	ck_assert_str_eq(names, cases[_i].names);
	ck_assert_uint_eq(policy_get_approvers_needed(policy), cases[_i].needed);
	policy_free(policy);
}
END_TEST

START_TEST(the_key_is_the_key)
{
	struct policy *policy = policies_test_load("approver ana " SSH "\napprover ben " OTHER);
	struct policy_approver approver;
	char text[SIGN_PUBLIC_TEXT_MAX];

	ck_assert(policy_get_approver(policy, 0, &approver));
	ck_assert_str_eq(sign_public_text(approver.key, text), RAW);
	ck_assert(policy_get_approver(policy, 1, &approver));
	ck_assert_str_eq(sign_public_text(approver.key, text), OTHER);
	ck_assert(!policy_get_approver(policy, 2, &approver));
	policy_free(policy);
}
END_TEST

static const struct {
	const char *text, *words;
} mistakes[] = {
	{ "approver", "the line is not complete" },
	{ "approver ana", "the line is not complete" },
	{ "approver ana ssh-ed25519 AAAA", "unexpected text at the end of the line" },
	{ "approver \"ana\" " RAW, "this is not a valid name for an approver" },
	{ "approver a/b " RAW, "this is not a valid name for an approver" },
	{ "approver an\\a " RAW, "this is not a valid name for an approver" },
	{ "approver aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " RAW,
	  "this is not a valid name for an approver" },
	{ "approver ana tq/tfC1D9XhlaThAdjMaun74IJSOmCeFzh1ra3dHfC4=",
	  "this is not an Ed25519 key" },
	{ "approver ana ed25519:AAAA", "this is not an Ed25519 key" },
	{ "approver ana \"ssh-rsa AAAA\"", "this is not an Ed25519 key" },
	{ "approver ana " RAW "\napprover ben " SSH, "the approver ana already has this key" },
	{ "approvers-needed", "the line is not complete" },
	{ "approvers-needed 0", "this is not a number from 1 to 16" },
	{ "approvers-needed 17", "this is not a number from 1 to 16" },
	{ "approvers-needed -1", "this is not a number from 1 to 16" },
	{ "approvers-needed \"2\"", "this is not a number from 1 to 16" },
	{ "approvers-needed 2 3", "unexpected text at the end of the line" },
};

START_TEST(mistakes_are_said)
{
	struct policy *policy = policy_new();

	ck_assert_int_lt(policy_load_text(policy, "<test>", mistakes[_i].text), 0);
	ck_assert_uint_eq(policy_error_count(policy), 1);
	ck_assert_msg(strstr(policy_errors(policy), mistakes[_i].words) != NULL, "%s",
		      policy_errors(policy));
	policy_free(policy);
}
END_TEST

static const struct {
	const char *text;
	bool is_noted;
} enough[] = {
	{ "approvers-needed 1", true },
	{ "approvers-needed 1\napprover ana " RAW, false },
	{ "approvers-needed 2\napprover ana " RAW, true },
	{ "approvers-needed 2\napprover ana " RAW "\napprover ana " OTHER, true },
	{ "approvers-needed 2\napprover ana " RAW "\napprover ben " OTHER, false },
	{ "approver ana " RAW, false },
};

START_TEST(too_few_are_noted)
{
	struct policy *policy = policies_test_load(enough[_i].text);

	ck_assert_msg((strstr(policy_notes(policy), "no file of answers can allow anything") !=
		       NULL) == enough[_i].is_noted,
		      "%s", policy_notes(policy));
	policy_free(policy);
}
END_TEST

START_TEST(a_project_is_told_that_it_names_nobody)
{
	struct policy *policy = policy_new();

	load(policy, "approver ana " RAW, POLICY_PROJECT);
	ck_assert_int_eq(policy_finish(policy), 0);
	ck_assert(strstr(policy_notes(policy), "1 line of this project's file does not count") !=
		  NULL);
	policy_free(policy);
}
END_TEST

TCase *approvers_cases(void)
{
	TCase *tcase = tcase_create("approvers");

	tcase_add_loop_test(tcase, who_is_named_by_whom, 0, ARRAY_SIZE(cases));
	tcase_add_test(tcase, the_key_is_the_key);
	tcase_add_loop_test(tcase, mistakes_are_said, 0, ARRAY_SIZE(mistakes));
	tcase_add_loop_test(tcase, too_few_are_noted, 0, ARRAY_SIZE(enough));
	tcase_add_test(tcase, a_project_is_told_that_it_names_nobody);
	return tcase;
}
