#include "exec/init/command.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall.h"
#include "exec/probe/probe.h"
#include "exec/stages/stages.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/limits.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define STACK_BYTES   262144
#define LOOK_MS       10 /* interval of checks whether it is stopped */
#define SIGNALS       64
#define SIGNALS_SHARE 4 /* a quarter of what the user has */

/* The path that execvp(3) uses if PATH is not set. */
static const char default_path[] = "/usr/local/bin:/usr/bin:/bin";

/* The kernel's struct sigaction, all zero: the default action. */
struct default_action {
	unsigned long fields[4];
};

static void reset_signals(void)
{
	const struct default_action action = { { 0 } };
	const uint64_t none = 0;

	for (int i = 1; i <= SIGNALS; i++)
		if (i != SIGKILL && i != SIGSTOP)
			(void)sys(rt_sigaction, i, &action, NULL, SYS_SIGSET_BYTES);
	(void)sys(rt_sigprocmask, SIG_SETMASK, &none, NULL, SYS_SIGSET_BYTES);
}

/* Never raises a limit. */
static int lower(int resource, uint64_t most)
{
	struct rlimit64 limit;
	long r = sys(prlimit64, 0, resource, NULL, &limit);

	if (r < 0)
		return (int)r;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return (int)sys(prlimit64, 0, resource, &limit, NULL);
}

/* Counted in our user namespace for an ordinary user. It does not count for root, where the limit
 * of the pid namespace applies. */
static int limit_processes(const struct init *init)
{
	return lower(RLIMIT_NPROC, init->plan.head->limits.processes);
}

/* Limits the memory that a process may write and does not share. */
static int limit_memory(const struct init *init)
{
	return init->plan.head->limits.memory ? lower(RLIMIT_DATA, init->plan.head->limits.memory)
					      : 0;
}

static int limit_files(const struct init *init)
{
	return init->plan.head->limits.files ? lower(RLIMIT_NOFILE, init->plan.head->limits.files)
					     : 0;
}

/* Queued signals and timers, which count for all of the user's programs, too. */
static int limit_signals(void)
{
	struct rlimit64 limit;
	long r = sys(prlimit64, 0, RLIMIT_SIGPENDING, NULL, &limit);

	return r < 0 ? (int)r : lower(RLIMIT_SIGPENDING, limit.rlim_max / SIGNALS_SHARE);
}

/* A core dump would be given to the host's handler (core_pattern(5): "|" or "@"), which runs
 * outside, often as root, and is also started where the limit is 0. Where it is 1 the kernel starts
 * none and writes no file (fs/coredump.c). */
static int limit_core(void)
{
	struct rlimit64 limit;
	long r = sys(prlimit64, 0, RLIMIT_CORE, NULL, &limit);

	if (r < 0 || limit.rlim_max == 0)
		return (int)r;
	limit = (struct rlimit64){ 1, 1 };
	return (int)sys(prlimit64, 0, RLIMIT_CORE, &limit, NULL);
}

/* A user may have these rights for sound. A command with them could keep all others from running,
 * also those that watch it. */
static int limit_priority(void)
{
	int r = lower(RLIMIT_RTPRIO, 0);

	return r < 0 ? r : lower(RLIMIT_NICE, 0);
}

static int take_terminal(const struct init *init)
{
	int pid = (int)sys(getpid);
	/* An added command leads the session of its pty; the others have that of init. */
	long r = init->into == 0 ? sys(ioctl, init->pty, TIOCSPGRP, &pid)
				 : sys(ioctl, init->pty, TIOCSCTTY, 0);

	for (int fd = 0; fd < 3 && r >= 0; fd++)
		if (init->plan.head->flags & (1U << fd))
			r = sys(dup3, init->pty, fd, 0);
	return r < 0 ? (int)r : 0;
}

static const char *find_path(const struct init *init)
{
	for (char **env = init->plan.lists[WIRE_ENV]; *env; env++) {
		const char *at = *env;

		if (at[0] == 'P' && at[1] == 'A' && at[2] == 'T' && at[3] == 'H' && at[4] == '=')
			return at + 5;
	}
	return default_path;
}

/* Puts "DIRECTORY/name" into @out; an empty directory is the current one (POSIX). False: it does
 * not fit. */
static bool join(char out[PATH_MAX], const char *directory, size_t len, const char *name)
{
	size_t name_len = sys_length(name), at = 0;

	if (len + 1 + name_len + 1 > PATH_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		out[at++] = directory[i];
	if (len > 0)
		out[at++] = '/';
	for (size_t i = 0; i <= name_len; i++)
		out[at++] = name[i];
	return true;
}

/* Executes the file that was decided on, even if another one has its name by now. A script is
 * executed by name, immediately after the check, because its interpreter opens it by name, and $0
 * and the files next to it must stay the same. docs/decisions/0030 says which risk remains. */
static int execute_program(struct init *init)
{
	char **argv = init->plan.lists[WIRE_ARGV], **env = init->plan.lists[WIRE_ENV];
	const char *path = init->plan.lists[WIRE_PROGRAM][0];
	long fd = sys(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
	struct stat what;

	if (fd < 0)
		return (int)fd;
	long r = sys(fstat, fd, &what);

	if (r < 0)
		return (int)r;
	if (what.st_dev != init->plan.head->device || what.st_ino != init->plan.head->inode)
		init_fail(init, WIRE_EXEC_OTHER, 0);
	r = sys(execveat, fd, "", argv, env, AT_EMPTY_PATH);
	/* the kernel's error for a script behind a descriptor that is closed on exec */
	return r == -ENOENT ? (int)sys(execve, path, argv, env) : (int)r;
}

/* As execvp(3), but a file without "#!" is not passed to a shell: that is ENOEXEC. Returns the
 * error to report. */
static int execute(const struct init *init)
{
	char **argv = init->plan.lists[WIRE_ARGV], **env = init->plan.lists[WIRE_ENV];
	const char *name = argv[0], *at = find_path(init);
	char path[PATH_MAX];
	int result = -ENOENT;

	for (const char *c = name; *c; c++)
		if (*c == '/')
			return (int)sys(execve, name, argv, env);
	if (*name == '\0')
		return -ENOENT;
	for (;;) {
		size_t len = 0;

		while (at[len] != '\0' && at[len] != ':')
			len++;
		int r = join(path, at, len, name) ? (int)sys(execve, path, argv, env)
						  : -ENAMETOOLONG;

		if (r == -EACCES)
			result = r; /* exists, but is not executable for us: another directory may
				       have one that is */
		else if (r != -ENOENT && r != -ENOTDIR && r != -ENAMETOOLONG)
			return r;
		if (at[len] == '\0')
			return result;
		at += len + 1;
	}
}

static void probe(struct init *init)
{
	const struct probe_setting setting = {
		.flags = init->plan.head->flags,
		.is_scoped = init->is_scoped,
		.mounts = init->plan.lists[WIRE_MOUNTS],
		.sockets = init->plan.lists[WIRE_SOCKETS],
		.baits = init->plan.lists[WIRE_BAITS],
	};
	struct wire_message message = { .type = WIRE_PROBED };

	init->step = WIRE_STEP_PROBE;
	__atomic_store_n(&init->is_probing, true, __ATOMIC_RELEASE); /* for the wall */
	probe_try(&setting, &message.probe);
	__atomic_store_n(&init->is_probing, false, __ATOMIC_RELEASE);
	int r = init_send(&message, NULL, 0);

	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
}

static int wait_for_go(void)
{
	struct wire_message message = { 0 };
	long n;

	do
		n = sys(recvfrom, WIRE_CONTROL_FD, &message, sizeof(message), 0, NULL, NULL);
	while (n == -EINTR);
	if (n < 0)
		return (int)n;
	return n == (long)sizeof(message) && message.type == WIRE_GO ? 0 : -ECONNRESET;
}

static int limit(const struct init *init)
{
	int r = limit_processes(init);

	if (r == 0)
		r = limit_files(init);
	if (r == 0)
		r = limit_signals();
	if (r == 0)
		r = limit_core();
	if (r == 0)
		r = limit_priority();
	return r == 0 ? limit_memory(init) : r;
}

/* The last privileges were dropped before the fork; the last restrictions are applied here. The
 * filter comes last, because it forbids calls that the others need; the limits come after the
 * probe, which would take a lack of descriptors for a refusal. Signals are blocked until then. */
static _Noreturn void run(void *arg)
{
	struct init *init = arg;
	bool is_unconfined = (init->plan.head->flags & WIRE_UNCONFINED) != 0;
	/* An added command must not have the terminal of the run's own. */
	long own = init->into == 0 ? sys(setpgid, 0, 0) : sys(setsid);
	int r = own < 0 ? (int)own : 0;

	/* The command, or any process of its user, can kill init: then at least the command dies
	 * with it. */
	if (r == 0 && is_unconfined)
		r = (int)sys(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	init->step = WIRE_STEP_PTY;
	if (r == 0 && init->pty >= 0)
		r = take_terminal(init);
	if (r == 0)
		r = (int)sys(close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	if (!is_unconfined) {
		init->step = WIRE_STEP_LANDLOCK;
		r = landlock_restrict(init);
	}
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	if (!is_unconfined) {
		init->step = WIRE_STEP_SECCOMP;
		r = filter_load(init);
	}
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	/* An added one keeps what init has until its program begins: init waits for that, so the
	 * command must not slow it. */
	init->step = WIRE_STEP_CAPS;
	if (!is_unconfined && init->into == 0)
		r = caps_have(0, 0);
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	if (init->plan.head->flags & WIRE_PROBE)
		probe(init);
	init->step = WIRE_STEP_GO;
	r = init->into == 0 ? wait_for_go() : 0;
	if (r == 0 && !is_unconfined) {
		init->step = WIRE_STEP_LIMITS;
		r = limit(init);
	}
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	reset_signals();
	init->step = WIRE_STEP_EXEC;
	init->detail = "";
	init_fail(init, WIRE_EXEC_FAILED,
		  init->plan.head->flags & WIRE_HAS_PROGRAM ? execute_program(init)
							    : execute(init));
}

/* A process that is in the sandbox already could stop an added command before it executes its
 * program, and with it everything that init watches: that one is killed. */
static int wait_for_program(const struct init *init, const int *here)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	bool was_stopped = false;

	while (__atomic_load_n(here, __ATOMIC_ACQUIRE) != 0) {
		siginfo_t what = { 0 };

		(void)sys(futex, here, FUTEX_WAIT, 1, init->into != 0 ? &look : NULL, NULL, 0);
		if (init->into == 0 ||
		    sys(waitid, P_PID, init->command, &what, WSTOPPED | WNOHANG | WNOWAIT, NULL) <
			    0 ||
		    what.si_pid == 0)
			continue;
		was_stopped = true;
		(void)sys(kill, init->command, SIGKILL);
	}
	return was_stopped ? -ECANCELED : 0;
}

/* As vfork(2), but with a stack of its own: the child uses our memory and descriptors until it
 * executes its program. So nothing is copied, a command that is reported as started has started,
 * and the wall gets the filter's listener from it. */
int command_start(struct init *init)
{
	int here = 1; /* until the child executes its program, or ends */
	char *stack = init_room(STACK_BYTES);

	init->step = WIRE_STEP_FORK;
	long pid = stack ? __init_thread(CLONE_VM | CLONE_FILES | CLONE_CHILD_CLEARTID | SIGCHLD,
					 stack + STACK_BYTES, run, init, &here)
			 : -ENOMEM;
	int r = pid < 0 ? (int)pid : 0;

	if (r == 0) {
		init->command = pid;
		r = wait_for_program(init, &here);
		wall_wait(init);
	}
	if (stack)
		(void)sys(munmap, stack, STACK_BYTES);
	if (r < 0)
		init->step = WIRE_STEP_FORK;
	return r;
}
