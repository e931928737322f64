#include "tests/unit/exec/test_exec.h"

#include <string.h>

#include "base/mem.h"
#include "exec/view/git_config.h"

#define LINE(text) text, sizeof(text) - 1

/* What a repository's configuration says, and the line that runs something; NULL: none does. */
static const struct {
	const char *text;
	size_t len;
	const char *line;
} configs[] = {
	{ LINE(""), NULL },
	{ LINE("# hello\n; hello\n\n \t\n"), NULL },
	{ LINE("[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"),
	  NULL },
	{ LINE("[CORE]\n\tBare\n\tFileMode=yes\n"), NULL },
	{ LINE("[core] bare = false"), NULL },
	{ LINE("[core][remote \"origin\"] url = https://a.test/x"), NULL },
	{ LINE("[remote \"origin\"]\n\turl = git@a.test:x\n\tfetch = "
	       "+refs/heads/*:refs/remotes/origin/*\n"),
	  NULL },
	{ LINE("[remote \"a]b\\\"c\"]\n\turl = ../x\n"), NULL },
	{ LINE("[branch \"main\"]\r\n\tremote = origin\r\n\tmerge = refs/heads/main\r\n"), NULL },
	{ LINE("[branch.main]\n\tremote = origin\n"), NULL },
	{ LINE("[user]\n\tname = \"A B\" # who\n\temail = a@b.test\n"), NULL },
	/* run something */
	{ LINE("[core]\n\tfsmonitor = ./evil\n"), "fsmonitor = ./evil" },
	{ LINE("[core]\n\tbare = false\n  hooksPath = .h \n"), "hooksPath = .h " },
	{ LINE("[core] bare = false\n[core] sshCommand = x"), "[core] sshCommand = x" },
	{ LINE("[core][user][alias] x = !evil"), "[core][user][alias] x = !evil" },
	{ LINE("[alias]\n\tst = !evil\n"), "st = !evil" },
	{ LINE("[include]\n\tpath = ../evil\n"), "path = ../evil" },
	{ LINE("[includeIf \"gitdir:/\"]\n\tpath = ../evil\n"), "path = ../evil" },
	{ LINE("[filter \"x\"]\n\tsmudge = evil\n"), "smudge = evil" },
	{ LINE("[diff \"x\"]\n\ttextconv = evil\n"), "textconv = evil" },
	{ LINE("[credential]\n\thelper = !evil\n"), "helper = !evil" },
	{ LINE("[gpg]\n\tprogram = evil\n"), "program = evil" },
	{ LINE("[gc]\n\tauto = 0\n\trecentObjectsHook = evil\n"), "recentObjectsHook = evil" },
	{ LINE("[url \"ext::sh -c evil \"]\n\tinsteadOf = https:\n"), "insteadOf = https:" },
	{ LINE("[remote \"origin\"]\n\turl = ext::sh -c evil\n"), "url = ext::sh -c evil" },
	{ LINE("[remote \"origin\"]\n\turl = ext:\":sh -c evil\"\n"), "url = ext:\":sh -c evil\"" },
	{ LINE("[remote \"origin\"]\n\turl = \"ext:\"\"\":sh\n"), "url = \"ext:\"\"\":sh" },
	{ LINE("[remote \"origin\"]\n\tvcs = evil\n"), "vcs = evil" },
	{ LINE("[remote \"origin\"]\n\tuploadpack = evil\n"), "uploadpack = evil" },
	{ LINE("[submodule \"x\"]\n\tupdate = !evil\n"), "update = !evil" },
	/* what git may read otherwise */
	{ LINE("[user]\n\tname = a\\\n[core]\n"), "name = a\\" },
	{ LINE("[user]\n\tname = a\\\r\n[core]\n"), "name = a\\\r" },
	{ LINE("bare = false\n"), "bare = false" },
	{ LINE("[core\nbare = false\n"), "[core" },
	{ LINE("[core \"]\nbare = false\n"), "[core \"]" },
	{ LINE("[core-x]\nbare = false\n"), "[core-x]" },
	{ LINE("[corex]\nbare = false\n"), "bare = false" },
	{ LINE("[core]\nbare.x = false\n"), "bare.x = false" },
	{ LINE("[core]\n= x\n"), "= x" },
	{ LINE("[core]\nbare x\n"), "bare x" },
	{ LINE("\xef\xbb\xbf[core]\n"), "\xef\xbb\xbf[core]" },
	{ LINE("# \0\n[core]\n\tfsmonitor = ./evil\n"), "# " },
	{ LINE("[core]\n\tbare = \0false\n"), "bare = " },
};

START_TEST(lines_that_run_something)
{
	auto_free char *line = git_config_runs(configs[_i].text, configs[_i].len);

	if (configs[_i].line)
		ck_assert_str_eq(line ? line : "", configs[_i].line);
	else
		ck_assert_msg(!line, "%s", line);
}
END_TEST

START_TEST(long_lines)
{
	enum { SECTIONS = 200000 };
	auto_free char *text = mem_new(SECTIONS * 3 + 1);

	for (size_t i = 0; i < SECTIONS; i++)
		memcpy(text + i * 3, "[a]", 3);
	ck_assert_ptr_null(git_config_runs(text, SECTIONS * 3));
	memset(text, 'x', SECTIONS);
	auto_free char *line = git_config_runs(text, SECTIONS);

	ck_assert_uint_eq(strlen(line), 80);
}
END_TEST

TCase *test_git_config(void)
{
	TCase *tcase = tcase_create("git-config");

	tcase_add_loop_test(tcase, lines_that_run_something, 0, (int)ARRAY_SIZE(configs));
	tcase_add_test(tcase, long_lines);
	return tcase;
}
