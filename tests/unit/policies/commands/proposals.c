#include "tests/unit/policies/commands/commands_test.h"

#include <string.h>

#include "base/mem.h"

static const struct {
	const char *rules, *command, *lines; /* split by / */
} rows[] = {
	{ "", "npm run build", "npm run build" },
	{ "", "npm run build -- --watch", "npm run build" },
	{ "", "cargo test --workspace x", "cargo test" },
	{ "", "git commit -m x", "git commit" },
	{ "", "mytool a b", "mytool a b" },
	{ "", "mytool 'a b' because", "mytool \"a b\" \"because\"" },
	{ "", "sh -c 'cargo build && npm ci'", "cargo build/npm ci" },
	{ "", "sh -c 'cargo build; cargo build -v'", "cargo build" },
	{ "allow cargo", "sh -c 'cargo build && npm ci'", "npm ci" },
	{ "", "nice cargo build", "cargo build" },
	{ "", "cargo build", "cargo build" },
	/* Rules have spoken. */
	{ "allow cargo", "cargo build", "" },
	{ "ask cargo", "cargo build", "" },
	{ "deny cargo", "cargo build", "" },
	{ "ask npm", "sh -c 'cargo build && npm ci'", "" },
	/* It would allow more than this. */
	{ "", "python3 -c 'x y'", "" },
	{ "", "python", "" },
	{ "", "python3.12 x.py", "" },
	{ "", "node -e x", "" },
	{ "", "perl x.pl", "" },
	{ "", "perl -e x", "" },
	{ "", "ruby -e x", "" },
	{ "", "php -r x", "" },
	{ "", "lua5.4 -e x", "" },
	{ "", "osascript x", "" },
	{ "", "py -3", "" },
	{ "", "pyw x", "" },
	{ "", "pythonw x", "" },
	{ "", "pypy3 x", "" },
	{ "", "pwsh -Command x", "" },
	{ "", "powershell.exe -Command x", "" },
	{ "", "python3 -", "" },
	{ "", "/usr/bin/python3 x.py", "" },
	{ "", "zsh x.sh", "" },
	{ "", "/bin/bash -lc x", "" },
	{ "", "dash", "" },
	{ "", "bash x.sh", "" },
	{ "", "bash", "" },
	{ "", "sudo ls", "" },
	{ "", "env", "" },
	{ "", "xargs ls", "" },
	{ "", "find . -name x", "" },
	{ "", "curl a.test", "" },
	{ "", "wget a.test", "" },
	{ "", "npx x", "" },
	{ "", "ssh a.test ls", "" },
	{ "", "docker run x", "" },
	{ "", "make all", "" },
	{ "", "awk x", "" },
	{ "", "tee x", "" },
	{ "", "git", "" },
	{ "", "git -c a=b status", "" },
	{ "", "git push", "" },
	{ "", "npm exec x", "" },
	{ "", "npm run", "" },
	{ "", "rm x", "" },
	{ "", "git branch -D x", "" },
	{ "", "sh -c 'cargo build && rm -rf x'", "" },
	/* It would not allow this. */
	{ "", "sh -c 'cargo build $X'", "" },
	{ "", "sh -c 'cargo build > other'", "" },
	{ "", "sh -c 'PATH=/x cargo build'", "" },
	{ "", "./cargo build", "" },
	{ "", "nosuch x", "" },
	{ "program cargo /opt/cargo", "cargo build", "" },
	{ "", "sh -c 'mytool *'", "" },
	{ "", "sh -c 'cargo test *'", "cargo test" },
	{ "", "sh -c 'a; b; c; d; e'", "" },
	/* omits_auto_amendment_for_heredoc_fallback_prompts: with what is read in it may be
	 * another's next time; a heredoc that is understood runs what it says. */
	{ "", "bash -lc 'python3 <<E\nx\nE\n'", "" },
	{ "", "bash -lc 'PATH=/x cargo build <<E\nx\nE\n'", "" },
	{ "", "bash -lc 'cargo build <<E\n$x\nE\n'", "" },
	{ "", "bash -lc 'cargo build <<E > other\nx\nE\n'", "" },
	{ "", "bash -lc 'cargo build <<E\nx\nE\n'", "cargo build" },
	{ "", "sh -c ''", "" },
};

START_TEST(offers)
{
	struct command_rules *rules = rules_of(rows[_i].rules);
	struct command_proposal proposal;
	struct command_verdict verdict;
	char all[2048] = "";
	struct line line;

	line_split(&line, rows[_i].command);
	command_proposal(rules, &world, line.argv, &proposal);
	for (size_t i = 0; i < proposal.count; i++) {
		const char *text = proposal.lines[i];

		ck_assert_int_eq(strncmp(text, "command allow ", 14), 0);
		strncat(all, i > 0 ? "/" : "", sizeof(all) - strlen(all) - 1);
		strncat(all, text + 14, sizeof(all) - strlen(all) - 1);
		ck_assert_int_eq(rules_add_line(rules, text + 8, NULL), 0);
	}
	ck_assert_msg(strcmp(all, rows[_i].lines) == 0, "%s: %s", rows[_i].command, all);
	/* Together they allow what was asked. */
	command_rules_decide(rules, &world, line.argv, &verdict);
	if (proposal.count > 0)
		ck_assert_int_eq(verdict.action, COMMAND_ALLOW);
	command_rules_free(rules);
}
END_TEST

TCase *proposals_cases(void)
{
	TCase *cases = tcase_create("proposals");

	tcase_add_loop_test(cases, offers, 0, ARRAY_SIZE(rows));
	return cases;
}
