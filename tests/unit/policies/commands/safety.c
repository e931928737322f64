#include "base/mem.h"
#include "tests/unit/policies/commands/commands_test.h"

static const struct {
	const char *command;
	bool want;
} rows[] = {
	{ "ls", true },
	{ "ls -la x", true },
	{ "cat x", true },
	{ "pwd", true },
	{ "git status", true },
	{ "git log --oneline -5", true },
	{ "git diff HEAD~1", true },
	{ "git show x", true },
	{ "git branch", true },
	{ "git branch -a", true },
	{ "git --no-pager log", true },
	{ "git config --get user.name", true },
	{ "git config user.name x", false },
	{ "git config --global user.name", false },
	{ "git remote -v", true },
	{ "git stash list", true },
	{ "git stash", false },
	{ "git branch new", false },
	{ "git branch -D x", false },
	{ "git tag v1", false },
	{ "git tag", true },
	{ "git diff --output=x", false },
	{ "git diff --outp x", false },
	{ "git log --ext-diff", false },
	{ "git -c core.pager=x log", false },
	{ "git -C x status", false },
	{ "git --git-dir=x status", false },
	{ "git --exec-path=x status", false },
	{ "git grep -Ox y", false },
	{ "git grep --open-files-in-pager x", false },
	{ "git show --textconv x", false },
	{ "git fetch", false },
	{ "git push", false },
	{ "git commit", false },
	{ "git", false },
	{ "find . -name x", true },
	{ "find . -delete", false },
	{ "find . -exec ls ;", false },
	{ "find . -execdir ls ;", false },
	{ "find . -ok ls ;", false },
	{ "find . -okdir ls ;", false },
	{ "find . -fls x", false },
	{ "find . -fprint x", false },
	{ "find . -fprint0 x", false },
	{ "find . -fprintf x y", false },
	{ "base64 x", true },
	{ "base64 -o x", false },
	{ "base64 -ox", false },
	{ "base64 --output x", false },
	{ "base64 --output=x", false },
	{ "base64 --out=x", false },
	{ "rg x", true },
	{ "rg -n x src", true },
	{ "rg --pre cat x", false },
	{ "rg --pre=cat x", false },
	{ "rg --hostname-bin x", false },
	{ "rg --hostname-bin=x y", false },
	{ "rg --search-zip x", false },
	{ "rg -z x", false },
	{ "rg -nz x", false },
	{ "sed -n 3p x", true },
	{ "sed -n 3,5p x", true },
	{ "sed -n 3p", true },
	{ "sed -n 3,p x", false },
	{ "sed -n 3d x", false },
	{ "sed -n p x", false },
	{ "sed 3p x", false },
	{ "sed -n 3p x y", false },
	{ "sed -n 3p -i", false },
	{ "sed -n 3,5pw x", false },
	{ "sed -i s/a/b/ x", false },
	{ "uniq x", true },
	{ "uniq x y", false },
	{ "sort x", true },
	{ "sort -o x y", false },
	{ "sort -uo x y", false },
	{ "sort --compress-program=x y", false },
	{ "date", true },
	{ "date -s x", false },
	{ "numfmt 5", true },
	{ "tac x", true },
	{ "cargo check", false },
	{ "rm x", false },
	{ "foo", false },
	{ "awk x", false },
	{ "./ls", false },
	{ "/tmp/ls", false },
	{ "/bin/ls", true },
	{ "/usr/bin/git status", true },
	{ "/opt/git status", false },
	{ "bash -lc ls", true },
	{ "bash -lc 'git status'", true },
	{ "zsh -lc 'ls; pwd'", true },
	{ "bash -lc 'ls | wc -l'", true },
	{ "bash -lc 'ls && pwd || id'", true },
	{ "bash -lc 'rg -n x | head -n 5'", true },
	{ "bash -lc 'sed -n 1,5p x'", true },
	{ "bash -lc 'ls > x'", false },
	{ "bash -lc 'ls > /dev/null 2>&1'", true },
	{ "bash -lc 'ls && rm x'", false },
	{ "bash -lc '(ls)'", true },
	{ "bash -lc 'ls $(rm x)'", false },
	{ "bash -lc 'ls $X'", false },
	{ "bash -lc 'find . -name x -delete'", false },
	{ "bash -lc 'X=1 ls'", false },
	{ "bash -lc 'ls *'", true },
	{ "bash -lc 'find *'", false },
	{ "bash -lc 'cat <<E\nx\nE'", true },
	{ "bash -lc", false },
	{ "bash -c ''", false },
	{ "bash", false },
	{ "bash x", false },
	{ "nice ls", true },
	{ "timeout 5 cat x", true },
	{ "nice rm x", false },
	{ "xargs cat", true },
	{ "xargs rm", false },
	{ "xargs find", false },
	{ "xargs", false },
	{ "sudo ls", false },
	{ "./nice ls", false },
	{ "command -v git", true },
	{ "env", false },
	{ "set -e", false },
	{ "sh -c 'set -e; ls'", true },
};

START_TEST(safe)
{
	struct line line;

	line_split(&line, rows[_i].command);
	ck_assert_msg(command_is_safe(line.argv) == rows[_i].want, "%s", rows[_i].command);
	/* Nothing is both. */
	if (rows[_i].want)
		ck_assert(!command_is_dangerous(line.argv, NULL));
}
END_TEST

/* What rules allow is as they say; the lists are asked about the rest. */
START_TEST(lists_beside_rules)
{
	struct command_rules *rules = rules_of("allow apple");
	struct command_verdict verdict;
	struct line line;

	line_split(&line, "sh -c 'apple | rm -rf ./x'");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_UNMATCHED);
	ck_assert_str_ne(verdict.danger, "");
	ck_assert(!verdict.is_safe);
	line_split(&line, "sh -c 'apple | wc'");
	command_rules_decide(rules, &world, line.argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_UNMATCHED);
	ck_assert_str_eq(verdict.danger, "");
	ck_assert(verdict.is_safe);
	command_rules_free(rules);
}
END_TEST

TCase *safety_cases(void)
{
	TCase *cases = tcase_create("safety");

	tcase_add_loop_test(cases, safe, 0, ARRAY_SIZE(rows));
	tcase_add_test(cases, lists_beside_rules);
	return cases;
}
