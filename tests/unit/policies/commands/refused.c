#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/commands/commands_test.h"

static const struct {
	const char *line;
	size_t token;
} rows[] = {
	{ "", 0 },
	{ "allow", 1 },
	{ "prompt git", 0 },
	{ "forbidden git", 0 },
	{ "\"allow\" git", 0 },
	{ "unmatched git", 0 },
	{ "allow ()", 1 },
	{ "allow (|a)", 1 },
	{ "allow (a|)", 1 },
	{ "allow (a||b)", 1 },
	{ "allow git (a", 2 },
	{ "allow git (a|(b))", 2 },
	{ "allow git ( a | b )", 2 },
	{ "allow git a|b", 2 },
	{ "allow \"\"", 1 },
	{ "allow git \"a\\n\"", 2 },
	{ "allow git because", 3 },
	{ "allow git because reason", 3 },
	{ "allow git because \"\"", 3 },
	{ "allow git because \"  \"", 3 },
	{ "allow git because \"a\" because \"b\"", 4 },
	{ "allow git because \"a\" push", 4 },
	{ "allow because \"a\"", 1 },
	{ "deny git unconfined", 2 },
	{ "ask git unconfined", 2 },
	{ "allow git unconfined unconfined", 3 },
	{ "allow git unconfined push", 3 },
	{ "allow * push", 1 },
	{ "allow * because \"x\" unconfined", 4 },
	{ "program", 0 },
	{ "program git", 1 },
	{ "program \"\" /usr/bin/git", 0 },
	{ "program bin/git /usr/bin/git", 0 },
	{ "program git git", 1 },
	{ "program git bin/git", 1 },
	{ "program git /usr/bin/hg", 1 },
	{ "program git /usr/bin/git /usr/bin/git2", 2 },
	{ "program git /usr/bin/", 1 },
};

START_TEST(refuses)
{
	struct command_rules *rules = command_rules_new();
	struct command_flaw flaw = { .token = 99 };

	ck_assert_int_eq(rules_add_line(rules, rows[_i].line, &flaw), -EBADMSG);
	ck_assert_uint_eq(flaw.token, rows[_i].token);
	ck_assert_uint_gt(strlen(flaw.words), 0);
	ck_assert_uint_eq(command_rules_count(rules), 0);
	ck_assert_int_eq(rules_add_line(rules, rows[_i].line, NULL), -EBADMSG);
	command_rules_free(rules);
}
END_TEST

START_TEST(too_much)
{
	struct command_rules *rules = command_rules_new();
	struct command_token tokens[COMMAND_TOKENS_MAX + 2] = { { "allow", 5, false } };

	for (size_t i = 1; i < ARRAY_SIZE(tokens); i++)
		tokens[i] = (struct command_token){ "x", 1, false };
	ck_assert_int_eq(command_rules_add(rules, "t:1", "", tokens, ARRAY_SIZE(tokens), NULL),
			 -EBADMSG);
	ck_assert_int_eq(command_rules_add(rules, "t:1", "", tokens, ARRAY_SIZE(tokens) - 1, NULL),
			 0);
	for (size_t i = 1; i < COMMAND_RULES_MAX; i++)
		ck_assert_int_eq(command_rules_add(rules, "t:1", "", tokens, 2, NULL), 0);
	ck_assert_int_eq(command_rules_add(rules, "t:1", "", tokens, 2, NULL), -EBADMSG);
	ck_assert_uint_eq(command_rules_count(rules), COMMAND_RULES_MAX);
	command_rules_free(rules);
	command_rules_free(NULL);
}
END_TEST

TCase *refused_cases(void)
{
	TCase *cases = tcase_create("refused");

	tcase_add_loop_test(cases, refuses, 0, ARRAY_SIZE(rows));
	tcase_add_test(cases, too_much);
	return cases;
}
