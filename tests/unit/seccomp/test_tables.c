#include "tests/unit/seccomp/test_seccomp.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "seccomp/seccomp_command.h"
#include "seccomp/seccomp_worker.h"
#include "tests/unit/seccomp/bpf.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define PASS      SECCOMP_RET_ALLOW
#define FAIL(e)   (SECCOMP_RET_ERRNO | (e))
#define X32_BIT   0x40000000U
#define HIGH(low) ((UINT64_C(1) << 32) | (low)) /* the kernel reads the low half only */
#define NEW_TIME  0x80

struct entry {
	uint32_t number;
	uint64_t args[6];
	uint32_t want;
};

static const struct entry commands[] = {
	/* what every program does */
	{ SYS_read, { 0 }, PASS },
	{ SYS_openat, { 0 }, PASS },
	{ SYS_execve, { 0 }, PASS },
	{ SYS_ptrace, { 0 }, PASS }, /* debuggers and leak checkers */
	{ SYS_bind, { 0 }, PASS },
	{ SYS_listen, { 0 }, PASS },
	{ SYS_seccomp, { 0 }, PASS }, /* a browser's own sandbox */
	{ 100000, { 0 }, PASS },      /* a call of next year */
	/* socket families */
	{ SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, PASS },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 0 }, PASS },
	{ SYS_socket, { AF_INET, SOCK_DGRAM, 17 }, PASS },
	{ SYS_socket, { AF_INET6, SOCK_STREAM, 6 }, PASS },
	{ SYS_socket, { HIGH(AF_INET), SOCK_STREAM, 0 }, PASS },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_ROUTE }, PASS },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, HIGH(NETLINK_ROUTE) }, PASS },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER }, FAIL(EPROTONOSUPPORT) },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG }, FAIL(EPROTONOSUPPORT) },
	{ SYS_socket, { HIGH(AF_NETLINK), SOCK_RAW, NETLINK_AUDIT }, FAIL(EPROTONOSUPPORT) },
	{ SYS_socket, { AF_UNSPEC, SOCK_STREAM, 0 }, FAIL(EAFNOSUPPORT) },
	{ SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, FAIL(EAFNOSUPPORT) },
	{ SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, FAIL(EAFNOSUPPORT) },
	{ SYS_socket, { HIGH(AF_VSOCK), SOCK_STREAM, 0 }, FAIL(EAFNOSUPPORT) },
	{ SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 }, FAIL(EAFNOSUPPORT) },
	{ SYS_socket, { AF_BLUETOOTH, SOCK_RAW, 0 }, FAIL(EAFNOSUPPORT) },
	{ SYS_socket, { UINT64_MAX, SOCK_RAW, 0 }, FAIL(EAFNOSUPPORT) },
	/* namespaces, one row a bit */
	{ SYS_clone, { SIGCHLD }, PASS },
	{ SYS_clone, { CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD }, PASS },
	{ SYS_clone, { SIGCHLD | CLONE_PTRACE }, FAIL(EPERM) },
	{ SYS_clone, { SIGCHLD | CLONE_NEWUSER }, FAIL(EPERM) },
	{ SYS_clone, { SIGCHLD | CLONE_NEWNET }, FAIL(EPERM) },
	{ SYS_clone, { HIGH(SIGCHLD | CLONE_NEWNS) }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_FILES }, PASS },
	{ SYS_unshare, { CLONE_NEWUSER }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_NEWNET }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_NEWNS }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_NEWPID }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_NEWIPC }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_NEWUTS }, FAIL(EPERM) },
	{ SYS_unshare, { CLONE_NEWCGROUP }, FAIL(EPERM) },
	{ SYS_unshare, { NEW_TIME }, FAIL(EPERM) },
	{ SYS_setns, { 3, 0 }, FAIL(EPERM) },
	{ SYS_clone3, { 0 }, FAIL(ENOSYS) },
	{ SYS_io_uring_setup, { 0 }, FAIL(ENOSYS) },
	{ SYS_io_uring_enter, { 0 }, FAIL(ENOSYS) },
	{ SYS_io_uring_register, { 0 }, FAIL(ENOSYS) },
	/* what holds up others on the same file */
	{ SYS_fcntl, { 3, F_SETLEASE, F_RDLCK }, FAIL(EINVAL) },
	{ SYS_fcntl, { 3, F_SETLEASE, F_WRLCK }, FAIL(EINVAL) },
	{ SYS_fcntl, { 3, HIGH(F_SETLEASE), F_WRLCK }, FAIL(EINVAL) },
	{ SYS_fcntl, { 3, F_SETLEASE, F_UNLCK }, PASS },
	{ SYS_fcntl, { 3, F_NOTIFY, DN_CREATE }, FAIL(EINVAL) },
	{ SYS_fcntl, { 3, F_SETLK, 0 }, PASS },
	{ SYS_fcntl, { 3, F_GETLEASE }, PASS },
	/* the terminal */
	{ SYS_fchmod, { 0, 0755 }, PASS },
	{ SYS_fchmod, { 0, 01777 }, PASS },
	{ SYS_fchmod, { 0, 04755 }, FAIL(EPERM) },
	{ SYS_fchmod, { 0, 02755 }, FAIL(EPERM) },
	{ SYS_fchmod, { 0, HIGH(06000) }, FAIL(EPERM) },
	{ SYS_openat, { 0, 0, 1, 04755 }, PASS },
	{ SYS_openat, { 0, 0, 0101, 04755 }, FAIL(EPERM) },
	{ SYS_openat, { 0, 0, 0101, 0755 }, PASS },
	{ SYS_openat2, { 0 }, FAIL(ENOSYS) },
	{ SYS_ioctl, { 0, TCGETS }, PASS },
	{ SYS_ioctl, { 0, TIOCGWINSZ }, PASS },
	{ SYS_ioctl, { 0, TIOCSTI }, FAIL(EPERM) },
	{ SYS_ioctl, { 0, HIGH(TIOCSTI) }, FAIL(EPERM) },
	{ SYS_ioctl, { 0, TIOCLINUX }, FAIL(EPERM) },
	{ SYS_ioctl, { 0, TIOCSETD }, FAIL(EPERM) },
	{ SYS_personality, { 0 }, PASS },
	{ SYS_personality, { 8 }, PASS },
	{ SYS_personality, { 0x20000 }, PASS },
	{ SYS_personality, { 0x40000 }, PASS },
	{ SYS_personality, { 0xffffffff }, PASS },
	{ SYS_personality, { 0x400000 }, FAIL(EPERM) }, /* READ_IMPLIES_EXEC */
	{ SYS_personality, { 0x40008 }, FAIL(EPERM) },
	/* the rest, always denied */
	{ SYS_bpf, { 0 }, FAIL(EPERM) },
	{ SYS_perf_event_open, { 0 }, FAIL(EPERM) },
	{ SYS_userfaultfd, { 0 }, FAIL(EPERM) },
	{ SYS_add_key, { 0 }, FAIL(EPERM) },
	{ SYS_request_key, { 0 }, FAIL(EPERM) },
	{ SYS_keyctl, { 0 }, FAIL(EPERM) },
	{ SYS_kexec_load, { 0 }, FAIL(EPERM) },
	{ SYS_kexec_file_load, { 0 }, FAIL(EPERM) },
	{ SYS_init_module, { 0 }, FAIL(EPERM) },
	{ SYS_finit_module, { 0 }, FAIL(EPERM) },
	{ SYS_delete_module, { 0 }, FAIL(EPERM) },
	{ SYS_mount, { 0 }, FAIL(EPERM) },
	{ SYS_umount2, { 0 }, FAIL(EPERM) },
	{ SYS_pivot_root, { 0 }, FAIL(EPERM) },
	{ SYS_chroot, { 0 }, FAIL(EPERM) },
	{ SYS_open_tree, { 0 }, FAIL(EPERM) },
	{ 467 /* open_tree_attr */, { 0 }, FAIL(EPERM) },
	{ SYS_move_mount, { 0 }, FAIL(EPERM) },
	{ SYS_fsopen, { 0 }, FAIL(EPERM) },
	{ SYS_fsconfig, { 0 }, FAIL(EPERM) },
	{ SYS_fsmount, { 0 }, FAIL(EPERM) },
	{ SYS_fspick, { 0 }, FAIL(EPERM) },
	{ SYS_mount_setattr, { 0 }, FAIL(EPERM) },
	{ SYS_swapon, { 0 }, FAIL(EPERM) },
	{ SYS_swapoff, { 0 }, FAIL(EPERM) },
	{ SYS_reboot, { 0 }, FAIL(EPERM) },
	{ SYS_acct, { 0 }, FAIL(EPERM) },
	{ SYS_syslog, { 0 }, FAIL(EPERM) },
	{ SYS_quotactl, { 0 }, FAIL(EPERM) },
	{ SYS_quotactl_fd, { 0 }, FAIL(EPERM) },
	{ SYS_open_by_handle_at, { 0 }, FAIL(EPERM) },
	{ SYS_settimeofday, { 0 }, FAIL(EPERM) },
	{ SYS_clock_settime, { 0 }, FAIL(EPERM) },
	{ SYS_vhangup, { 0 }, FAIL(EPERM) },
	{ SYS_lookup_dcookie, { 0 }, FAIL(EPERM) },
	{ SYS_fanotify_init, { 0 }, FAIL(EPERM) },
	{ SYS_pidfd_getfd, { 0 }, FAIL(EPERM) },
	{ SYS_kcmp, { 0 }, FAIL(EPERM) },
	{ SYS_process_vm_readv, { 0 }, FAIL(EPERM) },
	{ SYS_process_vm_writev, { 0 }, FAIL(EPERM) },
	{ SYS_process_madvise, { 0 }, FAIL(EPERM) },
	{ SYS_prlimit64, { 0 }, PASS }, /* the own limits: setrlimit(3) */
	{ SYS_prlimit64, { 1 }, FAIL(EPERM) },
	{ SYS_sethostname, { 0 }, FAIL(EPERM) },
	{ SYS_setdomainname, { 0 }, FAIL(EPERM) },
#ifdef __x86_64__
	{ SYS_create_module, { 0 }, FAIL(EPERM) },
	{ SYS_query_module, { 0 }, FAIL(EPERM) },
	{ SYS_get_kernel_syms, { 0 }, FAIL(EPERM) },
	{ SYS_iopl, { 0 }, FAIL(EPERM) },
	{ SYS_ioperm, { 0 }, FAIL(EPERM) },
	{ SYS_nfsservctl, { 0 }, FAIL(EPERM) },
	{ SYS_modify_ldt, { 0 }, FAIL(EPERM) },
	{ X32_BIT | SYS_read, { 0 }, SECCOMP_RET_KILL_PROCESS },
	{ X32_BIT | 520 /* x32 execve */, { 0 }, SECCOMP_RET_KILL_PROCESS },
	{ UINT32_MAX, { 0 }, PASS }, /* "skipped" under ptrace; the kernel runs nothing */
#endif
};

static const struct entry workers[] = {
	{ SYS_read, { 0 }, PASS },
	{ SYS_epoll_pwait, { 0 }, PASS }, /* epoll_wait(3) of aarch64 */
	{ SYS_accept4, { 0 }, PASS },
	{ SYS_connect, { 0 }, PASS },
	{ SYS_recvmsg, { 0 }, PASS },
	{ SYS_recvmmsg, { 0 }, PASS },
	{ SYS_sendmmsg, { 0 }, PASS },
	{ SYS_socket, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 6 }, PASS },
	{ SYS_socket, { AF_INET6, SOCK_DGRAM, 0 }, PASS },
	{ SYS_socket, { AF_INET, SOCK_RAW, 1 }, FAIL(EPERM) },
	{ SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, FAIL(EPERM) },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, FAIL(EPERM) },
	{ SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, FAIL(EPERM) },
	{ SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE }, PASS },
	{ SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC }, FAIL(EPERM) },
	{ SYS_mprotect, { 0, 4096, PROT_READ }, PASS },
	{ SYS_mprotect, { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC }, FAIL(EPERM) },
	{ SYS_ioctl, { 0, FIONREAD }, PASS },
	{ SYS_ioctl, { 0, TIOCSTI }, FAIL(EPERM) },
	{ SYS_fcntl, { 0, F_SETFL }, PASS },
	{ SYS_fcntl, { 0, F_SETLEASE }, FAIL(EPERM) },
	{ SYS_fcntl, { 0, F_GET_SEALS }, PASS },
	{ SYS_fcntl, { 0, F_ADD_SEALS }, FAIL(EPERM) },
	{ SYS_lseek, { 0 }, PASS },
	{ SYS_tgkill, { 1, 1, SIGABRT }, PASS },
	{ SYS_tgkill, { 1, 1, SIGKILL }, FAIL(EPERM) },
	{ SYS_exit_group, { 0 }, PASS },
	{ SYS_openat, { 0 }, FAIL(EPERM) },
	{ SYS_openat2, { 0 }, FAIL(EPERM) },
	{ SYS_execve, { 0 }, FAIL(EPERM) },
	{ SYS_execveat, { 0 }, FAIL(EPERM) },
	{ SYS_clone, { SIGCHLD }, FAIL(EPERM) },
	{ SYS_clone3, { 0 }, FAIL(EPERM) },
	{ SYS_ptrace, { 0 }, FAIL(EPERM) },
	{ SYS_process_vm_readv, { 0 }, FAIL(EPERM) },
	{ SYS_bind, { 0 }, FAIL(EPERM) },
	{ SYS_listen, { 0 }, FAIL(EPERM) },
	{ SYS_kill, { 1, SIGKILL }, FAIL(EPERM) },
	{ SYS_io_uring_setup, { 0 }, FAIL(EPERM) },
	{ SYS_mount, { 0 }, FAIL(EPERM) },
	{ SYS_memfd_create, { 0 }, FAIL(EPERM) },
	{ SYS_pidfd_open, { 0 }, FAIL(EPERM) },
	{ SYS_unlinkat, { 0 }, FAIL(EPERM) },
	{ SYS_newfstatat, { 0 }, FAIL(EPERM) },
	{ 100000, { 0 }, FAIL(EPERM) },
#ifdef __x86_64__
	{ SYS_epoll_wait, { 0 }, PASS },
	{ SYS_open, { 0 }, FAIL(EPERM) },
	{ SYS_creat, { 0 }, FAIL(EPERM) },
	{ SYS_fork, { 0 }, FAIL(EPERM) },
	{ SYS_vfork, { 0 }, FAIL(EPERM) },
	{ X32_BIT | SYS_read, { 0 }, SECCOMP_RET_KILL_PROCESS },
#endif
};

static struct bpf_call call_of(const struct entry *entry, uint32_t arch)
{
	struct bpf_call call = { .arch = arch, .number = entry->number };

	for (size_t i = 0; i < ARRAY_SIZE(call.args); i++)
		call.args[i] = entry->args[i];
	return call;
}

START_TEST(command_answers)
{
	struct bpf_call call = call_of(&commands[_i], NATIVE);

	ck_assert_msg(bpf_run(seccomp_command, seccomp_command_len, &call) == commands[_i].want,
		      "row %d, call %u: %#x", _i, call.number,
		      bpf_run(seccomp_command, seccomp_command_len, &call));
}
END_TEST

START_TEST(worker_answers)
{
	struct bpf_call call = call_of(&workers[_i], NATIVE);

	ck_assert_msg(bpf_run(seccomp_worker, seccomp_worker_len, &call) == workers[_i].want,
		      "row %d, call %u: %#x", _i, call.number,
		      bpf_run(seccomp_worker, seccomp_worker_len, &call));
}
END_TEST

/* The same number means another call in another ABI: nothing of it may run. */
START_TEST(foreign_abi_kills)
{
	static const uint32_t archs[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_PPC64LE, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(archs); i++) {
		for (uint32_t number = 0; number < 500; number++) {
			struct bpf_call call = { .arch = archs[i], .number = number };
			ck_assert_uint_eq(bpf_run(seccomp_command, seccomp_command_len, &call),
					  SECCOMP_RET_KILL_PROCESS);
			ck_assert_uint_eq(bpf_run(seccomp_worker, seccomp_worker_len, &call),
					  SECCOMP_RET_KILL_PROCESS);
		}
	}
}
END_TEST

/* No mark of the generator is left, whatever the call: SECCOMP_RET_TRACE without a tracer would be
 * ENOSYS at best. */
START_TEST(every_answer_is_known)
{
	for (uint32_t number = 0; number < 1024; number++) {
		for (uint64_t arg = 0; arg < 64; arg++) {
			struct bpf_call call = { NATIVE, number, { arg, arg, arg, arg, arg, arg } };
			uint32_t command = bpf_run(seccomp_command, seccomp_command_len, &call);
			uint32_t worker = bpf_run(seccomp_worker, seccomp_worker_len, &call);

			bool is_walls = number == SYS_connect || number == SYS_sendmsg ||
					number == SYS_sendmmsg ||
					(number == SYS_sendto && (uint32_t)arg != 0);

			ck_assert(is_walls ? (command & 0xffff0000) == SECCOMP_RET_USER_NOTIF
					   : command == PASS ||
						     (command & 0xffff0000) == SECCOMP_RET_ERRNO);
			ck_assert(worker == PASS || worker == FAIL(EPERM));
		}
	}
}
END_TEST

TCase *test_tables(void)
{
	TCase *tcase = tcase_create("tables");

	tcase_add_loop_test(tcase, command_answers, 0, ARRAY_SIZE(commands));
	tcase_add_loop_test(tcase, worker_answers, 0, ARRAY_SIZE(workers));
	tcase_add_test(tcase, foreign_abi_kills);
	tcase_add_test(tcase, every_answer_is_known);
	return tcase;
}
