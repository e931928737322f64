#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/notify/inside.h"

/* A child that waits in a system call which it reports. */
static struct {
	pid_t pid;
	int listener;
	struct seccomp_notif request;
} caller;

static _Noreturn void call_getppid(int socket)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = filter };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);

	if (listener < 0 || fd_send(socket, "", 1, &listener, 1) < 0)
		_exit(1);
	(void)syscall(SYS_getppid);
	_exit(0);
}

static void caller_start(void)
{
	int sockets[2], fds[FD_PASS_MAX];
	size_t count = 0;
	char byte;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	caller.pid = fork();
	ck_assert_int_ge(caller.pid, 0);
	if (caller.pid == 0)
		call_getppid(sockets[1]);
	fd_close(sockets[1]);
	ck_assert_int_eq((int)fd_recv(sockets[0], &byte, 1, fds, &count), 1);
	ck_assert_uint_eq(count, 1);
	fd_close(sockets[0]);
	caller.listener = fds[0];
	caller.request = (struct seccomp_notif){ 0 };
	ck_assert_int_eq(ioctl(caller.listener, SECCOMP_IOCTL_NOTIF_RECV, &caller.request), 0);
}

static void caller_kill(void)
{
	(void)kill(caller.pid, SIGKILL);
	ck_assert_int_eq(waitpid(caller.pid, NULL, 0), caller.pid);
}

START_TEST(the_root_of_one_that_waits_is_kept)
{
	struct inside inside = { .root = -1 };

	caller_start();
	ck_assert_int_eq(inside_enter(&inside, caller.pid, caller.listener, caller.request.id), 0);
	ck_assert_int_ge(inside.root, 0);
	caller_kill();
	/* It is the same for all. */
	ck_assert_int_eq(inside_enter(&inside, getpid(), caller.listener, caller.request.id), 0);
	fd_close(inside.root);
	fd_close(caller.listener);
}
END_TEST

/* This process stands for one outside that has got the pid of the caller. */
START_TEST(the_root_of_a_reused_pid_is_not_kept)
{
	struct inside inside = { .root = -1 };

	caller_start();
	caller_kill();
	ck_assert_int_eq(inside_enter(&inside, getpid(), caller.listener, caller.request.id),
			 -ESRCH);
	ck_assert_int_eq(inside.root, -1);
	fd_close(caller.listener);
}
END_TEST

TCase *test_inside(void)
{
	TCase *tcase = tcase_create("inside");

	tcase_add_test(tcase, the_root_of_one_that_waits_is_kept);
	tcase_add_test(tcase, the_root_of_a_reused_pid_is_not_kept);
	return tcase;
}
