/* Clients that connect to a socket. Each has a process and a gate of its own, so that clients share
 * no answers and no output, and a failure of one does not affect another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/net/local.h"
#include "base/peer.h"
#include "cli/agent/agent_impl.h"
#include "cli/cli.h"
#include "cli/view/trusted.h"

#define BACKLOG     64
#define CLIENTS_MAX 64
#define BACKOFF_MS  1000 /* without free descriptors: the wait before the next accept */
#define FAREWELL_S  15   /* for the gates of clients to end after a signal */

struct listening {
	struct agent_options *options;
	char *folder; /* absolute */
	const char *name;
	int folder_fd, socket, signals;
	sigset_t before;
	pid_t clients[CLIENTS_MAX];
	size_t client_count;
};

/* The socket's folder is hidden from every command, so it must not be the working folder. */
static int open_folder(struct listening *self)
{
	const char *path = self->options->socket, *slash = strrchr(path, '/');
	auto_free char *given = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
	auto_free char *cwd = getcwd(NULL, 0);
	struct stat status;

	self->name = slash ? slash + 1 : path;
	self->folder = realpath(given[0] ? given : "/", NULL);
	if (!self->folder || self->name[0] == '\0' || self->name[0] == '.' || strlen(path) > 1024)
		return cli_fail(CLI_USAGE, "--socket: %s is not a name in an existing folder",
				path);
	self->folder_fd = open(self->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (self->folder_fd < 0 || fstat(self->folder_fd, &status) < 0)
		return cli_fail(CLI_USAGE, "--socket: %s: %s", self->folder, strerror(errno));
	if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
		return cli_fail(
			CLI_USAGE,
			"--socket: %s must be your own folder, closed to all others (mode 0700)",
			self->folder);
	if (!cwd || trusted_is_within(cwd, self->folder))
		return cli_fail(CLI_USAGE,
				"--socket: commands must not see %s, but the working directory is "
				"below it; choose another folder",
				self->folder);
	return CLI_OK;
}

/* An existing file may be the socket of another server. We cannot tell whether that server is
 * alive, so we do not remove it. */
static int bind_socket(struct listening *self)
{
	self->socket = local_listen(self->folder_fd, self->name, SOCK_STREAM, BACKLOG, true);
	if (self->socket >= 0)
		return CLI_OK;
	int error = -self->socket;

	self->name = NULL;
	return cli_fail(CLI_NO_SANDBOX, "--socket: %s: %s%s", self->options->socket,
			strerror(error),
			error == EEXIST ? "; remove it if no server listens there" : "");
}

static int watch_signals(struct listening *self)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, &self->before) < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot receive signals: %s", strerror(errno));
	self->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (self->signals < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot receive signals: %s", strerror(errno));
	return CLI_OK;
}

/* Closes what belongs to the listener before a gate is made. */
static int serve_client(struct listening *self, int client)
{
	fd_close(self->socket);
	fd_close(self->signals);
	fd_close(self->folder_fd);
	if (sigprocmask(SIG_SETMASK, &self->before, NULL) < 0)
		return CLI_NO_SANDBOX;
	return agent_serve(self->options, client, client, self->folder, NULL);
}

static void admit(struct listening *self, int client)
{
	pid_t parent = getpid();
	struct peer peer;

	if (self->client_count == CLIENTS_MAX || peer_check(client, &peer) < 0)
		return;
	(void)fflush(NULL); /* otherwise the child would write buffered output again */
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
			_exit(CLI_NO_SANDBOX);
		int status = serve_client(self, client);

		(void)fflush(NULL);
		_exit(status);
	}
	if (pid < 0)
		log_warn("cannot serve a client: %s", strerror(errno));
	else
		self->clients[self->client_count++] = pid;
}

static void accept_one(struct listening *self)
{
	auto_close int client = accept4(self->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (client >= 0)
		return admit(self, client);
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
		(void)poll(NULL, 0, BACKOFF_MS); /* the listener stays readable, so an immediate
						    retry would spin */
}

static void reap(struct listening *self)
{
	for (size_t i = 0; i < self->client_count;) {
		if (waitpid(self->clients[i], NULL, WNOHANG) == 0)
			i++;
		else
			self->clients[i] = self->clients[--self->client_count];
	}
}

/* False: the listener must end. */
static bool take_signals(struct listening *self)
{
	struct signalfd_siginfo info;
	bool goes_on = true;

	while (read(self->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		goes_on = goes_on && info.ssi_signo == SIGCHLD;
	reap(self);
	return goes_on;
}

static void end_clients(struct listening *self)
{
	struct pollfd wait = { .fd = self->signals, .events = POLLIN };

	for (size_t i = 0; i < self->client_count; i++)
		(void)kill(self->clients[i], SIGTERM);
	for (int i = 0; i < FAREWELL_S && self->client_count > 0; i++) {
		(void)poll(&wait, 1, 1000);
		(void)take_signals(self); /* the listener is ending already */
	}
	for (size_t i = 0; i < self->client_count; i++) {
		(void)kill(self->clients[i], SIGKILL);
		(void)waitpid(self->clients[i], NULL, 0);
	}
}

static int serve_all(struct listening *self)
{
	struct pollfd watched[] = { { .fd = self->signals, .events = POLLIN },
				    { .fd = self->socket, .events = POLLIN } };

	log_info("listening at %s", self->options->socket);
	for (;;) {
		/* There is nothing to do until an event arrives, so there is no deadline. */
		if (poll(watched, 2, -1) < 0 && errno != EINTR)
			return cli_fail(CLI_NO_SANDBOX, "cannot wait for clients: %s",
					strerror(errno));
		if (watched[0].revents && !take_signals(self))
			return CLI_OK;
		if (watched[1].revents)
			accept_one(self);
	}
}

int agent_listen(struct agent_options *options)
{
	struct listening self = {
		.options = options,
		.folder_fd = -1,
		.socket = -1,
		.signals = -1,
	};
	int status;

	status = open_folder(&self);
	if (status == CLI_OK)
		status = watch_signals(&self);
	if (status == CLI_OK)
		status = bind_socket(&self);
	if (status == CLI_OK) {
		status = serve_all(&self);
		(void)unlinkat(self.folder_fd, self.name, 0); /* it may have been removed already */
		end_clients(&self);
	}
	fd_close(self.socket);
	fd_close(self.signals);
	fd_close(self.folder_fd);
	free(self.folder);
	return status;
}
