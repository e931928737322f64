#include "tests/unit/policies/commands/commands_test.h"

#include <string.h>

#include "base/mem.h"

/* A program before it is executed: the opened file, the words, and its interpreter. */
static const struct {
	const char *rules, *path, *words;
	const char *reader; /* the file of its #! line, or NULL */
	enum command_action want;
	const char *rule; /* what stands in the rule that decided, or NULL */
} rows[] = {
	{ "allow ls", "/usr/bin/ls", "ls -l", NULL, COMMAND_ALLOW, NULL },
	{ "", "/usr/bin/ls", "ls", NULL, COMMAND_UNMATCHED, NULL },
	/* The file decides, whatever name it is given. */
	{ "deny git push", "/usr/bin/git", "ls push", NULL, COMMAND_DENY, "git push" },
	{ "ask git", "/usr/bin/git", "ls", NULL, COMMAND_ASK, "git" },
	/* So does the name: one file does different things by different names. */
	{ "allow multi\ndeny rm", "/usr/bin/multi", "rm -r x", NULL, COMMAND_DENY, "rm" },
	{ "allow multi\nask rm", "/usr/bin/multi", "rm -r x", NULL, COMMAND_ASK, "rm" },
	/* An invented name allows nothing; one that leads to the file does. */
	{ "allow ls", "/home/x/evil", "ls", NULL, COMMAND_UNMATCHED, NULL },
	{ "deny /home/x/evil\nallow ls", "/home/x/evil", "ls", NULL, COMMAND_DENY, "evil" },
	{ "allow /opt/link", "/usr/bin/git", "/opt/link status", NULL, COMMAND_ALLOW, "link" },
	{ "allow ls", "/usr/bin/ls", "", NULL, COMMAND_ALLOW, NULL },
	{ "deny ls", "/usr/bin/ls", "", NULL, COMMAND_DENY, "ls" },
	/* The loader runs what it is given, under whichever of its names. */
	{ "deny id", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	  "/lib64/ld-linux-x86-64.so.2 /usr/bin/id", NULL, COMMAND_DENY, "id" },
	{ "deny id", "/lib/ld-musl-aarch64.so.1", "ld --library-path /x --argv0 true /usr/bin/id",
	  NULL, COMMAND_DENY, "id" },
	{ "ask id", "/usr/bin/ld.so", "ld.so --preload /x.so id", NULL, COMMAND_ASK, "id" },
	/* A shell executes what its script names, and then that is decided; it cannot begin what is
	 * denied. What it does itself is decided at once. */
	{ "allow *\nask git push", "/usr/bin/sh", "sh -c 'ls; git push'", NULL, COMMAND_ALLOW,
	  NULL },
	{ "ask git push", "/usr/bin/sh", "sh -c 'git push'", NULL, COMMAND_UNMATCHED, NULL },
	{ "allow *\ndeny git push", "/usr/bin/sh", "sh -c 'git push'", NULL, COMMAND_DENY, "push" },
	{ "allow *\nask kill", "/usr/bin/sh", "sh -c 'kill 1'", NULL, COMMAND_ASK, "kill" },
	{ "allow *\nask sh", "/usr/bin/sh", "sh -c 'git push'", NULL, COMMAND_ASK, "ask sh" },
	{ "allow *\nask id", "/usr/bin/busybox", "busybox id", NULL, COMMAND_ASK, "id" },
	{ "allow *\nask git push", "/usr/bin/sh", "sh -c 'for i in a; do git $i; done'", NULL,
	  COMMAND_ALLOW, NULL },
	/* A script and its reader. */
	{ "allow *\nask python3", "/w/x.py", "./x.py", "/usr/bin/python3", COMMAND_ASK, "python3" },
	{ "deny python3", "/w/x.py", "./x.py", "/usr/bin/python3", COMMAND_DENY, "python3" },
	{ "deny python3\nallow /w/x.py", "/w/x.py", "/w/x.py", "/usr/bin/python3", COMMAND_DENY,
	  "python3" },
	{ "ask python3", "/w/x.py", "./x.py", "/usr/bin/python3", COMMAND_ASK, "python3" },
	{ "ask python3\nallow /w/x.py", "/w/x.py", "/w/x.py", "/usr/bin/python3", COMMAND_ALLOW,
	  "x.py" },
	{ "allow python3", "/w/x.py", "./x.py", "/usr/bin/python3", COMMAND_UNMATCHED, NULL },
	{ "allow python3\ndeny /w/x.py", "/w/x.py", "./x.py", "/usr/bin/python3", COMMAND_DENY,
	  "x.py" },
};

/* As a caller has it: the same file as the world's where its path is looked up there. */
static struct command_opened opened(const char *path, const struct command_opened *reader)
{
	struct command_file file;

	ck_assert_int_eq(world.resolve(path, &file, NULL), 0);
	return (struct command_opened){ path, file.device, file.inode, reader };
}

START_TEST(programs_are_judged)
{
	struct command_rules *rules = rules_of(rows[_i].rules);
	struct command_verdict verdict;
	struct command_opened reader = { 0 };
	struct line line;

	line_split(&line, rows[_i].words);
	if (rows[_i].reader)
		reader = opened(rows[_i].reader, NULL);
	struct command_opened program = opened(rows[_i].path, rows[_i].reader ? &reader : NULL);

	command_program_decide(rules, &world, &program, line.argv, &verdict);
	ck_assert_msg(verdict.action == rows[_i].want, "%s %s under %s: %s", rows[_i].path,
		      rows[_i].words, rows[_i].rules, command_action_name(verdict.action));
	ck_assert_msg(!rows[_i].rule || strstr(verdict.rule, rows[_i].rule), "%s", verdict.rule);
	command_rules_free(rules);
}
END_TEST

/* Another file under the program's own path: `program git /usr/bin/git` means the file there now,
 * and the one that was opened is another. */
START_TEST(the_path_of_another_file)
{
	struct command_rules *rules = rules_of("allow ls");
	struct command_opened program = { "/home/x/ls", 7, 7, NULL };
	const char *const argv[] = { "ls", NULL };
	struct command_verdict verdict;

	command_program_decide(rules, &world, &program, argv, &verdict);
	ck_assert_int_eq(verdict.action, COMMAND_UNMATCHED);
	command_program_decide(rules, NULL, &program, argv, &verdict);
	ck_assert_int_ne(verdict.action, COMMAND_ALLOW);
	command_rules_free(rules);
}
END_TEST

TCase *programs_cases(void)
{
	TCase *tcase = tcase_create("programs");

	tcase_add_loop_test(tcase, programs_are_judged, 0, ARRAY_SIZE(rows));
	tcase_add_test(tcase, the_path_of_another_file);
	return tcase;
}
