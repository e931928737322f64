#include "tests/unit/exec/notify/caller.h"

#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

static _Noreturn void act(int socket, int call, int (*run)(void *arg), void *arg)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
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
	if (run)
		_exit(run(arg));
	(void)syscall(call);
	_exit(0);
}

void caller_start(struct caller *caller, int call, int (*run)(void *arg), void *arg)
{
	int sockets[2], fds[FD_PASS_MAX];
	size_t count = 0;
	char byte;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	caller->pid = fork();
	ck_assert_int_ge(caller->pid, 0);
	if (caller->pid == 0)
		act(sockets[1], call, run, arg);
	fd_close(sockets[1]);
	ck_assert_int_eq((int)fd_recv(sockets[0], &byte, 1, fds, &count), 1);
	ck_assert_uint_eq(count, 1);
	fd_close(sockets[0]);
	caller->listener = fds[0];
}

void caller_receive(struct caller *caller)
{
	struct seccomp_notif request = { 0 };

	ck_assert_int_eq(ioctl(caller->listener, SECCOMP_IOCTL_NOTIF_RECV, &request), 0);
	caller->request = request.id;
}

void caller_kill(struct caller *caller)
{
	(void)kill(caller->pid, SIGKILL);
	ck_assert_int_eq(waitpid(caller->pid, NULL, 0), caller->pid);
}
