#include "seccomp/filter.h"

#include <asm/termbits.h>
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <sys/socket.h>

#ifndef F_SETDELEG
#define F_SETDELEG (F_SETLEASE + 16) /* Linux 6.19 */
#endif

/* The command's filter. Everything not named here is allowed: behind a user namespace without
 * capabilities an allow-list adds little and breaks compilers, debuggers and every new system call.
 * Denied are the calls that reach past the namespaces, the calls that namespaces do not cover, and
 * kernel attack surface that no build or test needs.
 *
 * To add a sandbox restriction on a system call: a line in rules[] here, with its reason; a hostile
 * case in tests/hostile/kernel.c and its line in tests/sandbox/escapes.py; its row in
 * docs/THREATS.md. One on paths is an entry of a plan (exec/sandbox/plan_make.c); one that init
 * has to make is a stage (exec/stages/stages.h). */

#define NAMESPACE_FLAGS                                                                            \
	(CLONE_NEWTIME | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |             \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

/* Mode bits that let a program run with its owner's rights: outside the sandbox, the owner is the
 * user. */
#define SET_IDS 06000 /* S_ISUID | S_ISGID */
#define MAKES_FILE                                                                                 \
	(O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) /* without these flags the call has no mode */

#define DENY_SET_IDS(call, nr, ...)                                                                \
	{                                                                                          \
		.name = #call, .number = (nr), .error = EPERM, .args = { __VA_ARGS__ },            \
		.why = set_ids, .told = SECCOMP_TOLD_DENIAL                                        \
	}
#define DENY(call, reason)                                                                         \
	{                                                                                          \
		.name = #call, .error = EPERM, .why = (reason), .told = SECCOMP_TOLD_DENIAL        \
	}
#define DENY_NUMBER(call, nr, reason)                                                              \
	{                                                                                          \
		.name = #call, .number = (nr), .error = EPERM, .why = (reason),                    \
		.told = SECCOMP_TOLD_DENIAL                                                        \
	}
#define ABSENT(call, reason)                                                                       \
	{                                                                                          \
		.name = #call, .error = ENOSYS, .why = (reason)                                    \
	}

static const char mounts[] = "the file system's view is the sandbox";
static const char keys[] = "the session keyring is inherited from outside";
static const char machine[] = "acts on the machine, not on the sandbox";
static const char spying[] = "reads or changes other processes by their number";
static const char surface[] = "kernel attack surface that no command needs";
static const char nested[] = "a namespace inside brings back capabilities and their attack surface";
static const char names[] = "a Unix socket of the host is reached by its path";
static const char set_ids[] =
	"a set-user-ID file left behind would give the user's rights to everyone who runs it";
static const char ring[] =
	"opens and connects sockets without system calls that a filter could see";

static const struct filter_rule rules[] = {
	{ .name = "socket",
	  .error = EAFNOSUPPORT,
	  .args = { FILTER_ARG(0, FILTER_NOT_IN, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK) },
	  .why = "AF_VSOCK is not namespaced: a guest could talk to its hypervisor",
	  .told = SECCOMP_TOLD_DENIAL },
	{ .name = "socket",
	  .error = EPROTONOSUPPORT,
	  .args = { FILTER_ARG(0, FILTER_IN, AF_NETLINK),
		    FILTER_ARG(2, FILTER_NOT_IN, NETLINK_ROUTE) },
	  .why = "getaddrinfo needs route netlink; other families are attack surface",
	  .told = SECCOMP_TOLD_DENIAL },

	DENY(bpf, surface),
	DENY(perf_event_open, surface),
	DENY(userfaultfd, surface),
	DENY(add_key, keys),
	DENY(request_key, keys),
	DENY(keyctl, keys),
	DENY(kexec_load, machine),
	DENY(kexec_file_load, machine),
	DENY(init_module, machine),
	DENY(finit_module, machine),
	DENY(delete_module, machine),
	DENY(create_module, machine),
	DENY(query_module, machine),
	DENY(get_kernel_syms, machine),
	DENY(mount, mounts),
	DENY(umount2, mounts),
	DENY(pivot_root, mounts),
	DENY(chroot, mounts),
	DENY(open_tree, mounts),
	DENY_NUMBER(open_tree_attr, 467, mounts),
	DENY(move_mount, mounts),
	DENY(fsopen, mounts),
	DENY(fsconfig, mounts),
	DENY(fsmount, mounts),
	DENY(fspick, mounts),
	DENY(mount_setattr, mounts),
	DENY(setns, nested),
	DENY(swapon, machine),
	DENY(swapoff, machine),
	DENY(reboot, machine),
	DENY(acct, machine),
	DENY(syslog, "the kernel log holds addresses and other users' names"),
	DENY(quotactl, machine),
	DENY(quotactl_fd, machine),
	DENY(open_by_handle_at, "opens files by handle, on any mount"),
	DENY(iopl, machine),
	DENY(ioperm, machine),
	DENY(settimeofday, machine),
	DENY(clock_settime, machine),
	DENY(vhangup, "hangs up the terminal for every process on it"),
	DENY(nfsservctl, machine),
	DENY(lookup_dcookie, surface),
	DENY(fanotify_init, surface),
	DENY(pidfd_getfd, "takes descriptors out of another process"),
	DENY(kcmp, spying),
	DENY(process_vm_readv, spying),
	DENY(process_vm_writev, spying),
	DENY(process_madvise, spying),
	/* init is protected from the calls of this kind that change its scheduling (INIT_CAPS). */
	{ .name = "prlimit64",
	  .error = EPERM,
	  .args = { FILTER_ARG(0, FILTER_NOT_IN, 0) },
	  .why = "changes the limits of init, which has the command's ids",
	  .told = SECCOMP_TOLD_DENIAL },
	DENY(sethostname, machine),
	DENY(setdomainname, machine),
	DENY(modify_ldt, surface),
	{ .name = "clone",
	  .error = EPERM,
	  .args = { FILTER_ARG(0, FILTER_HAS, NAMESPACE_FLAGS) },
	  .why = nested,
	  .told = SECCOMP_TOLD_DENIAL },
	{ .name = "clone",
	  .error = EPERM,
	  .args = { FILTER_ARG(0, FILTER_HAS, CLONE_PTRACE) },
	  .why = "makes the tracer of a parent process trace the child; that may be the gate",
	  .told = SECCOMP_TOLD_DENIAL },
	{ .name = "unshare",
	  .error = EPERM,
	  .args = { FILTER_ARG(0, FILTER_HAS, NAMESPACE_FLAGS) },
	  .why = nested,
	  .told = SECCOMP_TOLD_DENIAL },

	DENY_SET_IDS(chmod, 0, FILTER_ARG(1, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(fchmod, 0, FILTER_ARG(1, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(fchmodat, 0, FILTER_ARG(2, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(fchmodat2, 452, FILTER_ARG(2, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(mknod, 0, FILTER_ARG(1, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(mknodat, 0, FILTER_ARG(2, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(creat, 0, FILTER_ARG(1, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(open, 0, FILTER_ARG(1, FILTER_HAS, MAKES_FILE),
		     FILTER_ARG(2, FILTER_HAS, SET_IDS)),
	DENY_SET_IDS(openat, 0, FILTER_ARG(2, FILTER_HAS, MAKES_FILE),
		     FILTER_ARG(3, FILTER_HAS, SET_IDS)),
	ABSENT(openat2, "its mode is in memory, which the filter cannot read; every user falls "
			"back to openat"),

	ABSENT(clone3, "its flags are in memory, which the filter cannot read; every libc falls "
		       "back to clone"),
	ABSENT(io_uring_setup, ring),
	ABSENT(io_uring_enter, ring),
	ABSENT(io_uring_register, ring),

	{ .name = "ioctl",
	  .error = EPERM,
	  .args = { FILTER_ARG(1, FILTER_IN, TIOCSTI, TIOCLINUX, TIOCSETD) },
	  .why = "types into the user's terminal, or loads its line disciplines",
	  .told = SECCOMP_TOLD_DENIAL },
	/* An open(2) of the file outside blocks for up to 45 s until the lease is broken. */
	{ .name = "fcntl",
	  .error = EINVAL,
	  .args = { FILTER_ARG(1, FILTER_IN, F_SETLEASE, F_SETDELEG),
		    FILTER_ARG(2, FILTER_NOT_IN, F_UNLCK) },
	  .why = "a lease blocks the user's other programs, even on read-only files" },
	{ .name = "fcntl",
	  .error = EINVAL,
	  .args = { FILTER_ARG(1, FILTER_IN, F_NOTIFY) },
	  .why = "kernel attack surface that no command needs" },
	/* PER_LINUX, PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE (for debuggers), and the query. */
	{ .name = "personality",
	  .error = EPERM,
	  .args = { FILTER_ARG(0, FILTER_NOT_IN, 0, 8, 0x20000, 0x40000, 0xffffffff) },
	  .why = "old personalities weaken address space randomization",
	  .told = SECCOMP_TOLD_DENIAL },
	/* init's thread `wall` makes these calls in the command's place (exec/init/wall.h): address
	 * family and name are in memory, which the filter cannot read. For a message, whether it
	 * has a name is in memory too. send(2) is sendto(2) without a name. */
	{ .name = "connect", .told = SECCOMP_TOLD_ADDRESS, .why = names },
	{ .name = "sendto",
	  .args = { FILTER_ARG(5, FILTER_NOT_IN, 0) },
	  .told = SECCOMP_TOLD_ADDRESS,
	  .why = names },
	{ .name = "sendmsg", .told = SECCOMP_TOLD_ADDRESS, .why = names },
	{ .name = "sendmmsg", .told = SECCOMP_TOLD_ADDRESS, .why = names },
	/* ptrace stays allowed: the command's own pid and user namespace bound it, and leak
	 * checkers and debuggers need it. */
};

const struct filter filter_command = {
	.name = "command",
	.default_error = 0,
	.rules = rules,
	.count = sizeof(rules) / sizeof(rules[0]),
};
