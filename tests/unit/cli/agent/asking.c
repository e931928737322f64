#include "tests/unit/policies/configured/configured_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/agent/ask_tool.h"
#include "cli/view/reach.h"

static char folder[] = "/tmp/sallyport-asking-XXXXXX";

static char *in_folder(const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	static const char *const files[] = { "project/tool", "bin/tool", "project", "bin", "" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_free char *path = in_folder(files[i]);

		(void)remove(path); /* may not be there */
	}
	ck_assert_int_lt(access(folder, F_OK), 0);
}

static void write_tool(const char *where, const char *script)
{
	auto_free char *at = in_folder(where), *path = mem_printf("%s/tool", at);
	auto_free char *text = mem_printf("#!/bin/sh\n%s\n", script);

	(void)mkdir(at, 0700); /* may be there */
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

/* With PATH: the project's folder, a relative one, bin, and the machine's. */
static int ask(char **ret_output, struct err *why)
{
	static const char *const argv[] = { "tool", "config", NULL };
	auto_free char *project = in_folder("project"), *bin = in_folder("bin");
	auto_free char *path = mem_printf("%s:.:%s:/usr/bin:/bin", project, bin);
	struct reach *reach = reach_open(NULL, NULL); /* no command has run */
	struct ask_tool self = { project, reach };

	(void)mkdir(project, 0700); /* may be there */
	ck_assert_int_eq(chdir(project), 0);
	ck_assert_int_eq(setenv("PATH", path, 1), 0);
	memset(why, 0, sizeof(*why));
	int r = ask_tool(argv, ret_output, &self, why);

	reach_close(reach);
	return r;
}

START_TEST(answers)
{
	auto_free char *output = NULL, *want = NULL;
	struct err why;

	write_tool("bin", "echo \"$1\"; pwd; echo \"$PATH\"; cat; echo err >&2; "
			  "echo \"$LD_LIBRARY_PATH$NODE_OPTIONS.\"");
	ck_assert_int_eq(setenv("LD_LIBRARY_PATH", ":project", 1), 0);
	ck_assert_int_eq(setenv("NODE_OPTIONS", "--require ./x.js", 1), 0);
	int r = ask(&output, &why);

	(void)unsetenv("LD_LIBRARY_PATH");
	(void)unsetenv("NODE_OPTIONS");
	ck_assert_msg(r == 0, "%s", why.text);
	want = mem_printf("config\n/\n%s/bin:/usr/bin:/bin\n.\n", folder);
	ck_assert_str_eq(output, want);
}
END_TEST

START_TEST(the_project_does_not_answer)
{
	auto_free char *output = NULL, *link = NULL, *target = NULL;
	struct err why;

	write_tool("project", "echo evil");
	ck_assert_int_eq(ask(&output, &why), -ENOENT);
	ck_assert_ptr_null(output);

	/* Nor by a link that leads into it. */
	link = in_folder("bin/tool");
	target = in_folder("project/tool");
	auto_free char *bin = in_folder("bin");

	ck_assert_int_eq(mkdir(bin, 0700), 0);
	ck_assert_int_eq(symlink(target, link), 0);
	ck_assert_int_eq(ask(&output, &why), -ENOENT);
}
END_TEST

static const struct {
	const char *script;
	int want;
} failures[] = {
	{ "echo x; exit 1", -EIO },
	{ "kill -9 $$", -EIO },
	{ "while :; do echo 0123456789012345678901234567890123456789; done", -E2BIG },
	{ "sleep 60 & echo x; exec sleep 60", -ETIMEDOUT },
};

START_TEST(failing_tools)
{
	auto_free char *output = NULL;
	struct err why;

	write_tool("bin", failures[_i].script);
	ck_assert_msg(ask(&output, &why) == failures[_i].want, "%s: %s", failures[_i].script,
		      why.text);
	ck_assert(why.text[0]);
	ck_assert_ptr_null(output);
}
END_TEST

TCase *asking_cases(void)
{
	TCase *tcase = tcase_create("asking");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 30);
	tcase_add_test(tcase, answers);
	tcase_add_test(tcase, the_project_does_not_answer);
	tcase_add_loop_test(tcase, failing_tools, 0, ARRAY_SIZE(failures));
	return tcase;
}
