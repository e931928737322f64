#include "base/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define KEEPER_SOCKET   0 /* in the child, which has no others */
#define KEEPER_TERMINAL 1

/* One message. */
struct owed {
	bool is_owed;
	struct termios modes;
	char text[KEEPER_TEXT_MAX];
};

/* Its group is not the one in front, and so may not write where TOSTOP is set; nobody can tell it
 * to stop, either. */
static _Noreturn void keep(pid_t group)
{
	struct owed owed = { 0 }, next;
	ssize_t n;

	while ((n = recv(KEEPER_SOCKET, &next, sizeof(next), 0)) > 0 || (n < 0 && errno == EINTR))
		if (n == (ssize_t)sizeof(next))
			owed = next;
	if (owed.is_owed && tcgetpgrp(KEEPER_TERMINAL) == group) {
		/* Whether it works or not, there is nobody to tell. */
		(void)!write(KEEPER_TERMINAL, owed.text, strnlen(owed.text, sizeof(owed.text)));
		(void)tcsetattr(KEEPER_TERMINAL, TCSANOW, &owed.modes);
	}
	_exit(0);
}

/* Only system calls from here on. */
static _Noreturn void become_keeper(int socket, int terminal)
{
	pid_t group = getpgrp();

	/* A keeper that held another socket of ours would keep it open after our death. */
	if (dup2(socket, KEEPER_SOCKET) < 0 || dup2(terminal, KEEPER_TERMINAL) < 0 ||
	    close_range(KEEPER_TERMINAL + 1, ~0U, 0) < 0 || setpgid(0, 0) < 0)
		_exit(1);
	(void)prctl(PR_SET_NAME, "sallyport-tty"); /* a name, no more */
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

	/* Blocked in the child for good: no handler of ours may run there. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();

	if (pid == 0) {
		/* Both above the places they are copied to. */
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
	memset(&owed, 0, sizeof(owed)); /* between the members too: all of it is sent */
	owed.is_owed = modes != NULL;
	if (modes)
		owed.modes = *modes;
	if (text)
		memcpy(owed.text, text, strnlen(text, sizeof(owed.text) - 1));
	/* A keeper that was killed cannot be told, and is not missed until we die too. */
	(void)send(keeper->socket, &owed, sizeof(owed), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void keeper_end(struct keeper *keeper)
{
	if (keeper->socket < 0)
		return;
	fd_close(keeper->socket);
	keeper->socket = -1;
	/* It may not have read the last of what it was told. */
	(void)kill(keeper->pid, SIGKILL);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	keeper->pid = 0;
}
