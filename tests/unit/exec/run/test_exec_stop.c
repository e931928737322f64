#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/run/exec_rig.h"

/* How a command ends by itself. */
static const struct {
	const char *script;
	enum exec_end end;
	int code;
	enum exec_process_end raw;
	int status;
} ends[] = {
	{ "exit 0", EXEC_EXITED, 0, EXEC_PROCESS_EXITED, 0 },
	{ "exit 124", EXEC_EXITED, 124, EXEC_PROCESS_EXITED, 124 }, /* its own: no time limit */
	{ "exit 130", EXEC_EXITED, 130, EXEC_PROCESS_EXITED, 130 },
	{ "kill -TERM $$", EXEC_SIGNALLED, 143, EXEC_PROCESS_SIGNALLED, SIGTERM },
	{ "kill -INT $$", EXEC_SIGNALLED, 130, EXEC_PROCESS_SIGNALLED, SIGINT },
	{ "kill -KILL $$", EXEC_SIGNALLED, 137, EXEC_PROCESS_SIGNALLED, SIGKILL },
	{ "exec /no/such/program", EXEC_EXITED, 127, EXEC_PROCESS_EXITED, 127 },
};

START_TEST(an_end_of_its_own)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	exec_rig_new(&rig);
	ck_assert_int_eq(exec_answer(rig.exec, 1, true), -ESRCH);
	exec_rig_go(&rig, ends[_i / RIG_USERS].script);
	ck_assert_int_eq(exec_answer(rig.exec, 1, true), -ENOENT);
	exec_rig_wait(&rig);
	ck_assert_int_eq(exec_answer(rig.exec, 1, true), -ESRCH);
	ck_assert_int_eq(rig.result.end, ends[_i / RIG_USERS].end);
	ck_assert_int_eq(rig.result.code, ends[_i / RIG_USERS].code);
	ck_assert_int_eq(rig.result.raw.end, ends[_i / RIG_USERS].raw);
	ck_assert_int_eq(rig.result.raw.status, ends[_i / RIG_USERS].status);
	ck_assert_str_eq(rig.result.why, "");
	exec_rig_done(&rig);
}
END_TEST

/* What cannot start, and the word that is said. */
static const struct {
	const char *program, *cwd;
	int egress_result, code;
	const char *why;
} failures[] = {
	{ "./none", NULL, 0, 127, "not found" },
	{ "/", NULL, 0, 126, "Permission denied" },
	{ "true", "/no/such/directory", 0, 125, "/no/such/directory" },
	{ "true", NULL, -EPERM, 125, "listeners" },
};

START_TEST(what_cannot_start_says_so)
{
	struct exec_rig rig;
	const char *const argv[] = { failures[_i / RIG_USERS].program, NULL };

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.rig.egress_result = failures[_i / RIG_USERS].egress_result;
	rig.rig.config.argv = argv;
	if (failures[_i / RIG_USERS].cwd)
		rig.rig.config.cwd = failures[_i / RIG_USERS].cwd;
	exec_rig_new(&rig);
	exec_start(rig.exec, &rig.rig.config);
	ck_assert(!rig.has_ended);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_NOT_STARTED);
	ck_assert_int_eq(rig.result.code, failures[_i / RIG_USERS].code);
	ck_assert_msg(strstr(rig.result.why, failures[_i / RIG_USERS].why), "%s", rig.result.why);
	ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "late"), -ESRCH);
	exec_rig_done(&rig);
}
END_TEST

/* With every number of descriptors that is too small, and with some that are not: it runs, or says
 * why not. */
START_TEST(too_few_descriptors_are_said)
{
	struct rlimit files;
	struct exec_rig rig;
	unsigned int failed = 0, ran = 0;

	exec_rig_init(&rig, _i);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	for (rlim_t limit = 12; limit < 48; limit++) {
		files.rlim_cur = limit;
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
		rig.has_ended = false;
		exec_rig_run(&rig, "exit 3");
		bool has_run = rig.result.end == EXEC_EXITED;

		ck_assert_msg(rig.result.code == (has_run ? 3 : 125), "%d", rig.result.code);
		ck_assert_int_eq(rig.result.why[0] == '\0', has_run);
		ran += has_run;
		failed += !has_run;
		exec_free(rig.exec);
		rig.exec = NULL;
	}
	ck_assert_uint_gt(failed, 0);
	ck_assert_uint_gt(ran, 0);
	exec_rig_done(&rig);
}
END_TEST

/* A stop at each moment. */
enum moment { BEFORE, SETTING_UP, EGRESS, RUNNING };

static const char running[] = "echo up; exec sleep 1000";

static int stop_in_egress(int *fds, size_t count, void *arg)
{
	struct exec_rig *rig = arg;

	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	ck_assert_int_eq(exec_stop(rig->exec, EXEC_CANCELLED, "enough"), 0);
	return 0;
}

START_TEST(a_stop_at_any_moment)
{
	enum moment moment = (enum moment)_i / RIG_USERS;
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	if (moment == EGRESS)
		rig.events.on_egress = stop_in_egress;
	exec_rig_new(&rig);
	if (moment == BEFORE)
		ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "enough"), 0);
	exec_rig_go(&rig, running);
	if (moment == SETTING_UP)
		ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "enough"), 0);
	if (moment == RUNNING) {
		exec_rig_await(&rig, "up");
		ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "enough"), 0);
	}
	if (moment != EGRESS) /* and again, which changes nothing; what never starts is over */
		ck_assert_int_eq(exec_stop(rig.exec, EXEC_DENIED, "more"),
				 moment == BEFORE ? -ESRCH : 0);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_CANCELLED);
	ck_assert_int_eq(rig.result.code, moment == RUNNING ? 128 + SIGTERM : 137);
	ck_assert_str_eq(rig.result.why, "enough");
	if (moment != RUNNING) { /* not for a moment */
		ck_assert_int_eq(rig.result.raw.end, EXEC_PROCESS_NOT_STARTED);
		ck_assert_ptr_null(rig.live[EXEC_STDOUT].bytes);
	}
	ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "late"), -ESRCH);
	ck_assert_int_eq(exec_interrupt(rig.exec), -ESRCH);
	ck_assert_int_eq(rig.result.end, EXEC_CANCELLED);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_stop_lets_it_clean_up)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.grace_ms = 60000;
	exec_rig_start(&rig, "trap 'echo cleaned; echo up >file; exit 7' TERM; echo up; "
			     "while :; do sleep 0.01; done");
	exec_rig_await(&rig, "up");
	ck_assert_int_eq(exec_stop(rig.exec, EXEC_DENIED, "host refused"), 0);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_DENIED);
	ck_assert_int_eq(rig.result.code, 7);
	ck_assert_str_eq(rig.result.why, "host refused");
	ck_assert_int_eq(rig.result.raw.end, EXEC_PROCESS_EXITED);
	ck_assert_int_eq(rig.result.raw.status, 7);
	ck_assert_str_eq(rig.live[EXEC_STDOUT].bytes, "up\ncleaned\n"); /* none of it is lost */
	ck_assert_str_eq(rig_read(&rig.rig, "file"), "up\n");
	exec_rig_done(&rig);
}
END_TEST

/* What does not hear SIGTERM: because it ignores it, or because it is stopped and would not wake
 * (that one hears it, with the SIGCONT behind it). */
static const struct {
	const char *script;
	int64_t grace_ms;
	enum exec_process_end raw;
	int status;
} deaf[] = {
	{ "trap '' TERM; echo up; sleep 1000; sleep 1000", 50, EXEC_PROCESS_KILLED, SIGKILL },
	{ "trap '' TERM; setsid sh -c 'sleep 1000' & echo up; sleep 1000; sleep 1000", 50,
	  EXEC_PROCESS_KILLED, SIGKILL },
	{ "echo up; kill -STOP $$", 60000, EXEC_PROCESS_SIGNALLED, SIGTERM },
	/* who listens goes, and takes with it who does not */
	{ "trap 'exit 3' TERM; (trap '' TERM; sleep 1000; sleep 1000) & echo up; wait", 60000,
	  EXEC_PROCESS_EXITED, 3 },
};

START_TEST(a_stop_ends_what_does_not_listen)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.config.grace_ms = deaf[_i / RIG_USERS].grace_ms;
	exec_rig_start(&rig, deaf[_i / RIG_USERS].script);
	exec_rig_await(&rig, "up");
	ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "enough"), 0);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_CANCELLED);
	ck_assert_int_eq(rig.result.raw.end, deaf[_i / RIG_USERS].raw);
	ck_assert_int_eq(rig.result.raw.status, deaf[_i / RIG_USERS].status);
	ck_assert(!rig.result.is_cut); /* nobody holds the pipe any more */
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_time_limit_ends_the_whole_group)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.limit_ms = 200;
	rig.config.grace_ms = 50;
	exec_rig_run(&rig, "trap '' TERM; (trap '' TERM; sleep 1000; sleep 1000) & setsid sleep "
			   "1000 & echo before; sleep 1000; sleep 1000");
	ck_assert_int_eq(rig.result.end, EXEC_TIMED_OUT);
	ck_assert_int_eq(rig.result.code, 124);
	ck_assert_str_eq(rig.result.why, "it ran longer than 200 ms");
	ck_assert_str_eq(rig.live[EXEC_STDOUT].bytes, "before\n");
	ck_assert_int_ge(rig.result.running_ms, 200);
	ck_assert(!rig.result.is_cut);
	exec_rig_done(&rig);
}
END_TEST

/* What runs for longer than its limit, while the clock stands still, is not ended; and it is, once
 * the clock goes on. */
START_TEST(a_question_stops_the_clock)
{
	struct exec_rig rig;
	const char *script = "echo up; sleep 0.4; echo later; exec sleep 1000";

	exec_rig_init(&rig, _i);
	rig.config.limit_ms = 200;
	exec_rig_new(&rig);
	exec_pause_clock(rig.exec);
	exec_rig_go(&rig, script);
	exec_pause_clock(rig.exec);
	exec_rig_await(&rig, "up");
	exec_resume_clock(rig.exec);
	exec_rig_await(&rig, "later");
	exec_resume_clock(rig.exec);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_TIMED_OUT);
	ck_assert_int_ge(rig.result.total_ms - rig.result.running_ms, 400);
	exec_rig_done(&rig);
}
END_TEST

static const struct {
	const char *script;
	enum exec_end end;
	int code;
} interrupts[] = {
	{ "echo up; exec sleep 1000", EXEC_INTERRUPTED, 130 },
	{ "trap 'exit 9' INT; echo up; while :; do sleep 0.01; done", EXEC_EXITED, 9 },
	{ "trap 'echo went on; kill -9 $$' INT; echo up; while :; do sleep 0.01; done",
	  EXEC_SIGNALLED, 137 },
};

START_TEST(an_interrupt_is_a_request)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	if (_i / RIG_USERS / (int)ARRAY_SIZE(interrupts) == 1)
		rig.config.io = EXEC_IO_PTY;
	size_t at = (size_t)_i / RIG_USERS % ARRAY_SIZE(interrupts);

	exec_rig_new(&rig);
	ck_assert_int_eq(exec_interrupt(rig.exec), -EAGAIN);
	exec_rig_go(&rig, interrupts[at].script);
	exec_rig_await(&rig, "up");
	ck_assert_int_eq(exec_interrupt(rig.exec), 0);
	exec_rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, interrupts[at].end);
	ck_assert_int_eq(rig.result.code, interrupts[at].code);
	ck_assert(rig.result.was_interrupted);
	exec_rig_done(&rig);
}
END_TEST

TCase *test_exec_stop(void)
{
	TCase *tcase = tcase_create("exec_stop");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, an_end_of_its_own, 0, (int)ARRAY_SIZE(ends) * RIG_USERS);
	tcase_add_loop_test(tcase, what_cannot_start_says_so, 0,
			    (int)ARRAY_SIZE(failures) * RIG_USERS);
	tcase_add_loop_test(tcase, too_few_descriptors_are_said, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_stop_at_any_moment, 0, 4 * RIG_USERS);
	tcase_add_loop_test(tcase, a_stop_lets_it_clean_up, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_stop_ends_what_does_not_listen, 0,
			    (int)ARRAY_SIZE(deaf) * RIG_USERS);
	tcase_add_loop_test(tcase, a_time_limit_ends_the_whole_group, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_question_stops_the_clock, 0, RIG_USERS);
	tcase_add_loop_test(tcase, an_interrupt_is_a_request, 0,
			    2 * (int)ARRAY_SIZE(interrupts) * RIG_USERS);
	return tcase;
}
