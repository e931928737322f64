#include "tests/unit/proxy/dial_test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

/* Each returns 0 or the errno. All work, or fail otherwise than with EPERM, before the confinement.
 */
static int result_of(long r)
{
	return r < 0 ? errno : 0;
}

static int do_open(void)
{
	return result_of(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int do_open_raw(void)
{
#ifdef SYS_open
	return result_of(syscall(SYS_open, "/etc/passwd", O_RDONLY));
#else
	return do_open();
#endif
}

static int do_openat2(void)
{
	return result_of(syscall(SYS_openat2, -1, NULL, NULL, 0));
}

static int do_create(void)
{
	return result_of(creat("/proc/none", 0600));
}

static int do_unlink(void)
{
	return result_of(unlink("/nowhere/at-all"));
}

static int do_stat(void)
{
	struct stat stat_of;

	return result_of(stat("/etc/passwd", &stat_of));
}

static int do_exec(void)
{
	char *argv[] = { NULL };

	return result_of(execve("/nowhere/at-all", argv, argv));
}

static int do_execveat(void)
{
	return result_of(syscall(SYS_execveat, -1, "", NULL, NULL, 0));
}

static int do_fork(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	return child < 0 ? errno : result_of(waitpid(child, NULL, 0));
}

static int do_ptrace(void)
{
	return result_of(ptrace(PTRACE_PEEKDATA, 0, NULL, NULL));
}

static int do_unix_socket(void)
{
	return result_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int do_netlink_socket(void)
{
	return result_of(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int do_socketpair(void)
{
	int pair[2];

	return result_of(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static int do_bind(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return result_of(
		bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&here, sizeof(here)));
}

static int do_listen(void)
{
	return result_of(listen(socket(AF_INET, SOCK_STREAM, 0), 1));
}

static int do_kill(void)
{
	return result_of(kill(getpid(), 0));
}

static int do_map_code(void)
{
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? errno : result_of(munmap(map, 4096));
}

static int do_memfd(void)
{
	return result_of(memfd_create("x", MFD_CLOEXEC));
}

static int do_setns(void)
{
	return result_of(syscall(SYS_setns, -1, 0));
}

static int do_io_uring(void)
{
	return result_of(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
}

static int do_limit(void)
{
	struct rlimit limit;

	return result_of(getrlimit(RLIMIT_NOFILE, &limit));
}

static int (*const forbidden[])(void) = {
	do_open,       do_open_raw, do_openat2, do_create, do_unlink,      do_stat,
	do_exec,       do_execveat, do_fork,    do_ptrace, do_unix_socket, do_netlink_socket,
	do_socketpair, do_bind,     do_listen,  do_kill,   do_map_code,    do_memfd,
	do_setns,      do_io_uring, do_limit,
};

static int call(void *arg)
{
	int (*const *what)(void) = arg;

	return (*what)();
}

static int confined_call(int (*what)(void))
{
	return dial_test_confined(call, &what);
}

START_TEST(calls_are_forbidden)
{
	ck_assert_int_ne(forbidden[_i](), EPERM);
	ck_assert_int_eq(confined_call(forbidden[_i]), EPERM);
}
END_TEST

static int do_thread(void)
{
	return result_of(syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, NULL));
}

static int do_clone3(void)
{
	return result_of(syscall(SYS_clone3, NULL, 0));
}

START_TEST(threads_are_forbidden)
{
	ck_assert_int_eq(confined_call(do_thread), EPERM);
	ck_assert_int_eq(confined_call(do_clone3), EPERM);
}
END_TEST

TCase *test_forbidden(void)
{
	TCase *tcase = tcase_create("forbidden");

	tcase_add_loop_test(tcase, calls_are_forbidden, 0, ARRAY_SIZE(forbidden));
	tcase_add_test(tcase, threads_are_forbidden);
	return tcase;
}
