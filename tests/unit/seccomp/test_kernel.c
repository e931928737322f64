#include "tests/unit/seccomp/test_seccomp.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "seccomp/seccomp_command.h"

/* Calls that fail anyway, for a reason of the kernel's own that differs from the filter's: so each
 * row shows the filter at work, as root and as anybody. */
static const struct {
	long number;
	long args[3];
	int want;
} denied[] = {
	{ SYS_socket, { AF_VSOCK, -1, 0 }, EAFNOSUPPORT },
	{ SYS_socket, { AF_NETLINK, -1, NETLINK_NETFILTER }, EPROTONOSUPPORT },
	{ SYS_clone3, { 0, 0, 0 }, ENOSYS },
	{ SYS_io_uring_enter, { -1, 0, 0 }, ENOSYS },
	{ SYS_fchmod, { -1, 04755 }, EPERM },
	{ SYS_ioctl, { -1, TIOCSTI, 0 }, EPERM },
	{ SYS_ioctl, { -1, TIOCLINUX, 0 }, EPERM },
	{ SYS_ioctl, { -1, TIOCSETD, 0 }, EPERM },
	{ SYS_setns, { -1, 0, 0 }, EPERM },
	{ SYS_unshare, { CLONE_NEWNET | 0x10, 0, 0 }, EPERM },
	{ SYS_pidfd_getfd, { -1, 0, 0 }, EPERM },
	{ SYS_keyctl, { -1, 0, 0 }, EPERM },
	{ SYS_mount_setattr, { -1, 0, -1 }, EPERM },
};

static void load(void)
{
	struct sock_fprog program = { .len = seccomp_command_len,
				      .filter = (struct sock_filter *)(uintptr_t)seccomp_command };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), 0);
}

static int errno_of(size_t row)
{
	const long *args = denied[row].args;

	errno = 0;
	return syscall(denied[row].number, args[0], args[1], args[2], 0, 0) < 0 ? errno : 0;
}

START_TEST(kernel_denies)
{
	ck_assert_int_ne(errno_of((size_t)_i), denied[_i].want);
	load();
	ck_assert_int_eq(errno_of((size_t)_i), denied[_i].want);
}
END_TEST

START_TEST(programs_still_run)
{
	load();
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	int status = -1;

	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

#ifdef __x86_64__
START_TEST(x32_kills)
{
	load();
	(void)syscall(0x40000000L | SYS_getpid);
}
END_TEST

/* How a child ends that asks for `number` through the 32-bit gate, under the filter or without it.
 */
static int ends_by_i386(long number, bool is_filtered)
{
	pid_t child = fork();
	int status = -1;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		long result;

		(void)signal(SIGSEGV, SIG_DFL);
		if (is_filtered)
			load();
		__asm__ volatile("int $0x80"
				 : "=a"(result)
				 : "a"(number), "b"(40L), "c"(1L), "d"(0L)
				 : "memory", "r8", "r9", "r10", "r11");
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

/* Through the 32-bit gate the number 359 is socket(): allowed it would be a way around every rule.
 * A kernel that has no such gate (ia32_emulation=off) raises SIGSEGV, with the filter and without
 * it. */
START_TEST(i386_kills)
{
	enum { I386_GETPID = 20, I386_SOCKET = 359 };
	int open = ends_by_i386(I386_GETPID, false), filtered = ends_by_i386(I386_SOCKET, true);

	ck_assert(WIFSIGNALED(filtered));
	if (WIFEXITED(open))
		ck_assert_int_eq(WTERMSIG(filtered), SIGSYS);
	else
		ck_assert_int_eq(WTERMSIG(filtered), SIGSEGV);
}
END_TEST
#endif

TCase *test_kernel(void)
{
	TCase *tcase = tcase_create("kernel");

	tcase_add_loop_test(tcase, kernel_denies, 0, ARRAY_SIZE(denied));
	tcase_add_test(tcase, programs_still_run);
#ifdef __x86_64__
	tcase_add_test_raise_signal(tcase, x32_kills, SIGSYS);
	tcase_add_test(tcase, i386_kills);
#endif
	return tcase;
}
