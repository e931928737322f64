#include "tests/unit/base/test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/process/helper.h"
#include "base/loop.h"

#define SECRET_FD 77

static void on_ours(int signal)
{
	_exit(9);
}

/* Says what it has: its own word, and whether anything of ours is open. */
static int say(int socket, void *arg)
{
	char word[16];

	(void)kill(getpid(), SIGURG); /* ours has a handler for it, which would end this */
	if (recv(socket, word, sizeof(word), 0) < 1)
		return 1;
	return fd_send(socket, fcntl(SECRET_FD, F_GETFD) < 0 ? arg : "open", 5, NULL, 0) < 0;
}

static void receive(int socket, char *text, size_t size)
{
	int fds[FD_PASS_MAX];
	size_t count = 0;
	ssize_t n;

	ck_assert_int_eq(fd_set_nonblocking(socket, false), 0);
	n = fd_recv(socket, text, size, fds, &count);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
}

START_TEST(it_has_our_memory_and_nothing_open)
{
	struct loop *loop = loop_new();
	struct helper helper = HELPER_NONE;
	struct err why = { 0 };
	char text[32], word[] = "word";

	ck_assert_int_eq(dup2(STDERR_FILENO, SECRET_FD), SECRET_FD);
	ck_assert(signal(SIGURG, on_ours) != SIG_ERR);
	ck_assert_int_eq(helper_start("test", say, word, &helper, &why), 0);
	ck_assert_int_eq(fd_send(helper.socket, "go", 2, NULL, 0), 0);
	receive(helper.socket, text, sizeof(text) - 1);
	ck_assert_str_eq(text, "word");
	receive(helper.socket, text, sizeof(text) - 1);
	ck_assert_str_eq(text, ""); /* its end is seen */
	helper_end(loop, &helper);
	loop_free(loop);
}
END_TEST

static int stop(int socket, void *arg)
{
	(void)raise(SIGSTOP);
	return 0;
}

static int get_stuck(int socket, void *arg)
{
	while (pause() < 0)
		;
	return 0;
}

/* Nobody waits for it before the loop does, and nothing is left to be buried. */
START_TEST(its_end_is_waited_for_in_the_loop)
{
	static const helper_fn runs[] = { get_stuck, stop };
	struct loop *loop = loop_new();
	struct helper helper = HELPER_NONE;
	struct err why = { 0 };

	ck_assert_int_eq(helper_start("test", runs[_i], NULL, &helper, &why), 0);
	pid_t pid = helper.pid;

	helper_end(loop, &helper);
	ck_assert_int_eq(helper.pid, 0);
	while (kill(pid, 0) == 0)
		loop_step(loop);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert_int_eq(helper_start("test", runs[_i], NULL, &helper, &why), 0);
	helper_end(loop, &helper);
	loop_free(loop);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* @arg: a pipe's ends. What it writes to standard error goes nowhere. */
static int tell_alone(int socket, void *arg)
{
	const char *const said = "to nobody";
	ssize_t len = (ssize_t)strlen(said);

	if (write(STDERR_FILENO, said, (size_t)len) != len)
		return 1;
	return socket == -1 && getsid(0) == getpid() && fcntl(*(const int *)arg, F_GETFD) < 0 ? 7
											      : 1;
}

START_TEST(it_runs_alone)
{
	int ends[2], status = 0, errors = dup(STDERR_FILENO);
	char byte;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	pid_t pid = helper_start_alone("test", 60, tell_alone, &ends[0]);

	ck_assert_int_eq(dup2(errors, STDERR_FILENO), STDERR_FILENO);
	fd_close(errors);
	fd_close(ends[1]);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	fd_close(ends[0]);
}
END_TEST

START_TEST(it_is_killed_when_it_takes_long)
{
	int status = 0;
	pid_t pid = helper_start_alone("test", 1, get_stuck, NULL);

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGALRM);
}
END_TEST

TCase *test_helper(void)
{
	TCase *tcase = tcase_create("helper");

	tcase_set_tags(tcase, "pidfd"); /* ./dev valgrind leaves these out */
	tcase_add_test(tcase, it_has_our_memory_and_nothing_open);
	tcase_add_loop_test(tcase, its_end_is_waited_for_in_the_loop, 0, 2);
	tcase_add_test(tcase, it_runs_alone);
	tcase_add_test(tcase, it_is_killed_when_it_takes_long);
	return tcase;
}
