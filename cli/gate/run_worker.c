#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/gate/run_worker.h"

#define LINK_FD 3

/* The worker keeps two descriptors only: stderr, for its log, and the link. A reader of the
 * command's output must see EOF when the command ends, and a descriptor that the worker does not
 * hold cannot leak from it. It has a session of its own, so that keys typed for the command do not
 * signal it. It closes the epoll descriptor of the parent's event loop but does not touch the
 * loop's memory. */
static int worker_main(int socket, const struct proxy_config *config)
{
	if (socket != LINK_FD && dup3(socket, LINK_FD, O_CLOEXEC) < 0)
		return CLI_NO_SANDBOX;
	if (close_range(LINK_FD + 1, ~0U, 0) < 0)
		return CLI_NO_SANDBOX;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return CLI_NO_SANDBOX;
	fd_close(null);
	(void)setsid(); /* fails only for a process group leader, which a new child is not */
	(void)signal(SIGPIPE, SIG_IGN);
	return proxy_worker(LINK_FD, config);
}

int run_worker_start(const struct proxy_config *config, pid_t *ret_pid, int *ret_socket,
		     struct err *why)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(why, errno, "cannot make a socket pair");

	pid_t pid = fork();

	if (pid < 0) {
		int code = err_errno(why, errno, "cannot start the proxy worker");

		fd_close(pair[0]);
		fd_close(pair[1]);
		return code;
	}
	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(CLI_NO_SANDBOX);
		_exit(worker_main(pair[1], config));
	}
	fd_close(pair[1]);
	*ret_pid = pid;
	*ret_socket = pair[0];
	return 0;
}
