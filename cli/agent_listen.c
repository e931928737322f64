/* Clients that connect to a socket: each in a process, and a gate, of its own, so that none shares
 * answers, outputs or fate with another. */
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
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/peer.h"
#include "cli/agent_impl.h"
#include "cli/cli.h"
#include "cli/trusted.h"

#define BACKLOG     64
#define CLIENTS_MAX 64
#define BACKOFF_MS  1000 /* out of descriptors: before accepting again */
#define FAREWELL_S  15   /* for clients' gates to end, told to */

struct listening {
	struct agent_options *options;
	char *folder; /* absolute */
	const char *name;
	int folder_fd, socket, signals;
	sigset_t before;
	pid_t clients[CLIENTS_MAX];
	size_t client_count;
};

/* It is hidden from every command, so it must not be what they work in. */
static int open_folder(struct listening *self)
{
	const char *path = self->options->socket, *slash = strrchr(path, '/');
	auto_free char *given = slash ? mem_strndup(path, (size_t)(slash - path)) : mem_strdup(".");
	auto_free char *cwd = getcwd(NULL, 0);
	struct stat status;

	self->name = slash ? slash + 1 : path;
	self->folder = realpath(given[0] ? given : "/", NULL);
	if (!self->folder || self->name[0] == '\0' || self->name[0] == '.' || strlen(path) > 1024)
		return cli_fail(CLI_USAGE, "--socket: %s: a name in a folder that is there", path);
	self->folder_fd = open(self->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (self->folder_fd < 0 || fstat(self->folder_fd, &status) < 0)
		return cli_fail(CLI_USAGE, "--socket: %s: %s", self->folder, strerror(errno));
	if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
		return cli_fail(CLI_USAGE,
				"--socket: %s must be yours, and closed to everybody else (0700)",
				self->folder);
	if (!cwd || trusted_is_within(cwd, self->folder))
		return cli_fail(CLI_USAGE,
				"--socket: no command may see %s, and the working directory is "
				"below it",
				self->folder);
	return CLI_OK;
}

/* Under a hidden name until it listens, as the control socket. One that is there is another
 * server's, or a dead one's: it is not ours to tell, nor to remove. */
static int bind_socket(struct listening *self)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_free char *hidden = mem_printf(".%d.new", (int)getpid());

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
		       self->folder_fd, hidden); /* fits */
	self->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (self->socket < 0)
		return cli_fail(CLI_NO_SANDBOX, "--socket: %s", strerror(errno));
	/* The mode of the socket becomes the mode of its name. */
	if (fchmod(self->socket, 0600) == 0 &&
	    bind(self->socket, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    listen(self->socket, BACKLOG) == 0 &&
	    renameat2(self->folder_fd, hidden, self->folder_fd, self->name, RENAME_NOREPLACE) == 0)
		return CLI_OK;
	int error = errno;

	(void)unlinkat(self->folder_fd, hidden, 0); /* failing already */
	self->name = NULL;
	return cli_fail(CLI_NO_SANDBOX, "--socket: %s: %s%s", self->options->socket,
			strerror(error),
			error == EEXIST ? "; remove it if no server is behind it" : "");
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
		return cli_fail(CLI_NO_SANDBOX, "signals: %s", strerror(errno));
	self->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (self->signals < 0)
		return cli_fail(CLI_NO_SANDBOX, "signals: %s", strerror(errno));
	return CLI_OK;
}

/* All that was the listener's is given up before a gate is made. */
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
	(void)fflush(NULL); /* what waits would be written twice */
	pid_t pid = fork();

	if (pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
			_exit(CLI_NO_SANDBOX);
		int status = serve_client(self, client);

		(void)fflush(NULL);
		_exit(status);
	}
	if (pid < 0)
		log_warn("a client could not be served: %s", strerror(errno));
	else
		self->clients[self->client_count++] = pid;
}

static void accept_one(struct listening *self)
{
	auto_close int client = accept4(self->socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (client >= 0)
		return admit(self, client);
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
		(void)poll(NULL, 0, BACKOFF_MS); /* the backlog stays readable: look away */
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

/* False: it is to end. */
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
		(void)take_signals(self); /* it ends already */
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
		/* Nothing to do but to be told: no deadline. */
		if (poll(watched, 2, -1) < 0 && errno != EINTR)
			return cli_fail(CLI_NO_SANDBOX, "poll: %s", strerror(errno));
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
		(void)unlinkat(self.folder_fd, self.name, 0); /* gone already is as good */
		end_clients(&self);
	}
	fd_close(self.socket);
	fd_close(self.signals);
	fd_close(self.folder_fd);
	free(self.folder);
	return status;
}
