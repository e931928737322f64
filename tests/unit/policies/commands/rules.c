#include "tests/unit/policies/commands/commands_test.h"

#include <string.h>

#include "base/mem.h"

#define GIT_FILES "\nprogram git /usr/bin/git"

static const struct {
	const char *rules, *command;
	enum command_action want;
	const char *rule; /* what stands in the rule that decided, or NULL */
} rows[] = {
	/* A prefix, token by token. */
	{ "allow git status", "git status", COMMAND_ALLOW, "git status" },
	{ "allow git status", "git status -s x", COMMAND_ALLOW, NULL },
	{ "allow git status", "git", COMMAND_UNMATCHED, NULL },
	{ "allow git status", "git -s status", COMMAND_UNMATCHED, NULL },
	{ "allow git status", "git statusx", COMMAND_UNMATCHED, NULL },
	{ "allow git status", "git Status", COMMAND_UNMATCHED, NULL },
	{ "allow git status", "GIT status", COMMAND_UNMATCHED, NULL },
	{ "allow git status", "gitx status", COMMAND_UNMATCHED, NULL },
	{ "", "ls", COMMAND_UNMATCHED, NULL },
	{ "deny rm -rf", "rm -fr x", COMMAND_UNMATCHED, NULL },
	{ "allow ls *", "ls '*'", COMMAND_ALLOW, NULL },
	{ "allow ls *", "ls x", COMMAND_UNMATCHED, NULL },
	/* Alternatives, anywhere. */
	{ "allow (npm|pnpm) ci", "npm ci", COMMAND_ALLOW, NULL },
	{ "allow (npm|pnpm) ci", "pnpm ci", COMMAND_ALLOW, NULL },
	{ "allow (npm|pnpm) ci", "yarn ci", COMMAND_UNMATCHED, NULL },
	{ "allow npm (i|install) --legacy", "npm i --legacy x", COMMAND_ALLOW, NULL },
	{ "allow npm (i|install) --legacy", "npm install --legacy", COMMAND_ALLOW, NULL },
	{ "allow npm (i|install) --legacy", "npm other --legacy", COMMAND_UNMATCHED, NULL },
	{ "allow a (b|c) (d|e)", "a c d", COMMAND_ALLOW, NULL },
	{ "allow git (status)", "git status", COMMAND_ALLOW, NULL },
	{ "allow echo \"(a|b)\"", "echo a", COMMAND_UNMATCHED, NULL },
	{ "allow echo \"(a|b)\"", "echo '(a|b)'", COMMAND_ALLOW, NULL },
	{ "allow echo \"because\"", "echo because", COMMAND_ALLOW, NULL },
	{ "allow echo \"a b\"", "echo 'a b'", COMMAND_ALLOW, NULL },
	{ "allow echo \"a\\\"b\"", "echo a\"b", COMMAND_ALLOW, NULL },
	/* Every command, but for what other rules say. */
	{ "allow *", "git push", COMMAND_ALLOW, "allow *" },
	{ "allow *\nask git push", "git push x", COMMAND_ASK, "git push" },
	{ "allow *\nask git push", "git pull", COMMAND_ALLOW, "allow *" },
	{ "allow *\nask git push", "sh -c 'git $x'", COMMAND_ASK, NULL },
	{ "allow *\nask git push", "sh -c '$x push'", COMMAND_ASK, NULL },
	{ "allow *\ndeny rm", "sh -c 'ls; rm x'", COMMAND_DENY, "rm" },
	{ "allow *\nallow git status because \"reads\"", "git status", COMMAND_ALLOW, "reads" },
	{ "allow *", "nosuch", COMMAND_UNMATCHED, NULL },
	{ "allow *", "env PATH=/x ls", COMMAND_UNMATCHED, NULL },
	{ "allow *" GIT_FILES, "/usr/local/bin/git x", COMMAND_ALLOW, NULL },
	{ "ask *\nallow ls", "ls", COMMAND_ASK, "ask *" },
	{ "deny *", "ls", COMMAND_DENY, "deny *" },
	{ "allow \"*\"", "ls", COMMAND_UNMATCHED, NULL },
	/* Deny beats ask beats allow; longer does not win; order does not matter. */
	{ "ask git\nallow git status", "git status", COMMAND_ASK, "ask git" },
	{ "allow git status\nask git", "git status", COMMAND_ASK, "ask git" },
	{ "deny git\nallow git status", "git status", COMMAND_DENY, "deny git" },
	{ "allow git\ndeny git push", "git push x", COMMAND_DENY, "git push" },
	{ "allow git\ndeny git push", "git pull", COMMAND_ALLOW, NULL },
	{ "ask rm\ndeny rm -rf", "rm -rf x", COMMAND_DENY, "rm -rf" },
	{ "deny git\ndeny git push because \"no\"", "git push", COMMAND_DENY, "git push" },
	{ "deny git push because \"no\"\ndeny git", "git push", COMMAND_DENY, "git push" },
	/* What a path stands for. */
	{ "allow git", "/usr/bin/git status", COMMAND_ALLOW, NULL },
	{ "allow git", "/opt/link status", COMMAND_UNMATCHED, NULL },
	{ "allow git", "/usr/local/bin/git status", COMMAND_UNMATCHED, NULL },
	{ "allow git", "./git status", COMMAND_UNMATCHED, NULL },
	{ "deny git", "./git status", COMMAND_DENY, NULL },
	{ "deny rm -rf", "/bin/rm -rf x", COMMAND_DENY, NULL },
	{ "ask rm", "/anywhere/rm x", COMMAND_ASK, NULL },
	{ "allow /opt/link", "/opt/link", COMMAND_ALLOW, NULL },
	{ "allow /usr/bin/git", "git", COMMAND_UNMATCHED, NULL },
	{ "allow ./build", "./build all", COMMAND_ALLOW, NULL },
	{ "allow build", "./build all", COMMAND_UNMATCHED, NULL },
	{ "allow nosuch", "nosuch", COMMAND_UNMATCHED, NULL },
	{ "deny nosuch", "nosuch", COMMAND_DENY, NULL },
	{ "allow git" GIT_FILES, "git status", COMMAND_ALLOW, NULL },
	{ "allow git" GIT_FILES, "/usr/bin/git status", COMMAND_ALLOW, NULL },
	{ "allow git" GIT_FILES " /usr/local/bin/git", "/usr/local/bin/git x", COMMAND_ALLOW,
	  NULL },
	{ "allow git" GIT_FILES, "/usr/local/bin/git status", COMMAND_UNMATCHED, NULL },
	{ "allow git\nprogram git /usr/local/bin/git", "git status", COMMAND_UNMATCHED, NULL },
	{ "deny git\nprogram git /usr/local/bin/git", "git status", COMMAND_DENY, NULL },
	/* A second list narrows; nothing in common: none. */
	{ "allow git" GIT_FILES " /usr/local/bin/git\nprogram git /usr/local/bin/git",
	  "/usr/local/bin/git x", COMMAND_ALLOW, NULL },
	{ "allow git" GIT_FILES " /usr/local/bin/git\nprogram git /usr/local/bin/git", "git x",
	  COMMAND_UNMATCHED, NULL },
	{ "allow git" GIT_FILES "\nprogram git /usr/local/bin/git", "git x", COMMAND_UNMATCHED,
	  NULL },
	{ "allow /usr/bin/git\nprogram git /usr/local/bin/git", "/usr/bin/git", COMMAND_ALLOW,
	  NULL },
	/* The strongest of all pieces. */
	{ "allow ls", "sh -c 'ls && whoami'", COMMAND_UNMATCHED, NULL },
	{ "allow ls\nallow whoami", "sh -c 'ls && whoami'", COMMAND_ALLOW, NULL },
	{ "allow ls\nask whoami", "sh -c 'ls; whoami'", COMMAND_ASK, "whoami" },
	{ "allow ls\ndeny whoami", "sh -c 'ls | whoami; x'", COMMAND_DENY, "whoami" },
	{ "allow sh", "sh -c 'rm x'", COMMAND_UNMATCHED, NULL },
	{ "deny sh", "sh -c ls", COMMAND_DENY, "deny sh" },
	{ "allow bash", "bash build.sh", COMMAND_ALLOW, NULL },
	{ "allow bash", "bash", COMMAND_ASK, NULL },
};

START_TEST(decides)
{
	struct command_rules *rules = rules_of(rows[_i].rules);
	struct command_verdict verdict;
	struct line line;

	line_split(&line, rows[_i].command);
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_msg(verdict.action == rows[_i].want, "%s\n%s: %s (%s) %s", rows[_i].rules,
		      rows[_i].command, command_action_name(verdict.action), verdict.rule,
		      verdict.why);
	if (rows[_i].rule)
		ck_assert_msg(strstr(verdict.rule, rows[_i].rule) != NULL, "%s", verdict.rule);
	command_rules_free(rules);
}
END_TEST

START_TEST(verdict_says_why)
{
	struct command_rules *rules = rules_of("deny git because \"short\"\n"
					       "deny git push because \"use a request\"\nallow ls");
	struct command_verdict verdict;
	struct line line;

	line_split(&line, "sh -c 'ls; git push origin'");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_str_eq(verdict.because, "use a request");
	ck_assert_str_eq(verdict.rule, "test:1: deny git push because \"use a request\"");
	ck_assert_str_eq(verdict.piece_text, "git push origin");
	ck_assert_uint_eq(verdict.piece, 2);
	ck_assert(verdict.is_understood);
	ck_assert_str_eq(verdict.program.path, "/usr/bin/sh");
	ck_assert_uint_eq(verdict.program.device, 1);
	command_rules_free(rules);
}
END_TEST

static const struct {
	const char *rules, *command;
	bool want;
} unconfined[] = {
	{ "allow git unconfined", "git push", true },
	{ "allow git", "git push", false },
	{ "allow git unconfined because \"known\"", "git push", true },
	{ "allow git unconfined\nallow ls", "sh -c 'git x; ls'", false },
	{ "allow git unconfined\nallow ls unconfined", "sh -c 'git x; ls'", true },
	{ "allow git unconfined", "sh -c 'git x; ls'", false },
	{ "allow git unconfined\nallow git push", "git push", false },
	{ "allow git unconfined", "sh -c 'git $X'", false },
	{ "allow git unconfined\nask git", "git push", false },
};

START_TEST(unconfined_only_by_all)
{
	struct command_rules *rules = rules_of(unconfined[_i].rules);
	struct command_verdict verdict;
	struct line line;

	line_split(&line, unconfined[_i].command);
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.is_unconfined, unconfined[_i].want);
	command_rules_free(rules);
}
END_TEST

/* Without a way to look files up, only names and the system's own folders say what they are. */
START_TEST(without_a_world)
{
	static const struct {
		const char *command;
		enum command_action want;
	} blind[] = { { "git x", COMMAND_ALLOW },
		      { "/usr/bin/git x", COMMAND_ALLOW },
		      { "/tmp/git x", COMMAND_UNMATCHED },
		      { "./git x", COMMAND_UNMATCHED } };
	struct command_rules *rules = rules_of("allow git");
	struct command_verdict verdict;
	struct line line;

	for (size_t i = 0; i < ARRAY_SIZE(blind); i++) {
		line_split(&line, blind[i].command);
		command_rules_decide(rules, NULL, line.argv, &verdict);
		ck_assert_int_eq(verdict.action, blind[i].want);
		ck_assert_str_eq(verdict.program.path, "");
	}
	command_rules_free(rules);
}
END_TEST

TCase *rules_cases(void)
{
	TCase *cases = tcase_create("rules");

	tcase_add_loop_test(cases, decides, 0, ARRAY_SIZE(rows));
	tcase_add_test(cases, verdict_says_why);
	tcase_add_loop_test(cases, unconfined_only_by_all, 0, ARRAY_SIZE(unconfined));
	tcase_add_test(cases, without_a_world);
	return cases;
}
