#include "base/process/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define KEEPER_SOCKET   0 /* in the child, which has no other descriptors */
#define KEEPER_TERMINAL 1

/* The message to the child. */
struct owed {
	bool is_owed;
	struct termios modes;
	char text[KEEPER_TEXT_MAX];
};

/* The child is in a background process group. All its signals are blocked, so that it can write
 * although TOSTOP is set, and no signal can stop it. */
static _Noreturn void keep(pid_t group)
{
	struct owed owed = { 0 }, next;
	ssize_t n;

	while ((n = recv(KEEPER_SOCKET, &next, sizeof(next), 0)) > 0 || (n < 0 && errno == EINTR))
		if (n == (ssize_t)sizeof(next))
			owed = next;
	if (owed.is_owed && tcgetpgrp(KEEPER_TERMINAL) == group) {
		/* A failure cannot be reported: our parent is dead. */
		(void)!write(KEEPER_TERMINAL, owed.text, strnlen(owed.text, sizeof(owed.text)));
		(void)tcsetattr(KEEPER_TERMINAL, TCSANOW, &owed.modes);
	}
	_exit(0);
}

/* Only system calls are allowed from here on. */
static _Noreturn void become_keeper(int socket, int terminal)
{
	pid_t group = getpgrp();

	/* A copy of another socket of ours would keep that socket open after our death. */
	if (dup2(socket, KEEPER_SOCKET) < 0 || dup2(terminal, KEEPER_TERMINAL) < 0 ||
	    close_range(KEEPER_TERMINAL + 1, ~0U, 0) < 0 || setpgid(0, 0) < 0)
		_exit(1);
	(void)prctl(PR_SET_NAME, "sallyport-tty"); /* the name is a convenience only */
	(void)prctl(PR_SET_DUMPABLE, 0);
	keep(group);
}

int keeper_start(struct keeper *keeper, int fd)
{
	sigset_t all, before;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];

	/* These stay blocked in the child for good: none of our handlers may run there. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();

	if (pid == 0) {
		/* F_DUPFD puts both above the numbers they are copied to. */
		become_keeper(fcntl(theirs, F_DUPFD, KEEPER_TERMINAL + 1),
			      fcntl(fd, F_DUPFD, KEEPER_TERMINAL + 1));
	}
	int error = errno;

	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -error;
	keeper->pid = pid;
	keeper->socket = fd_take(&ours);
	return 0;
}

void keeper_owe(const struct keeper *keeper, const struct termios *modes, const char *text)
{
	struct owed owed;

	if (keeper->socket < 0)
		return;
	memset(&owed, 0, sizeof(owed)); /* also clears the padding, which is sent too */
	owed.is_owed = modes != NULL;
	if (modes)
		owed.modes = *modes;
	if (text)
		memcpy(owed.text, text, strnlen(text, sizeof(owed.text) - 1));
	/* If the child was killed, this fails; nothing needs it until we die too. */
	(void)send(keeper->socket, &owed, sizeof(owed), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keeper_end(struct keeper *keeper)
{
	if (keeper->socket < 0)
		return;
	/* At the end of the stream it would restore the terminal. */
	(void)kill(keeper->pid, SIGKILL);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
	fd_close(keeper->socket);
	keeper->socket = -1;
}
