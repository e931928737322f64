#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/process/keeper.h"

/* The state of the terminal when a process dies, and what the process has reported. */
enum death { DIES_OWING, DIES_PAID, DIES_BEHIND, ENDS_IT, DEATHS };

static int open_pair(int *ret_slave)
{
	int master;

	ck_assert_int_eq(openpty(&master, ret_slave, NULL, NULL, NULL), 0);
	ck_assert_int_eq(fd_set_nonblocking(master, true), 0);
	return master;
}

/* As it leaves the terminal when it dies. */
static _Noreturn void live_and_die(int slave, enum death death)
{
	struct keeper keeper = { .socket = -1 };
	struct termios before = { 0 }, raw;

	if (tcgetattr(slave, &before) < 0)
		_exit(2);
	if (death == DIES_BEHIND) { /* as a job that the shell has put into the background */
		(void)signal(SIGTTOU, SIG_IGN);
		pid_t job = fork();

		if (job == 0 && setpgid(0, 0) == 0 && tcsetpgrp(slave, getpgrp()) == 0)
			_exit(0);
		(void)waitpid(job, NULL, 0);
	}
	raw = before;
	cfmakeraw(&raw);
	if (keeper_start(&keeper, slave) < 0 || tcsetattr(slave, TCSANOW, &raw) < 0)
		_exit(3);
	keeper_owe(&keeper, &before, "given back");
	if (death == DIES_PAID)
		keeper_owe(&keeper, NULL, NULL);
	if (death == ENDS_IT) {
		pid_t pid = keeper.pid;

		keeper_end(&keeper);
		keeper_owe(&keeper, &before, "none any more");
		if (kill(pid, 0) == 0 || errno != ESRCH || keeper.socket >= 0)
			_exit(4);
	}
	(void)raise(SIGKILL);
	_exit(5);
}

/* Leads a session on the terminal, which lasts until the test is over; says how the other died. */
static _Noreturn void lead(int slave, int tell, enum death death)
{
	int status = -1;

	if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		_exit(2);
	pid_t pid = fork();

	if (pid == 0)
		live_and_die(slave, death);
	fd_close(slave);
	(void)waitpid(pid, &status, 0);
	(void)!write(tell, &status, sizeof(status));
	for (;;)
		(void)pause();
}

/* All that was written, once nobody holds the other end any more. */
static void read_to_the_end(int master, char *text, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < 5000; i++) {
		struct pollfd watched = { .fd = master, .events = POLLIN };
		ssize_t n = read(master, text + len, size - 1 - len);

		len += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno == EIO)
			break;
		(void)poll(&watched, 1, 1);
	}
	text[len] = '\0';
}

START_TEST(keeper)
{
	int slave, status = 0, tell[2];
	char text[64] = "";
	auto_close int master = open_pair(&slave);
	struct termios now = { 0 };
	bool is_back = _i == DIES_OWING;

	ck_assert_int_eq(pipe2(tell, O_CLOEXEC), 0);
	pid_t pid = fork();

	if (pid == 0)
		lead(slave, tell[1], (enum death)_i);
	fd_close(slave);
	ck_assert_int_eq(read(tell[0], &status, sizeof(status)), sizeof(status));
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	read_to_the_end(master, text, sizeof(text));
	ck_assert_str_eq(text, is_back ? "given back" : "");
	ck_assert_int_eq(tcgetattr(master, &now), 0);
	ck_assert_int_eq((now.c_lflag & ICANON) != 0, is_back);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	fd_close(tell[0]);
	fd_close(tell[1]);
}
END_TEST

TCase *test_keeper(void)
{
	TCase *tcase = tcase_create("keeper");

	tcase_add_loop_test(tcase, keeper, 0, DEATHS);
	return tcase;
}
