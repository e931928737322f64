#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <signal.h>

#include "base/err.h"
#include "base/fd.h"
#include "cli/run_worker.h"

/* The worker holds none of the command's descriptors but stderr, for its own log: a reader of the
 * command's output must see the end of it when the command ends. Its own session, so that keys
 * typed for the command do not reach it. */
static int worker_main(int socket, const struct proxy_config *config)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return 125;
	fd_close(null);
	(void)setsid(); /* fails only for a group leader, which a fresh child is not */
	(void)signal(SIGPIPE, SIG_IGN);
	return proxy_worker(socket, config);
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
		fd_close(pair[0]);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(125);
		_exit(worker_main(pair[1], config));
	}
	fd_close(pair[1]);
	*ret_pid = pid;
	*ret_socket = pair[0];
	return 0;
}
