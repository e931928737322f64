#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* Programs inside are judged before they run. */

#define FORBIDDEN "/forbidden" /* how what may not run ends */

static struct {
	struct rig rig;
	char asked[16384]; /* one line a program */
	unsigned int count;
	unsigned int refused;
	char refused_path[512];
	bool is_slow;
	uint64_t waiting[64];
	bool verdicts[64];
	size_t waiting_count;
	struct loop_timer answering;
} t;

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), more = strlen(end);

	return len >= more && strcmp(text + len - more, end) == 0;
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	if (evidence->what != EXEC_REFUSED_PROGRAM)
		return;
	t.refused++;
	(void)snprintf(t.refused_path, sizeof(t.refused_path), "%s", evidence->path);
}

static void answer_all(void *arg)
{
	for (size_t i = 0; i < t.waiting_count; i++)
		ck_assert_int_eq(exec_process_answer(t.rig.process, t.waiting[i], t.verdicts[i]),
				 0);
	t.waiting_count = 0;
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	size_t len = strlen(t.asked);
	bool is_allowed = !ends_with(program->path, FORBIDDEN);

	ck_assert_ptr_eq(arg, &t.rig);
	ck_assert_int_eq(cwd[0], '/');
	t.count++;
	len += (size_t)snprintf(t.asked + len, sizeof(t.asked) - len, "%s", program->path);
	for (; *argv && len < sizeof(t.asked); argv++)
		len += (size_t)snprintf(t.asked + len, sizeof(t.asked) - len, " %s", *argv);
	if (len < sizeof(t.asked) && program->interpreter)
		len += (size_t)snprintf(t.asked + len, sizeof(t.asked) - len, " by %s",
					program->interpreter->path);
	if (len < sizeof(t.asked))
		(void)snprintf(t.asked + len, sizeof(t.asked) - len, "\n");
	if (!t.is_slow) {
		ck_assert_int_eq(exec_process_answer(t.rig.process, id, is_allowed), 0);
		ck_assert_int_eq(exec_process_answer(t.rig.process, id, true), -ENOENT);
		return;
	}
	ck_assert_uint_lt(t.waiting_count, ARRAY_SIZE(t.waiting));
	t.verdicts[t.waiting_count] = is_allowed;
	t.waiting[t.waiting_count++] = id;
	loop_timer_start(t.rig.loop, &t.answering, 5, answer_all, NULL);
}

static void init(int user)
{
	memset(&t, 0, sizeof(t));
	rig_init(&t.rig, user);
	t.rig.config.on_refused = on_refused;
	t.rig.config.on_program = on_program;
}

static void done(void)
{
	loop_timer_stop(&t.answering);
	rig_done(&t.rig);
}

/* A program of its own in the working directory. */
static void put_program(const char *from, const char *name)
{
	auto_free char *to = mem_printf("%s/%s", t.rig.dir, name);
	auto_free char *text = NULL;
	size_t len = 0;
	auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_close int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	ck_assert_int_ge(in, 0);
	ck_assert_int_ge(out, 0);
	ck_assert_int_eq(fd_read_all(in, 32 << 20, &text, &len, NULL), 0);
	ck_assert_int_eq(fd_write_all(out, text, len), 0);
	ck_assert_int_eq(fchmod(out, 0755), 0);
}

static void put_script(const char *name, const char *text)
{
	auto_free char *path = mem_printf("%s/%s", t.rig.dir, name);

	rig_make(&t.rig, name, text);
	ck_assert_int_eq(chmod(path, 0755), 0);
}

/* The caller, the call, and the program: all of these run. */
static const struct {
	const char *script,
		*want; /* of the last question, its path resolved; NULL: not looked at */
} ways[] = {
	{ "/bin/echo ok", "/echo /bin/echo ok\n" },
	{ "echo() { :; }; env echo ok", "/echo echo ok\n" },
	{ "(exec /bin/echo ok)", "/echo /bin/echo ok\n" },
	{ "sh -c 'sh -c \"/bin/echo ok\"'", "/echo /bin/echo ok\n" },
	{ "ln -s /bin/echo link; ./link ok", "/echo ./link ok\n" },
	{ "cd /usr; ./bin/echo ok", "/echo ./bin/echo ok\n" },
	{ "./script ok", "/script ./script ok by /usr/bin/dash\n" },
	{ "./outer ok", "/outer ./outer ok by /usr/bin/dash\n" },
	{ "./argued ok", NULL },
	{ "printf 'ok' | xargs /bin/echo", "/echo /bin/echo ok\n" },
	{ "/bin/echo ok & wait", "/echo /bin/echo ok\n" },
	{ "/bin/echo ok '' 'a b'", "/echo /bin/echo ok  a b\n" },
	{ "cp /bin/echo e; (exec 7<e; /proc/self/fd/7 ok)", "/e /proc/self/fd/7 ok\n" },
	{ "cp /bin/echo e; (exec 7<e; /dev/fd/7 ok)", "/e /dev/fd/7 ok\n" },
	{ "/proc/self/root/bin/echo ok", "/echo /proc/self/root/bin/echo ok\n" },
	{ "cd /usr; /proc/self/cwd/bin/echo ok", "/echo /proc/self/cwd/bin/echo ok\n" },
	{ "ln -s /proc/thread-self/root r; r/bin/echo ok", "/echo r/bin/echo ok\n" },
	{ "perl -e 'exec {\"/proc/self/exe\"} \"p\", \"-e\", \"print qq(ok)\" if !$ARGV[0]'",
	  "/perl p -e print qq(ok)\n" },
	{ "sh deep 30 /bin/echo", "/echo /bin/echo ok\n" },
};

static void put_scripts(void)
{
	put_script("script", "#!/bin/sh\necho script $1\n");
	put_script("deep", "if [ $1 = 0 ]; then $2 ok; else sh deep $(($1 - 1)) $2; fi\n");
	put_script("inner", "#! /bin/sh -e\necho inner $2\n");
	auto_free char *outer = mem_printf("#!%s/inner\n", t.rig.dir);

	put_script("outer", outer);
	put_script("argued", "#!/usr/bin/env -S sh -eu \necho argued $1\n");
}

START_TEST(allowed_programs_run)
{
	const char *script = ways[_i / RIG_USERS / 2].script;
	const char *want = ways[_i / RIG_USERS / 2].want;

	init(_i % RIG_USERS);
	t.is_slow = _i / RIG_USERS % 2;
	put_scripts();
	const char *text = rig_sh(&t.rig, script);

	ck_assert_msg(t.rig.result.end == EXEC_PROCESS_EXITED && t.rig.result.status == 0 &&
			      strstr(text, "ok") != NULL,
		      "%s: %s: end %d, status %d, why %s, asked:\n%s", script, text,
		      t.rig.result.end, t.rig.result.status, t.rig.result.why, t.asked);
	ck_assert_msg(!want || ends_with(t.asked, want), "%s: asked:\n%s", script, t.asked);
	ck_assert_uint_eq(t.refused, 0);
	done();
}
END_TEST

static const char *const denied_ways[] = {
	"./forbidden ran",
	"$PWD/forbidden ran",
	"env ./forbidden ran",
	"(exec ./forbidden ran)",
	"ln -s forbidden fine; ./fine ran",
	"mkdir d; ln -s ../forbidden d/fine; cd d; ./fine ran",
	"/proc/self/cwd/forbidden ran",
	"/proc/self/root/$PWD/forbidden ran",
	"ln -s /proc/self/cwd/forbidden fine; ./fine ran",
	"sh deep 30 ./forbidden",
	"exec 7<.; /proc/self/fd/7/forbidden ran",
	"perl -e 'exec {\"/proc/self/cwd/forbidden\"} \"perl\", \"ran\"'",
	"exec 7<forbidden; /proc/self/fd/7 ran",
	"exec 7<forbidden; /dev/fd/7 ran",
	"find forbidden -exec ./forbidden ran \\;",
	"echo ran | xargs ./forbidden",
	"(setsid ./forbidden ran; wait)",
	"perl -e 'exec {\"./forbidden\"} \"true\", \"ran\"; exit 1'",
	"/usr/bin/python3 -c 'import os; os.execve(\"./forbidden\", [\"true\", \"ran\"], {})'",
	"/usr/bin/python3 -c 'import os; os.execve(os.open(\"forbidden\", 0), [\"true\", \"ran\"], "
	"{})'",
	"/usr/bin/python3 -c 'import os; os.posix_spawn(\"./forbidden\", [\"true\", \"ran\"], {})'",
	"/usr/bin/python3 -c 'import subprocess; print(subprocess.run([\"./forbidden\", "
	"\"ran\"]))'",
	"/usr/bin/python3 -c 'import os, shutil\n"
	"fd = os.memfd_create(\"x\", 0)\n"
	"os.write(fd, open(\"/bin/echo\", \"rb\").read())\n"
	"os.execve(fd, [\"echo\", \"ran\"], {})'",
	"/usr/bin/python3 -c 'import os\n"
	"os.link(\"forbidden\", \"gone\"); os.link(\"/bin/echo\", \"x\") if 0 else None\n"
	"open(\"gone2\", \"wb\").write(open(\"forbidden\", \"rb\").read()); os.chmod(\"gone2\", "
	"0o755)\n"
	"fd = os.open(\"gone2\", 0); os.unlink(\"gone2\")\n"
	"os.execve(fd, [\"echo\", \"ran\"], {})'",
};

START_TEST(denied_programs_do_not_run)
{
	const char *script = denied_ways[_i / RIG_USERS / 2];

	init(_i % RIG_USERS);
	t.is_slow = _i / RIG_USERS % 2;
	put_program("/bin/echo", "forbidden");
	put_scripts();
	const char *text = rig_sh(&t.rig, script);

	ck_assert_msg(strncmp(text, "ran", 3) != 0 && !strstr(text, "\nran") &&
			      !strstr(text, "ok\n"),
		      "%s: %s", script, text);
	ck_assert_msg(t.refused >= 1, "%s: asked:\n%s, printed: %s", script, t.asked, text);
	done();
}
END_TEST

START_TEST(the_first_program_is_judged)
{
	const char *const argv[] = { "./forbidden", "ran", NULL };

	init(_i);
	put_program("/bin/echo", "forbidden");
	ck_assert(rig_start(&t.rig, argv));
	rig_wait(&t.rig);
	ck_assert_int_eq(t.rig.result.end, EXEC_PROCESS_NOT_STARTED);
	ck_assert_int_eq(t.rig.result.status, 126);
	ck_assert_uint_eq(t.refused, 1);
	ck_assert(ends_with(t.refused_path, FORBIDDEN));
	done();
}
END_TEST

/* A script of the host's, which the command cannot change, by ways that it can or cannot turn
 * before the interpreter opens it by its name. */
static const struct {
	const char *script;
	bool is_steady;
} turns[] = {
	{ "$OUT/script ran", true },
	{ "$OUT/link ran", true },
	{ "cd $OUT; $PWD/script ran", true },
	{ "$OUT/../${OUT##*/}/script ran", true },
	{ "ln -s $OUT/script mine; ./mine ran", false },
	{ "ln -s $OUT/script mine; $PWD/mine ran", false },
	{ "ln -s $OUT mine; $PWD/mine/script ran", false },
	{ "ln -s $OUT/script /tmp/mine; /tmp/mine ran", false },
	{ "cd $OUT; ./script ran", false },
	{ "exec 7<$OUT/script; /proc/self/fd/7 ran", false },
};

START_TEST(a_script_is_read_from_where_it_was_judged)
{
	size_t row = (size_t)_i / RIG_USERS;

	init(_i % RIG_USERS);
	auto_free char *path = mem_printf("%s/script", t.rig.outside);
	auto_free char *link = mem_printf("%s/link", t.rig.outside);
	auto_free char *script =
		mem_printf("OUT=%s; %s || exit 1", t.rig.outside, turns[row].script);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);

	ck_assert_int_eq(fd_write_all(fd, "#!/bin/sh\necho $1\n", 18), 0);
	ck_assert_int_eq(fchmod(fd, 0755), 0);
	ck_assert_int_eq(symlink("script", link), 0);
	close(fd_take(&fd));
	const char *text = rig_sh(&t.rig, script);

	ck_assert_msg((strcmp(text, "ran\n") == 0) == turns[row].is_steady, "%s: %s%s", script,
		      text, t.asked);
	ck_assert_msg((t.refused == 0) == turns[row].is_steady, "%s: %u refused", script,
		      t.refused);
	done();
}
END_TEST

TCase *test_intercept(void)
{
	TCase *tcase = tcase_create("intercept");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, allowed_programs_run, 0, (int)ARRAY_SIZE(ways) * RIG_USERS * 2);
	tcase_add_loop_test(tcase, denied_programs_do_not_run, 0,
			    (int)ARRAY_SIZE(denied_ways) * RIG_USERS * 2);
	tcase_add_loop_test(tcase, a_script_is_read_from_where_it_was_judged, 0,
			    (int)ARRAY_SIZE(turns) * RIG_USERS);
	tcase_add_loop_test(tcase, the_first_program_is_judged, 0, RIG_USERS);
	return tcase;
}
