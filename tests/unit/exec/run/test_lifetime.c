#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/rig.h"

/* Who outlives a command would hold the writing end of @pipe, which the command has as its 1: so
 * the end of file says that everybody is gone. */
static void expect_end_of_file(int fd, int wait_ms)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };
	char text[256];
	ssize_t n;

	do {
		ck_assert_msg(poll(&end, 1, wait_ms) == 1, "somebody is still there");
		n = read(fd, text, sizeof(text));
	} while (n > 0);
	ck_assert_int_eq(n, 0);
}

/* Puts a fresh pipe's writing end on 1 for as long as the command is started; returns the reading
 * end. */
static int start_on_pipe(struct rig *rig, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	int pair[2];

	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	auto_close int before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);

	ck_assert_int_eq(dup2(pair[1], STDOUT_FILENO), STDOUT_FILENO);
	close(pair[1]);
	if (!rig_start(rig, argv))
		ck_abort_msg("%s", rig->text);
	ck_assert_int_eq(dup2(before, STDOUT_FILENO), STDOUT_FILENO);
	return pair[0];
}

static const char *const survivors[] = {
	"sleep 1000 & exit 0",
	"setsid sleep 1000 & exit 0",
	"setsid sh -c 'setsid sleep 1000 & sleep 1000 & exit 0' & exit 0",
	"trap '' TERM HUP INT; (trap '' TERM HUP INT; sleep 1000; sleep 1000) & exit 0",
	"sleep 1000 & kill -STOP $!; exit 0",
	"i=0; while [ $i -lt 30 ]; do setsid sleep 1000 & i=$((i+1)); done; exit 0",
};

static int survivors_pipe;

/* Already when the end is reported, not soon after. */
static void on_end_of_command(struct rig *rig)
{
	expect_end_of_file(survivors_pipe, 0);
}

START_TEST(nothing_outlives_the_command)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	auto_close int fd = start_on_pipe(&rig, survivors[_i / RIG_USERS]);

	survivors_pipe = fd;
	rig.on_end = on_end_of_command;
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_EXITED);
	rig_done(&rig);
}
END_TEST

static void read_line(int fd)
{
	char byte = 0;

	while (byte != '\n')
		ck_assert_int_eq(read(fd, &byte, 1), 1);
}

START_TEST(a_kill_leaves_nothing)
{
	struct rig rig;

	rig_init(&rig, _i);
	auto_close int fd =
		start_on_pipe(&rig, "trap '' TERM; setsid sleep 1000 & echo up; sleep 1000");

	while (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10) == 0)
		loop_step(rig.loop);
	read_line(fd);
	exec_process_kill(rig.process, "enough");
	exec_process_kill(rig.process, "too late to change the reason");
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_KILLED);
	ck_assert_str_eq(rig.result.why, "enough");
	expect_end_of_file(fd, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(freeing_kills_too)
{
	struct rig rig;

	rig_init(&rig, _i);
	auto_close int fd = start_on_pipe(&rig, "echo up; sleep 1000");

	while (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10) == 0)
		loop_step(rig.loop);
	exec_process_free(rig.process);
	rig.process = NULL;
	expect_end_of_file(fd, 30000); /* it waits for nobody */
	ck_assert_uint_eq(rig.done_count, 0);
	rig_done(&rig);
}
END_TEST

START_TEST(freeing_at_once_kills_too)
{
	struct rig rig;

	rig_init(&rig, _i);
	auto_close int fd = start_on_pipe(&rig, "sleep 1000");

	rig_done(&rig); /* before the loop ran once */
	expect_end_of_file(fd, 0);
}
END_TEST

/* Holds copies of all the gate's descriptors, as a worker would, until @leash ends: nobody then
 * sees the gate's end of a socket close. */
static void fork_bystander(int leash)
{
	char byte;

	if (fork() != 0)
		return;
	(void)close_range(0, 2, 0);
	while (read(leash, &byte, 1) > 0)
		;
	_exit(0);
}

/* The gate in a process of its own, so that it can be killed. */
static void be_gate(struct rig *rig, int output, int leash, bool has_bystander)
{
	dup2(output, STDOUT_FILENO);
	close(output);
	rig_start(rig, (const char *const[]){ "sh", "-c", "setsid sleep 1000 & echo up; sleep 1000",
					      NULL });
	if (has_bystander)
		fork_bystander(leash);
	loop_run(rig->loop);
	_exit(0);
}

START_TEST(the_gates_death_leaves_nothing)
{
	struct rig rig;
	int pair[2], leash[2];

	rig_init(&rig, _i % RIG_USERS);
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(leash, O_CLOEXEC), 0);
	pid_t gate = fork();

	ck_assert_int_ge(gate, 0);
	if (gate == 0) {
		close(leash[1]);
		close(pair[0]);
		be_gate(&rig, pair[1], leash[0], _i / RIG_USERS == 1);
	}
	close(pair[1]);
	read_line(pair[0]);
	ck_assert_int_eq(kill(gate, SIGKILL), 0);
	expect_end_of_file(pair[0], 10000);
	close(pair[0]);
	close(leash[0]);
	close(leash[1]);
	ck_assert_int_eq(waitpid(gate, NULL, 0), gate);
	rig_done(&rig);
}
END_TEST

/* PTRACE_TRACEME makes init the tracer, and every stop of the tracee init's business: a debugger
 * that is killed leaves one so. strace and gdb are not in every system; perl's syscall() is. */
START_TEST(a_traced_process_is_let_go)
{
	struct rig rig;

	rig_init(&rig, _i);
	ck_assert_str_eq(rig_sh(&rig, "exec perl -e 'syscall(101, 0, 0, 0, 0) == 0 or exit 9; exec "
				      "\"sh\", \"-c\", \"echo on; exit 5\"'"),
			 "on\n");
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_EXITED);
	ck_assert_int_eq(rig.result.status, 5);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *script;
	int signal;
	enum exec_process_end end;
	int status;
} signals[] = {
	/* perl and not sh, which forks between its line and its sleep, and may have the signal in
	   between */
	{ "exec perl -e '$|=1; print \"up\\n\"; sleep 1000'", SIGTERM, EXEC_PROCESS_SIGNALLED,
	  SIGTERM },
	{ "exec perl -e '$|=1; print \"up\\n\"; sleep 1000'", SIGINT, EXEC_PROCESS_SIGNALLED,
	  SIGINT },
	{ "exec perl -e '$|=1; print \"up\\n\"; sleep 1000'", SIGHUP, EXEC_PROCESS_SIGNALLED,
	  SIGHUP },
	{ "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done", SIGTERM, EXEC_PROCESS_EXITED,
	  9 },
	/* the group and not just the first: the child dies of it, and the parent says so */
	{ "exec perl -e '$|=1; $SIG{QUIT}=\"IGNORE\"; if ($p = fork) { waitpid($p, 0); exit($? & "
	  "127) } "
	  "$SIG{QUIT}=\"DEFAULT\"; print \"up\\n\"; sleep 1000'",
	  SIGQUIT, EXEC_PROCESS_EXITED, SIGQUIT },
};

START_TEST(signals_reach_the_process_group)
{
	struct rig rig;

	rig_init(&rig, _i % RIG_USERS);
	auto_close int fd = start_on_pipe(&rig, signals[_i / RIG_USERS].script);

	while (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 10) == 0)
		loop_step(rig.loop);
	exec_process_signal(rig.process, signals[_i / RIG_USERS].signal);
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, signals[_i / RIG_USERS].end);
	ck_assert_int_eq(rig.result.status, signals[_i / RIG_USERS].status);
	rig_done(&rig);
}
END_TEST

START_TEST(an_early_signal_is_not_lost)
{
	struct rig rig;

	rig_init(&rig, _i);
	ck_assert(rig_start(&rig, (const char *const[]){ "sleep", "1000", NULL }));
	exec_process_signal(rig.process, SIGTERM);
	rig_wait(&rig);
	ck_assert_int_eq(rig.result.end, EXEC_PROCESS_SIGNALLED);
	ck_assert_int_eq(rig.result.status, SIGTERM);
	rig_done(&rig);
}
END_TEST

/* What we ignore or block is ours, not the command's. */
START_TEST(the_command_starts_with_default_signals)
{
	sigset_t block;
	struct rig rig;

	rig_init(&rig, _i);
	ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	ck_assert(signal(SIGTERM, SIG_IGN) != SIG_ERR);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &block, NULL), 0);
	ck_assert_str_eq(rig_ok(&rig, "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2"),
			 "0000000000000000\n0000000000000000\n");
	rig_done(&rig);
}
END_TEST

/* A busy loop would use about 50 clock ticks of the half second, an idle one none; a crowded
 * machine charges a few. */
static const char idle[] = "ticks() { cut -d' ' -f14,15 /proc/1/stat | tr ' ' '+'; }; "
			   "before=$(ticks); sleep 0.5; test $(($(ticks) - ($before))) -lt 8";

/* With the inner channel open, and then closed. */
START_TEST(init_does_not_spin)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig_ok(&rig, idle);
	rig_done(&rig);
}
END_TEST

static void on_ready_drop(struct rig *rig)
{
	for (int i = 0; i < EXEC_EGRESS_FDS; i++)
		fd_close(rig->fds[i]);
	rig->has_fds = false;
}

START_TEST(init_does_not_spin_without_its_channel)
{
	struct rig rig;

	rig_init(&rig, _i);
	rig.on_ready = on_ready_drop;
	rig_ok(&rig, idle);
	rig_done(&rig);
}
END_TEST

START_TEST(init_holds_no_pipe_open)
{
	struct rig rig;

	rig_init(&rig, _i);
	auto_close int fd = start_on_pipe(&rig, "exec >/dev/null; sleep 1000");
	struct pollfd end = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < 1000 && poll(&end, 1, 10) == 0; i++)
		loop_step(rig.loop);
	ck_assert_int_ne(end.revents & POLLHUP, 0);
	rig_done(&rig);
}
END_TEST

TCase *test_lifetime(void)
{
	TCase *tcase = tcase_create("lifetime");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, nothing_outlives_the_command, 0,
			    (int)ARRAY_SIZE(survivors) * RIG_USERS);
	tcase_add_loop_test(tcase, a_kill_leaves_nothing, 0, RIG_USERS);
	tcase_add_loop_test(tcase, freeing_kills_too, 0, RIG_USERS);
	tcase_add_loop_test(tcase, freeing_at_once_kills_too, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_gates_death_leaves_nothing, 0, 2 * RIG_USERS);
#ifdef __x86_64__
	tcase_add_loop_test(tcase, a_traced_process_is_let_go, 0, RIG_USERS);
#endif
	tcase_add_loop_test(tcase, signals_reach_the_process_group, 0,
			    (int)ARRAY_SIZE(signals) * RIG_USERS);
	tcase_add_loop_test(tcase, an_early_signal_is_not_lost, 0, RIG_USERS);
	tcase_add_loop_test(tcase, the_command_starts_with_default_signals, 0, RIG_USERS);
	tcase_add_loop_test(tcase, init_does_not_spin, 0, RIG_USERS);
	tcase_add_loop_test(tcase, init_does_not_spin_without_its_channel, 0, RIG_USERS);
	tcase_add_loop_test(tcase, init_holds_no_pipe_open, 0, RIG_USERS);
	return tcase;
}
