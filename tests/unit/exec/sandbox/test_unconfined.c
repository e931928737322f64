#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "tests/unit/exec/rig.h"
#include "tests/unit/exec/words.h"

/* Nothing confines it, and nothing of it stays. */

#define PATIENCE_MS 10000

static void begin(struct rig *rig, int user)
{
	rig_init(rig, user);
	rig->config.sandbox = words_sandbox("danger-full-access", NULL, NULL, NULL);
	ck_assert_ptr_nonnull(rig->config.sandbox);
}

static void end(struct rig *rig)
{
	exec_sandbox_free((struct exec_sandbox *)(uintptr_t)rig->config.sandbox);
	rig_done(rig);
}

/* Each must exit 0. */
static const char *const scripts[] = {
	"for ns in user net mnt pid ipc uts cgroup; do test $(readlink /proc/self/ns/$ns) = $(eval "
	"echo \\$OUT_$ns) || exit 1; done",
	"touch $OUT/x /tmp/$RUN && rm /tmp/$RUN",
	"grep -q '^Seccomp:.0$' /proc/self/status && grep -q '^NoNewPrivs:.0$' /proc/self/status",
	"test \"$KEPT\" = kept && test \"$SSH_AUTH_SOCK\" = agent && test -z "
	"\"$SALLYPORT_ACTIVE$SALLYPORT_X\"",
	"test $(ls /proc/self/fd | wc -l) = 4", /* 0-2, and ls's own */
	"test $(ps -o sid= -p $$) != $OUT_sid && test $(ps -o pgid= -p $$) = $$",
};

START_TEST(is_as_without_us)
{
	static const char *const kinds[] = { "user", "net", "mnt", "pid", "ipc", "uts", "cgroup" };
	struct rig rig;

	begin(&rig, _i % RIG_USERS);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		auto_free char *link = mem_printf("/proc/self/ns/%s", kinds[i]);
		auto_free char *name = mem_printf("OUT_%s", kinds[i]);
		char value[64] = "";

		ck_assert_int_gt(readlink(link, value, sizeof(value) - 1), 0);
		setenv(name, value, 1);
	}
	auto_free char *run = mem_printf("sallyport-test-%d", getpid());
	auto_free char *sid = mem_printf("%d", getsid(0));

	setenv("OUT", rig.outside, 1);
	setenv("OUT_sid", sid, 1);
	setenv("RUN", run, 1);
	setenv("KEPT", "kept", 1);
	setenv("SSH_AUTH_SOCK", "agent", 1);
	setenv("SALLYPORT_X", "x", 1);
	rig_ok(&rig, scripts[_i / RIG_USERS]);
	ck_assert_uint_eq(rig.egress_count, 0);
	end(&rig);
}
END_TEST

/* The output is a pipe that all of them hold: it ends when they have. */
static bool is_everybody_gone(const struct rig *rig, const char *mark)
{
	auto_free char *find = mem_printf("pgrep -f '^%s' >/dev/null", mark);

	for (int waited = 0; waited < PATIENCE_MS; waited += 50) {
		if (WEXITSTATUS(system(find)) == 1)
			return true;
		(void)poll(NULL, 0, 50);
	}
	return false;
}

/* Daemons of all sorts under one name, which is in $MARK. */
static const char daemons[] =
	"for i in 1 2 3; do (setsid bash -c 'trap \"\" HUP TERM INT; exec -a $MARK sleep 300' &) ; "
	"done; "
	"setsid setsid bash -c '(exec -a $MARK sleep 300) & disown; exec -a $MARK sleep 300' & "
	"while test $(pgrep -cf ^$MARK) -lt 5; do sleep 0.05; done; ";

static char *set_mark(void)
{
	char *mark = mem_printf("sallyport-mark-%d", getpid());

	setenv("MARK", mark, 1);
	return mark;
}

START_TEST(nothing_stays_behind)
{
	auto_free char *mark = set_mark();
	auto_free char *script = mem_printf("%sexit 42", daemons);
	struct rig rig;

	begin(&rig, _i);
	rig_sh(&rig, script);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_EXITED);
	ck_assert_int_eq(rig.result.status, 42);
	/* Not "soon": before the end was told. */
	auto_free char *find = mem_printf("pgrep -f '^%s' >/dev/null", mark);

	ck_assert_int_eq(WEXITSTATUS(system(find)), 1);
	end(&rig);
}
END_TEST

static bool start_daemons(struct rig *rig)
{
	auto_free char *script = mem_printf("%secho up >up; exec sleep 300", daemons);

	return rig_start(rig, (const char *const[]){ "sh", "-c", script, NULL });
}

/* Calls @then once all of them are there. */
struct waiting {
	struct rig *rig;
	struct loop_timer timer;
	void (*then)(struct rig *rig);
};

static void look_for_daemons(void *arg)
{
	struct waiting *waiting = arg;
	struct rig *rig = waiting->rig;

	if (rig_read(rig, "up")[0] != '\0')
		waiting->then(rig);
	else
		loop_timer_start(rig->loop, &waiting->timer, 20, look_for_daemons, waiting);
}

static void kill_it(struct rig *rig)
{
	exec_process_kill(rig->process, "no more");
}

START_TEST(can_be_killed_whole)
{
	auto_free char *mark = set_mark();
	struct rig rig;

	begin(&rig, _i);
	struct waiting waiting = { .rig = &rig, .then = kill_it };

	ck_assert(start_daemons(&rig));
	look_for_daemons(&waiting);
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_KILLED);
	ck_assert_str_eq(rig.result.why, "no more");
	ck_assert(is_everybody_gone(&rig, mark));
	end(&rig);
}
END_TEST

static void give_up(struct rig *rig)
{
	(void)rig;
	_exit(0);
}

/* In a process of its own, which goes without a word. */
START_TEST(dies_with_the_gate)
{
	auto_free char *mark = set_mark();
	auto_free char *find = mem_printf("pgrep -cf '^%s' >/dev/null", mark);
	struct rig rig;

	begin(&rig, _i);
	pid_t pid = fork();

	if (pid == 0) {
		struct waiting waiting = { .rig = &rig, .then = give_up };

		if (!start_daemons(&rig))
			_exit(1);
		look_for_daemons(&waiting);
		(void)loop_run(rig.loop);
		_exit(2);
	}
	int status = 0;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert(is_everybody_gone(&rig, mark));
	ck_assert_int_eq(WEXITSTATUS(system(find)), 1);
	end(&rig);
}
END_TEST

static const struct {
	const char *script;
	enum exec_process_end end;
	int status;
} ends[] = {
	{ "exit 0", EXEC_PROCESS_EXITED, 0 },
	{ "exit 9", EXEC_PROCESS_EXITED, 9 },
	{ "kill -9 $$", EXEC_PROCESS_SIGNALLED, 9 },
	{ "kill -TERM $$", EXEC_PROCESS_SIGNALLED, 15 },
	{ "exec /nonexistent", EXEC_PROCESS_EXITED, 127 },
};

START_TEST(its_end_is_reported)
{
	struct rig rig;

	begin(&rig, _i % RIG_USERS);
	rig_sh(&rig, ends[_i / RIG_USERS].script);
	ck_assert_int_eq(rig.result.end, ends[_i / RIG_USERS].end);
	ck_assert_int_eq(rig.result.status, ends[_i / RIG_USERS].status);
	ck_assert(rig_start(&rig, (const char *const[]){ "/nonexistent", NULL }));
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_NOT_STARTED);
	ck_assert_int_eq(rig.result.status, 127);
	end(&rig);
}
END_TEST

START_TEST(signals_arrive)
{
	struct rig rig;

	begin(&rig, _i);
	const char *const argv[] = { "sh", "-c", "trap 'exit 7' TERM; while :; do sleep 0.05; done",
				     NULL };

	ck_assert(rig_start(&rig, argv));
	exec_process_signal(rig.process, SIGTERM); /* before there is anybody: kept for it */
	rig_wait(&rig);
	ck_assert(rig.result.status == 7 || rig.result.status == SIGTERM);
	end(&rig);
}
END_TEST

TCase *test_unconfined(void)
{
	TCase *tcase = tcase_create("unconfined");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, is_as_without_us, 0, (int)ARRAY_SIZE(scripts) * RIG_USERS);
	tcase_add_loop_test(tcase, nothing_stays_behind, 0, RIG_USERS);
	tcase_add_loop_test(tcase, can_be_killed_whole, 0, RIG_USERS);
	tcase_add_loop_test(tcase, dies_with_the_gate, 0, RIG_USERS);
	tcase_add_loop_test(tcase, its_end_is_reported, 0, (int)ARRAY_SIZE(ends) * RIG_USERS);
	tcase_add_loop_test(tcase, signals_arrive, 0, RIG_USERS);
	return tcase;
}
