#include "base/process/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"

#define SOCKET 3
#define FAILED 1

/* Close our descriptors: a peer that waits for one of them to close must not wait for this process.
 * The event loop's descriptor is closed with the others; its memory is not touched. @kept: the last
 * descriptor that stays open; STDERR_FILENO: standard error is closed as well. */
static void leave(const char *name, int kept)
{
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    (kept == STDERR_FILENO && dup2(null, STDERR_FILENO) < 0) ||
	    close_range((unsigned int)kept + 1, ~0U, 0) < 0)
		_exit(FAILED);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL); /* fails on the two signals that cannot have a handler */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, name); /* the name is a convenience only */
}

static _Noreturn void become(const char *name, helper_fn run, void *arg, int socket, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || setpgid(0, 0) < 0)
		_exit(FAILED);
	if (socket != SOCKET && dup2(socket, SOCKET) < 0)
		_exit(FAILED);
	leave(name, SOCKET);
	_exit(run(SOCKET, arg));
}

/* As fork(). Signals stay blocked until the child has set its own handlers: none of ours may run
 * there. */
static pid_t fork_blocked(void)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	int error = errno;

	if (pid != 0)
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}

int helper_start(const char *name, helper_fn run, void *arg, struct helper *ret, struct err *why)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(why, errno, "cannot make a socket pair");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];

	if (fd_set_nonblocking(ours, true) < 0)
		return err_errno(why, errno, "cannot make a socket pair");
	pid_t pid = fork_blocked();

	if (pid == 0)
		become(name, run, arg, theirs, parent);
	if (pid < 0)
		return err_errno(why, errno, "cannot start a helper process");
	*ret = (struct helper){ pid, fd_take(&ours) };
	return 0;
}

void helper_end(struct loop *loop, struct helper *helper)
{
	if (helper->pid > 0) {
		(void)kill(helper->pid, SIGKILL); /* it may have ended already */
		loop_reap_child(loop, helper->pid);
	}
	fd_close(helper->socket);
	*helper = HELPER_NONE;
}

pid_t helper_start_alone(const char *name, unsigned int limit_s, helper_fn run, void *arg)
{
	pid_t pid = fork_blocked();

	if (pid == 0) {
		if (setsid() < 0)
			_exit(FAILED);
		leave(name, STDERR_FILENO);
		(void)alarm(limit_s); /* its signal ends this process */
		_exit(run(-1, arg));
	}
	return pid < 0 ? -errno : pid;
}
