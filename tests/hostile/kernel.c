#include "tests/hostile/hostile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Numbers that older headers do not have. */
#define NR_OPEN_TREE_ATTR 467
#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const struct {
	const char *name;
	unsigned long flag;
} namespaces[] = {
	{ "user", CLONE_NEWUSER },     { "net", CLONE_NEWNET }, { "mnt", CLONE_NEWNS },
	{ "pid", CLONE_NEWPID },       { "ipc", CLONE_NEWIPC }, { "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP },
};

/* K01, K14: nested namespaces would bring capabilities back. */
static void new_namespaces(char **args)
{
	char clone_args[88] = { 0 };

	for (size_t i = 0; i < LENGTH(namespaces); i++) {
		unsigned long flag = namespaces[i].flag;

		hostile_try_error("unshare", syscall(SYS_unshare, flag), EPERM);
		hostile_try_error("unshare with high bits", syscall(SYS_unshare, flag | 1UL << 40),
				  EPERM);
		hostile_try_error("unshare of two", syscall(SYS_unshare, flag | CLONE_FILES),
				  EPERM);

		long pid = syscall(SYS_clone, flag | SIGCHLD, 0, 0, 0, 0);

		if (pid == 0)
			_exit(0);
		hostile_try_error("clone", pid, EPERM);
		*(uint64_t *)(void *)clone_args = flag;
		hostile_try_error("clone3", syscall(SYS_clone3, clone_args, sizeof(clone_args)),
				  ENOSYS);
	}
	hostile_try_error("unshare of a time namespace", syscall(SYS_unshare, CLONE_NEWTIME),
			  EPERM);
}

/* K01 */
static void enter_namespaces(char **args)
{
	char path[64];
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);

	for (size_t i = 0; i < LENGTH(namespaces); i++) {
		snprintf(path, sizeof(path), "/proc/1/ns/%s", namespaces[i].name);
		hostile_try(path, open(path, O_RDONLY));
		snprintf(path, sizeof(path), "/proc/self/ns/%s", namespaces[i].name);

		int fd = open(path, O_RDONLY);

		hostile_try_error("setns", syscall(SYS_setns, fd, 0), EPERM);
		hostile_try_error("setns", syscall(SYS_setns, pidfd, namespaces[i].flag), EPERM);
		close(fd);
	}
}

/* E: the view of the file system is the sandbox. */
static void mounts(char **args)
{
	int here = open(".", O_PATH);
	const char *const none = NULL;

	hostile_try_error("mount tmpfs", mount("x", "/tmp", "tmpfs", 0, NULL), EPERM);
	hostile_try_error("bind mount", mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL), EPERM);
	hostile_try_error("remount", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
	hostile_try_error("mount proc", mount("proc", "/proc", "proc", 0, NULL), EPERM);
	hostile_try_error("change propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL),
			  EPERM);
	hostile_try_error("umount /tmp", umount2("/tmp", MNT_DETACH), EPERM);
	hostile_try_error("umount /proc/sys", umount2("/proc/sys", MNT_DETACH), EPERM);
	hostile_try_error("umount .", umount2(".", MNT_DETACH), EPERM);
	hostile_try_error("pivot_root", syscall(SYS_pivot_root, ".", "."), EPERM);
	hostile_try_error("chroot", chroot("."), EPERM);
	hostile_try_error("open_tree", syscall(SYS_open_tree, here, "", AT_EMPTY_PATH | 1), EPERM);
	hostile_try_error("open_tree_attr",
			  syscall(NR_OPEN_TREE_ATTR, here, "", AT_EMPTY_PATH | 1, none, 0), EPERM);
	hostile_try_error("move_mount", syscall(SYS_move_mount, here, "", here, "", 4), EPERM);
	hostile_try_error("fsopen", syscall(SYS_fsopen, "tmpfs", 0), EPERM);
	hostile_try_error("fsconfig", syscall(SYS_fsconfig, here, 6, none, none, 0), EPERM);
	hostile_try_error("fsmount", syscall(SYS_fsmount, here, 0, 0), EPERM);
	hostile_try_error("fspick", syscall(SYS_fspick, here, "", 8), EPERM);
	hostile_try_error("mount_setattr",
			  syscall(SYS_mount_setattr, here, "", AT_EMPTY_PATH, none, 0), EPERM);
	close(here);
}

static const struct {
	const char *name;
	long number;
} calls[] = {
	{ "bpf", SYS_bpf },
	{ "perf_event_open", SYS_perf_event_open },
	{ "userfaultfd", SYS_userfaultfd },
	{ "add_key", SYS_add_key },
	{ "request_key", SYS_request_key },
	{ "keyctl", SYS_keyctl },
	{ "kexec_load", SYS_kexec_load },
	{ "kexec_file_load", SYS_kexec_file_load },
	{ "init_module", SYS_init_module },
	{ "finit_module", SYS_finit_module },
	{ "delete_module", SYS_delete_module },
	{ "swapon", SYS_swapon },
	{ "swapoff", SYS_swapoff },
	{ "reboot", SYS_reboot },
	{ "acct", SYS_acct },
	{ "syslog", SYS_syslog },
	{ "quotactl", SYS_quotactl },
	{ "quotactl_fd", SYS_quotactl_fd },
	{ "open_by_handle_at", SYS_open_by_handle_at },
	{ "settimeofday", SYS_settimeofday },
	{ "clock_settime", SYS_clock_settime },
	{ "vhangup", SYS_vhangup },
	{ "fanotify_init", SYS_fanotify_init },
	{ "pidfd_getfd", SYS_pidfd_getfd },
	{ "kcmp", SYS_kcmp },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "process_madvise", SYS_process_madvise },
	{ "sethostname", SYS_sethostname },
	{ "setdomainname", SYS_setdomainname },
#ifdef SYS_iopl
	{ "iopl", SYS_iopl },
	{ "ioperm", SYS_ioperm },
	{ "modify_ldt", SYS_modify_ldt },
#endif
};

/* K21, E: calls no command needs. The arguments are such that none would do harm. */
static void surface(char **args)
{
	for (size_t i = 0; i < LENGTH(calls); i++)
		hostile_try_error(calls[i].name,
				  syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L), EPERM);
	/* With arguments that would work. */
	hostile_try_error("a new session keyring",
			  syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0), EPERM);
	hostile_try_error("reading the session keyring",
			  syscall(SYS_keyctl, KEYCTL_READ, KEY_SPEC_SESSION_KEYRING, 0, 0), EPERM);
	hostile_try_error("userfaultfd for user faults", syscall(SYS_userfaultfd, 1), EPERM);
}

/* E: old personalities weaken the address space; the kernel reads 32 bits of the argument. */
static void personalities(char **args)
{
	static const unsigned long wanted[] = {
		0x0400000, /* READ_IMPLIES_EXEC */
		0x0100000, /* MMAP_PAGE_ZERO */
		0x0200000, /* ADDR_COMPAT_LAYOUT */
		0x0440000, /* together with what is allowed */
		0x0400000 | 1UL << 32,
		6, /* PER_BSD */
	};

	for (size_t i = 0; i < LENGTH(wanted); i++)
		hostile_try_error("a personality", syscall(SYS_personality, wanted[i]), EPERM);
}

#ifdef __x86_64__
static void call_i386_getpid(void *arg)
{
	long result;

	/* 20 is getpid there; 359 (socket) and 102 (socketcall) are as near. */
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(*(long *)arg), "b"(1L), "c"(1L), "d"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
}

static void call_x32_getpid(void *arg)
{
	syscall(0x40000000L | *(long *)arg, AF_VSOCK, SOCK_STREAM, 0);
}
#endif

/* K09: a filter that looks at numbers only sees other calls. */
static void other_tables(char **args)
{
#ifdef __x86_64__
	static const long i386[] = { 20, 102, 359 }, x32[] = { 39, 41 };

	for (size_t i = 0; i < LENGTH(i386); i++) {
		long number = i386[i];
		int status = hostile_in_child(call_i386_getpid, &number);

		/* A kernel without the other table: SIGSEGV. */
		if (!WIFSIGNALED(status))
			hostile_escaped("an i386 system call (%ld) was let through", number);
		hostile_held();
	}
	for (size_t i = 0; i < LENGTH(x32); i++) {
		long number = x32[i];
		int status = hostile_in_child(call_x32_getpid, &number);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			hostile_escaped("an x32 system call (%ld) was not stopped", number);
		hostile_held();
	}
#else
	hostile_skip("this machine has one table of system calls");
#endif
}

/* Nobody answers the listener: a call that gets as far as asking it never returns. */
static void ask_own_listener(void *arg)
{
	struct sock_filter ask[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = LENGTH(ask), .filter = ask };

	alarm(3);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
		    &program) < 0)
		_exit(0);
	if (socket(AF_VSOCK, SOCK_STREAM, 0) >= 0 || errno != EAFNOSUPPORT)
		_exit(1);
}

/* K11: filters of the command's own, that let everything pass or ask somebody else, open nothing
 * that ours has closed. */
static void own_filter(char **args)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = LENGTH(all), .filter = all };
	int status = hostile_in_child(ask_own_listener, NULL);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		hostile_escaped("a listener of our own was asked first (status %x)",
				(unsigned int)status);
	(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	hostile_try_error("a vsock socket behind a filter of our own",
			  socket(AF_VSOCK, SOCK_STREAM, 0), EAFNOSUPPORT);
	hostile_try_error("unshare behind a filter of our own", syscall(SYS_unshare, CLONE_NEWUSER),
			  EPERM);
}

#ifdef __x86_64__
static void wait_for_change(void *arg)
{
	(void)ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	/* The tracer makes another call of this one. */
	long r = syscall(SYS_getpid);

	_exit(r >= 0 ? 1 : 0);
}
#endif

/* A tracer changes the number after the call has begun: the filter must look again. */
static void traced_call(char **args)
{
#ifdef __x86_64__
	struct user_regs_struct regs;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		wait_for_change(NULL);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		hostile_skip("no tracing here");
	while (ptrace(PTRACE_SYSCALL, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status)) {
		if (ptrace(PTRACE_GETREGS, pid, 0, &regs) < 0 || regs.orig_rax != SYS_getpid)
			continue;
		regs.orig_rax = SYS_socket;
		regs.rdi = AF_VSOCK;
		regs.rsi = SOCK_STREAM;
		regs.rdx = 0;
		(void)ptrace(PTRACE_SETREGS, pid, 0, &regs);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		hostile_escaped("a call was changed behind the filter (status %x)",
				(unsigned int)status);
	hostile_held();
#else
	hostile_skip("written for x86-64 registers");
#endif
}

const struct hostile_case hostile_kernel[] = {
	{ "new-namespaces", new_namespaces },
	{ "enter-namespaces", enter_namespaces },
	{ "mounts", mounts },
	{ "surface", surface },
	{ "personalities", personalities },
	{ "other-tables", other_tables },
	{ "own-filter", own_filter },
	{ "traced-call", traced_call },
	{ 0 },
};
