#include "tests/unit/policies/commands/commands_test.h"

#include <string.h>

#include "base/mem.h"

/* With `rm -rf` denied, `ls`, `git` and `rm` allowed, `git push` asked about. */
static const struct {
	const char *command;
	enum command_action want;
} rows[] = {
	{ "env ls", COMMAND_ALLOW },
	{ "env LANG=C ls", COMMAND_ALLOW },
	{ "env PATH=/x ls", COMMAND_UNMATCHED },
	{ "env -i ls", COMMAND_UNMATCHED },
	{ "env -u X rm -rf y", COMMAND_DENY },
	{ "env -S 'ls'", COMMAND_ASK },
	{ "env A=1 B=2 rm -rf x", COMMAND_DENY },
	{ "env", COMMAND_UNMATCHED },
	{ "nice ls", COMMAND_ALLOW },
	{ "nice -n 5 ls", COMMAND_ALLOW },
	{ "nice -n5 ls", COMMAND_ALLOW },
	{ "nice -10 ls", COMMAND_ALLOW },
	{ "nice --adjustment=3 rm -rf x", COMMAND_DENY },
	{ "nice --adj 3 rm -rf x", COMMAND_DENY },
	{ "nohup ls", COMMAND_ALLOW },
	{ "./nohup ls", COMMAND_UNMATCHED },
	{ "nohup rm -rf x", COMMAND_DENY },
	{ "nohup", COMMAND_ASK },
	{ "timeout 5 ls", COMMAND_ALLOW },
	{ "timeout -k 1 -s KILL 5 ls", COMMAND_ALLOW },
	{ "timeout --signal=KILL 5 rm -rf x", COMMAND_DENY },
	{ "timeout 5", COMMAND_ASK },
	{ "timeout -Z 5 ls", COMMAND_ASK },
	{ "timeout -Z 5 rm -rf x", COMMAND_DENY },
	{ "timeout 5 whoami", COMMAND_UNMATCHED },
	{ "stdbuf -oL ls", COMMAND_ALLOW },
	{ "stdbuf -o L rm -rf x", COMMAND_DENY },
	{ "time -p ls", COMMAND_ALLOW },
	{ "time -o x ls", COMMAND_ASK },
	{ "ionice -c 3 ls", COMMAND_ALLOW },
	{ "ionice -p 1", COMMAND_ASK },
	{ "setsid -w ls", COMMAND_ALLOW },
	{ "command ls", COMMAND_ALLOW },
	{ "command -p ls", COMMAND_ASK },
	{ "sh -c 'command rm -rf x'", COMMAND_DENY },
	{ "sh -c 'exec rm -rf x'", COMMAND_DENY },
	{ "sh -c 'exec ls'", COMMAND_ALLOW },
	{ "sh -c 'builtin rm -rf x'", COMMAND_DENY },
	{ "sh -c 'time ls'", COMMAND_ASK },
	/* These need a rule of their own too. */
	{ "sudo ls", COMMAND_UNMATCHED },
	{ "sudo rm -rf x", COMMAND_DENY },
	{ "sudo -u root -n rm -rf x", COMMAND_DENY },
	{ "sudo A=1 rm -rf x", COMMAND_DENY },
	{ "sudo -i rm -rf x", COMMAND_DENY },
	{ "sudo -i ls", COMMAND_ASK },
	{ "doas ls", COMMAND_UNMATCHED },
	{ "doas rm -rf x", COMMAND_DENY },
	{ "busybox ls", COMMAND_UNMATCHED },
	{ "busybox rm -rf x", COMMAND_DENY },
	{ "xargs ls", COMMAND_UNMATCHED },
	{ "chroot /x ls", COMMAND_UNMATCHED },
	{ "chroot /x rm -rf y", COMMAND_DENY },
	{ "unshare -rn rm -rf y", COMMAND_DENY },
	{ "unshare -rn ls", COMMAND_UNMATCHED },
	/* Words from standard input could complete a rule. */
	{ "xargs rm", COMMAND_ASK },
	{ "xargs rm -rf", COMMAND_DENY },
	{ "xargs -0 -n 1 rm -rf", COMMAND_DENY },
	{ "xargs -n1 git", COMMAND_ASK },
	{ "xargs -I{} rm {} x", COMMAND_ASK },
	{ "xargs -I % sh -c 'rm -rf %'", COMMAND_DENY },
	{ "xargs sh -c 'rm -rf x'", COMMAND_DENY },
	{ "xargs -I % sh -c 'rm %'", COMMAND_ASK },
	{ "xargs sh", COMMAND_ASK },
	{ "xargs -Z rm -rf", COMMAND_DENY },
	{ "sh -c 'rm *'", COMMAND_ASK },
	{ "sh -c 'git *'", COMMAND_ASK },
	/* find runs things as well. */
	{ "find . -exec rm -rf {} +", COMMAND_DENY },
	{ "find . -name x -execdir rm -rf {} ;", COMMAND_DENY },
	{ "find . -exec ls {} ; -exec rm -rf {} ;", COMMAND_DENY },
	{ "find . -name x", COMMAND_UNMATCHED },
	/* Inside one another. */
	{ "env nice nohup timeout 5 stdbuf -oL rm -rf x", COMMAND_DENY },
	{ "env nice nohup ls", COMMAND_ALLOW },
	{ "sh -c 'bash -c \"rm -rf x\"'", COMMAND_DENY },
	{ "sh -c 'nice env git push'", COMMAND_ASK },
	{ "env env env env env env env env env ls", COMMAND_ASK },
	{ "env env env env env env env env env rm -rf x", COMMAND_ASK },
};

START_TEST(unwraps)
{
	struct command_rules *rules =
		rules_of("allow ls\nallow git\nallow rm\ndeny rm -rf\nask git push");
	struct command_verdict verdict;
	struct line line;

	line_split(&line, rows[_i].command);
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_msg(verdict.action == rows[_i].want, "%s: %s %s", rows[_i].command,
		      command_action_name(verdict.action), verdict.why);
	command_rules_free(rules);
}
END_TEST

START_TEST(own_rule)
{
	struct command_rules *rules = rules_of("allow sudo\nallow ls\nallow xargs\ndeny nice");
	struct command_verdict verdict;
	struct line line;

	line_split(&line, "sudo ls");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_ALLOW);
	line_split(&line, "sudo whoami");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_UNMATCHED);
	line_split(&line, "xargs ls");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_ALLOW);
	line_split(&line, "nice ls");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_DENY);
	command_rules_free(rules);
}
END_TEST

TCase *launchers_cases(void)
{
	TCase *cases = tcase_create("launchers");

	tcase_add_loop_test(cases, unwraps, 0, ARRAY_SIZE(rows));
	tcase_add_test(cases, own_rule);
	return cases;
}
