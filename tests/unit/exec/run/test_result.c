#include "tests/unit/exec/test_exec.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "tests/unit/exec/rig.h"

static const struct {
	const char *script;
	enum exec_process_end end;
	int status;
} scripts[] = {
	{ "exit 0", EXEC_PROCESS_EXITED, 0 },
	{ "exit 42", EXEC_PROCESS_EXITED, 42 },
	{ "exit 127", EXEC_PROCESS_EXITED, 127 }, /* its own, not ours */
	{ "exit 255", EXEC_PROCESS_EXITED, 255 },
	{ "kill -TERM $$", EXEC_PROCESS_SIGNALLED, SIGTERM },
	{ "kill -KILL $$", EXEC_PROCESS_SIGNALLED, SIGKILL },
	{ "kill -INT $$", EXEC_PROCESS_SIGNALLED, SIGINT },
	{ "kill -SEGV $$", EXEC_PROCESS_SIGNALLED, SIGSEGV },
	{ "kill -9 1; exit 3", EXEC_PROCESS_EXITED, 3 }, /* its own init is out of reach */
};

START_TEST(reports_the_exact_end)
{
	size_t at = (size_t)_i / RIG_USERS;
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	rig_sh(&rig, scripts[at].script);
	ck_assert_int_eq(rig.result.end, scripts[at].end);
	ck_assert_int_eq(rig.result.status, scripts[at].status);
	ck_assert_str_eq(rig.result.why, "");
	ck_assert_uint_eq(rig.egress_count, 1);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *program, *text; /* written into the program first, when there */
	int mode, status;
	const char *why;
} programs[] = {
	{ "there-is-no-such-program", NULL, 0, 127, "not found" },
	{ "./nor-here", NULL, 0, 127, "not found" },
	{ "./plain/below", "x", 0644, 126, "Permission denied" },
	{ "./text", "exit 0\n", 0755, 126, "#!" },
	{ "./empty", "", 0755, 126, "#!" },
	{ "./closed", "#!/bin/sh\n", 0644, 126, "Permission denied" },
	{ "./lost", "#!/no/such/interpreter\n", 0755, 127, "not found" },
	{ "/", NULL, 0, 126, "Permission denied" },
	{ "", NULL, 0, 127, "not found" },
	{ "./works", "#!/bin/sh\nexit 0\n", 0755, 0, "" },
	{ "on-the-path", "#!/bin/sh\nexit 0\n", 0755, 0, "" },
	{ "closed-first", "#!/bin/sh\nexit 0\n", 0755, 0,
	  "" }, /* the next directory has one that works */
};

START_TEST(tells_why_a_program_does_not_start)
{
	size_t at = (size_t)_i / RIG_USERS;
	const char *program = programs[at].program;
	const char *const argv[] = { program, NULL };
	bool has_slash = strchr(program, '/') != NULL;
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	auto_free char *path = mem_printf("PATH=%s/plain:%s/bin:/usr/bin:/bin", rig.dir, rig.dir);
	const char *const env[] = { path, NULL };

	rig.config.env_set = env;
	rig_make(&rig, "plain/closed-first", "x");
	if (programs[at].text) {
		auto_free char *name = mem_printf("%s%s", has_slash ? "" : "bin/", program);
		auto_free char *full = mem_printf("%s/%s", rig.dir, name);

		rig_make(&rig, name, programs[at].text);
		ck_assert_int_eq(chmod(full, (mode_t)programs[at].mode), 0);
	}
	ck_assert(rig_start(&rig, argv));
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end,
			 programs[at].status ? EXEC_PROCESS_NOT_STARTED : EXEC_PROCESS_EXITED);
	ck_assert_int_eq(rig.result.status, programs[at].status);
	ck_assert_msg(strstr(rig.result.why, programs[at].why), "%s", rig.result.why);
	rig_done(&rig);
}
END_TEST

START_TEST(runs_nothing_when_the_way_out_cannot_open)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig.egress_result = -1;
	rig_sh(&rig, "touch ran");
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_NOT_STARTED);
	ck_assert_int_eq(rig.result.status, 125);
	ck_assert_ptr_nonnull(strstr(rig.result.why, "listeners"));
	rig.egress_result = 0;
	ck_assert_str_eq(rig_ok(&rig, "ls"), ""); /* it did not run */
	rig_done(&rig);
}
END_TEST

START_TEST(passes_arguments_and_environment_whole)
{
	/* Longer than a pipe or a message: the plan goes by memory file. */
	auto_free char *large = mem_new(100001);
	struct rig rig;

	rig_init(&rig, _i);
	memset(large, 'x', 100000);
	auto_free char *entry = mem_printf("LARGE=%s", large);
	const char *const env[] = { entry, "SPACE= a\tb ", NULL };
	const char *const argv[] = { "sh",  "-c",  "echo ${#LARGE} ${#1} \"[$SPACE][$2][$3]\"",
				     "sh",  large, "",
				     "a b", NULL };

	rig.config.env_set = env;
	ck_assert(rig_start(&rig, argv));
	rig_wait(&rig);
	ck_assert_str_eq(rig.text, "100000 100000 [ a\tb ][][a b]\n");
	rig_done(&rig);
}
END_TEST

START_TEST(refuses_arguments_past_all_limits)
{
	auto_free char *large = mem_new((8U << 20) + 2);
	const char *const argv[] = { "true", large, NULL };
	struct rig rig;

	rig_init(&rig, 0);
	memset(large, 'x', (8U << 20) + 1);
	ck_assert(!rig_start(&rig, argv));
	ck_assert_ptr_nonnull(strstr(rig.text, "longer than 8 MiB"));
	rig_done(&rig);
}
END_TEST

TCase *test_result(void)
{
	TCase *tcase = tcase_create("result");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, reports_the_exact_end, 0, (int)ARRAY_SIZE(scripts) * RIG_USERS);
	tcase_add_loop_test(tcase, tells_why_a_program_does_not_start, 0,
			    (int)ARRAY_SIZE(programs) * RIG_USERS);
	tcase_add_loop_test(tcase, runs_nothing_when_the_way_out_cannot_open, 0, RIG_USERS);
	tcase_add_loop_test(tcase, passes_arguments_and_environment_whole, 0, RIG_USERS);
	tcase_add_test(tcase, refuses_arguments_past_all_limits);
	return tcase;
}
