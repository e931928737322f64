#include "exec/init/command.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall.h"
#include "exec/stages/stages.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/close_range.h>
#include <linux/limits.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <sys/stat.h>

#define SIGNALS 64

/* What execvp(3) would use where PATH is not set. */
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

/* Counted in our user namespace, of an ordinary user: of root nothing is, and there it is the pid
 * namespace that holds. A lower limit stays. */
static int limit_processes(void)
{
	struct rlimit64 limit;
	long r = sys(prlimit64, 0, RLIMIT_NPROC, NULL, &limit);

	if (r < 0)
		return (int)r;
	if (limit.rlim_max > WIRE_PROCESSES)
		limit.rlim_max = WIRE_PROCESSES;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return (int)sys(prlimit64, 0, RLIMIT_NPROC, &limit, NULL);
}

static int take_terminal(const struct init *init)
{
	int pid = (int)sys(getpid);
	long r = sys(ioctl, init->pty, TIOCSPGRP, &pid);

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

/* "DIRECTORY/name" in @out; an empty directory is the current one (POSIX). False: it does not fit.
 */
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

/* The file that was decided on, whatever has its name by now. A script's interpreter opens it by
 * name, so a script is executed by name too, at once after the look at it: $0 and what lies beside
 * it stay what they are. docs/decisions/0142 says what that leaves. */
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
	/* What the kernel says of a script behind a descriptor that ends with the execution. */
	return r == -ENOENT ? (int)sys(execve, path, argv, env) : (int)r;
}

/* As execvp(3), but that a file without "#!" is not handed to a shell: that is ENOEXEC. Returns
 * what to report. */
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
			result = r; /* there, but not for us: unless another directory has one */
		else if (r != -ENOENT && r != -ENOTDIR && r != -ENAMETOOLONG)
			return r;
		if (at[len] == '\0')
			return result;
		at += len + 1;
	}
}

/* The last privileges went before the fork; here go the last freedoms, the filter last of all,
 * since it forbids what the others need. */
static __attribute__((noinline)) _Noreturn void run(struct init *init)
{
	bool is_unconfined = (init->plan.head->flags & WIRE_UNCONFINED) != 0;
	int r = (int)sys(setpgid, 0, 0);

	/* Its own keeper can be killed by it, or by anybody of its user: then this much is certain.
	 */
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
		r = limit_processes();
		if (r == 0)
			r = landlock_restrict(init);
	}
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	reset_signals();
	if (!is_unconfined) {
		init->step = WIRE_STEP_SECCOMP;
		r = filter_load(init);
	}
	if (r < 0)
		init_fail(init, WIRE_FAILED, r);
	init->step = WIRE_STEP_EXEC;
	init->detail = "";
	init_fail(init, WIRE_EXEC_FAILED,
		  init->plan.head->flags & WIRE_HAS_PROGRAM ? execute_program(init)
							    : execute(init));
}

/* As vfork(2): the child has our memory, our descriptors and our stack until it executes its
 * program, so nothing is copied, what we report as started has started, and the wall has the
 * filter's listener from it. Its calls lie below this frame, which holds
 * nothing it changes, and it never returns into it. */
static __attribute__((noinline)) long fork_command(struct init *init)
{
	long pid = sys(clone, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		run(init);
	return pid;
}

int command_start(struct init *init)
{
	init->step = WIRE_STEP_FORK;
	long pid = fork_command(init);

	if (pid < 0)
		return (int)pid;
	init->command = pid;
	wall_wait(init);
	return 0;
}
