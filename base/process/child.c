#include "base/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define NOT_EXECUTED 127

/* What the child needs. Its own end is the second of each pair. */
struct child_start {
	const char *program;
	const char *const *argv, *const *environment;
	int ends[3][2]; /* input, output, errors */
	pid_t parent;
	sigset_t none;
};

/* Runs between fork and exec, where other threads may have held any lock: system calls only. */
static void child_run(const struct child_start *start) __attribute__((noreturn));
static void child_run(const struct child_start *start)
{
	static const int resettable[] = { SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	int fds[3];

	(void)setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != start->parent)
		_exit(NOT_EXECUTED);
	for (size_t i = 0; i < sizeof(resettable) / sizeof(resettable[0]); i++)
		(void)signal(resettable[i], SIG_DFL);
	for (int i = 0; i < 3; i++) {
		fds[i] = fcntl(start->ends[i][1], F_DUPFD, 3);
		if (fds[i] < 0)
			_exit(NOT_EXECUTED);
	}
	for (int i = 0; i < 3; i++) {
		if (dup2(fds[i], i) < 0)
			_exit(NOT_EXECUTED);
	}
	/* Close everything that the child must not inherit. */
	if (syscall(SYS_close_range, 3U, ~0U, 0U) < 0 || chdir("/") < 0 ||
	    sigprocmask(SIG_SETMASK, &start->none, NULL) < 0)
		_exit(NOT_EXECUTED);
	(void)execve(start->program, (char *const *)(uintptr_t)start->argv,
		     (char *const *)(uintptr_t)start->environment);
	_exit(NOT_EXECUTED);
}

static int child_make_ends(struct child_start *start)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, start->ends[0]) < 0)
		return -errno;
	if (pipe2(start->ends[1], O_CLOEXEC) < 0 || pipe2(start->ends[2], O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 3; i++) {
		int r = fd_set_nonblocking(start->ends[i][0], true);

		if (r < 0)
			return r;
	}
	return 0;
}

int child_start(const char *program, const char *const *argv, const char *const *environment,
		struct child *ret, struct err *why)
{
	struct child_start start = { .program = program,
				     .argv = argv,
				     .environment = environment,
				     .ends = { { -1, -1 }, { -1, -1 }, { -1, -1 } },
				     .parent = getpid() };
	int r = child_make_ends(&start);
	pid_t pid = -1;

	(void)sigemptyset(&start.none);
	if (r == 0) {
		pid = fork();
		if (pid == 0)
			child_run(&start);
		if (pid < 0)
			r = -errno;
	}
	for (int i = 0; i < 3; i++)
		fd_close(start.ends[i][1]);
	if (r < 0) {
		for (int i = 0; i < 3; i++)
			fd_close(start.ends[i][0]);
		return err_errno(why, -r, "cannot start %s", program);
	}
	(void)setpgid(
		pid,
		pid); /* parent and child both set it; after the exec it fails because it is done */
	*ret = (struct child){ pid, start.ends[0][0], start.ends[1][0], start.ends[2][0] };
	return 0;
}

void child_close_input(struct child *child)
{
	fd_close(fd_take(&child->input));
}

char *child_own_path(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

	if (len == (ssize_t)sizeof(path))
		errno = ENAMETOOLONG;
	return len <= 0 || len == (ssize_t)sizeof(path) ? NULL : mem_strndup(path, (size_t)len);
}

void child_end(struct loop *loop, struct child *child)
{
	if (child->pid > 0) {
		(void)kill(-child->pid, SIGKILL); /* -ESRCH: every process of the group has ended */
		(void)kill(child->pid, SIGKILL);  /* the child may not have its group yet */
		loop_reap_child(loop, child->pid);
	}
	fd_close(child->input);
	fd_close(child->output);
	fd_close(child->errors);
	*child = CHILD_NONE;
}
