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
#include "proxy/proxy_service.h"

#define LINK_FD 3

#define KEPT_MAX (PROXY_PUBLISHED_MAX + PROXY_LISTENERS_MAX)

/* Puts the link at LINK_FD and the @count listeners after it, and closes the rest. The listeners
 * are moved away first, because any of them may be where another descriptor goes. */
static int keep(int socket, int *const *listeners, size_t count)
{
	int after = LINK_FD + 1 + (int)count;

	for (size_t i = 0; i < count; i++) {
		*listeners[i] = fcntl(*listeners[i], F_DUPFD_CLOEXEC, after);
		if (*listeners[i] < 0)
			return -errno;
	}
	if (socket != LINK_FD && dup3(socket, LINK_FD, O_CLOEXEC) < 0)
		return -errno;
	for (size_t i = 0; i < count; i++) {
		int fd = LINK_FD + 1 + (int)i;

		if (dup3(*listeners[i], fd, O_CLOEXEC) < 0)
			return -errno;
		*listeners[i] = fd;
	}
	return close_range((unsigned int)after, ~0U, 0) < 0 ? -errno : 0;
}

/* The worker keeps few descriptors only: stderr, for its log, the link, and listeners of published
 * ports or of a service. A reader of the command's output must see EOF when the command ends, and a
 * descriptor that the worker does not hold cannot leak from it. It has a session of its own, so
 * that keys typed for the command do not signal it. It closes the epoll descriptor of the parent's
 * event loop but does not touch the loop's memory. */
static int worker_main(int socket, const struct proxy_config *config)
{
	struct proxy_published published[PROXY_PUBLISHED_MAX];
	struct proxy_service service;
	struct proxy_config own = *config;
	int *listeners[KEPT_MAX];
	size_t count = 0;

	for (size_t i = 0; i < own.published_count; i++) {
		published[i] = own.published[i];
		listeners[count++] = &published[i].fd;
	}
	own.published = published;
	if (own.service) {
		service = *own.service;
		own.service = &service;
		for (size_t i = 0; i < service.listener_count; i++)
			listeners[count++] = &service.listeners[i];
	}
	if (keep(socket, listeners, count) < 0)
		return CLI_NO_SANDBOX;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return CLI_NO_SANDBOX;
	fd_close(null);
	(void)setsid(); /* fails only for a process group leader, which a new child is not */
	(void)signal(SIGPIPE, SIG_IGN);
	return proxy_worker(LINK_FD, &own);
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
