#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/gate/run_worker.h"
#include "proxy/proxy_service.h"

#define LINK_FD       3
#define STARTER_NAME  "sallyport-start"
#define WORKER_NAME   "sallyport"
#define REPLY_SECONDS 2 /* a fork takes less than a millisecond */

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

/* The worker's own memory, from the starter: a fork without the handlers of fork(2), because the
 * child must be a child of the gate, which kills it and waits for it. The starter has one thread
 * and holds no lock. */
static pid_t fork_sibling(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

static bool is_child_of(pid_t gate)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == gate;
}

/* It has a session of its own, so that keys typed for the command do not signal it. */
static int worker_main(int socket, const struct proxy_config *config, pid_t gate)
{
	if (!is_child_of(gate) || dup3(socket, LINK_FD, O_CLOEXEC) < 0)
		return CLI_NO_SANDBOX;
	fd_close(socket);
	(void)setsid(); /* fails only for a process group leader, which a new child is not */
	return proxy_worker(LINK_FD, config);
}

/* Each request has the worker's end of its link; the response is the pid. Returns when the gate has
 * closed the socket, or after a malformed request. */
static void starter_serve(struct proxy_config *config, pid_t gate)
{
	for (;;) {
		int fds[FD_PASS_MAX];
		size_t count = 0;
		char request;

		if (fd_recv(LINK_FD, &request, sizeof(request), fds, &count) != 1 || count != 1)
			return;
		config->turn.names = *config->turn.names_used;

		(void)prctl(PR_SET_NAME, WORKER_NAME); /* from its beginning; cannot fail */
		pid_t pid = fork_sibling();

		if (pid == 0)
			_exit(worker_main(fds[0], config, gate));
		(void)prctl(PR_SET_NAME, STARTER_NAME);
		fd_close(fds[0]);
		config->turn.before++;
		if (fd_send(LINK_FD, &pid, sizeof(pid), NULL, 0) < 0)
			return;
	}
}

static int set_signals(void)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		(void)signal(ignored[i], SIG_IGN); /* fails only for invalid numbers */
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* The starter, and so each worker, keeps few descriptors only: stderr, for the log, the socket, and
 * listeners of published ports or of a service. A reader of the command's output must see EOF when
 * the command ends, and a descriptor that the worker does not hold cannot leak from it. It closes
 * the epoll descriptor of the parent's event loop but does not touch the loop's memory. */
static int starter_main(int socket, const struct proxy_config *config, pid_t gate)
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
	if (!is_child_of(gate) || prctl(PR_SET_NAME, STARTER_NAME) < 0 ||
	    keep(socket, listeners, count) < 0 || set_signals() < 0)
		return CLI_NO_SANDBOX;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		return CLI_NO_SANDBOX;
	fd_close(null);
	own.turn.names_used = mmap(NULL, sizeof(*own.turn.names_used), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (own.turn.names_used == MAP_FAILED)
		return CLI_NO_SANDBOX;
	(void)setsid(); /* as in worker_main() */
	starter_serve(&own, gate);
	return 0;
}

int run_worker_prepare(const struct proxy_config *config, struct run_worker *ret, struct err *why)
{
	const struct timeval patience = { .tv_sec = REPLY_SECONDS };
	pid_t gate = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(why, errno, "cannot make a socket pair");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];

	if (setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
	    setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return err_errno(why, errno, "cannot set a time limit for the proxy worker");
	pid_t pid = fork();

	if (pid < 0)
		return err_errno(why, errno, "cannot start the proxy worker");
	if (pid == 0)
		_exit(starter_main(theirs, config, gate));
	*ret = (struct run_worker){ .starter = pid, .socket = fd_take(&ours) };
	return 0;
}

int run_worker_start(struct run_worker *worker, int *ret_link, struct err *why)
{
	int fds[FD_PASS_MAX], pair[2];
	size_t count = 0;
	pid_t pid = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(why, errno, "cannot make a socket pair");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];
	ssize_t n = fd_send(worker->socket, "", 1, &theirs, 1);

	if (n == 0)
		n = fd_recv(worker->socket, &pid, sizeof(pid), fds, &count);
	if (n != sizeof(pid) || count != 0 || pid <= 0)
		return err_errno(why, n < 0 ? (int)-n : EPROTO, "cannot start the proxy worker");
	worker->pid = pid;
	*ret_link = fd_take(&ours);
	return 0;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int run_worker_end(struct run_worker *worker)
{
	pid_t pid = worker->pid;

	worker->pid = 0;
	if (pid > 0)
		(void)kill(pid, SIGKILL); /* it may have ended already */
	return wait_for(pid);
}

void run_worker_end_starter(struct run_worker *worker)
{
	pid_t pid = worker->starter;

	worker->starter = 0;
	if (pid > 0)
		(void)kill(pid, SIGKILL); /* as above */
	(void)wait_for(pid);
	fd_close(fd_take(&worker->socket));
}

void run_worker_kill(const struct run_worker *worker)
{
	if (worker->pid > 0)
		(void)kill(worker->pid, SIGKILL);
	if (worker->starter > 0)
		(void)kill(worker->starter, SIGKILL);
}

void run_worker_done(struct run_worker *worker)
{
	(void)run_worker_end(worker);
	run_worker_end_starter(worker);
}
