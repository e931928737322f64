#include "exec/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/memfd.h"
#include "exec/exec_limits.h"
#include "exec/exec_plan.h"
#include "exec/notify/refusal.h"
#include "exec/run/wire.h"
#include "exec/sandbox/cgroup.h"
#include "exec/sandbox/image.h"
#include "exec/sandbox/plan.h"
#include "exec/sandbox/plan_seal.h"

/* The child shares our memory until it executes init (CLONE_VFORK suspends us meanwhile), because
 * copying the gate's page tables would cost more than all of init. So it runs on its own stack with
 * every signal blocked, and makes system calls only. */

#define STACK_BYTES 16384
#define SAFE_FD     16 /* above the descriptors that the child sets */

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

struct handover {
	int image, control, plan;
	int stdio[3];   /* -1: the child keeps ours */
	int namespaces; /* CLONE_NEW*; 0: none, and init gets no capabilities */
	bool has_datagrams;
	int group; /* -1: none */
	int error;
	const char *step;
};

/* The capabilities that the setup needs: for mounts and names, interfaces, the port of the
 * resolver, the capability sets themselves, the limit under /proc/sys/user, and the wall's copies
 * of descriptors; only where datagrams are captured, the last one, for the answers to them. They
 * are ambient, because execve drops all others. */
static const int needed[] = { CAP_SYS_ADMIN,    CAP_NET_ADMIN,  CAP_NET_BIND_SERVICE, CAP_SETPCAP,
			      CAP_SYS_RESOURCE, CAP_SYS_PTRACE, CAP_NET_RAW };

__attribute__((no_sanitize("address", "undefined"))) static int keep_capabilities(
	bool has_datagrams)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].inheritable = data[i].permitted;
	if (syscall(SYS_capset, &head, data) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]) - (has_datagrams ? 0 : 1); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) < 0)
			return -1;
	return 0;
}

/* All of them are above SAFE_FD, so that none is overwritten before it is copied. */
__attribute__((no_sanitize("address", "undefined"))) static int put_descriptors(
	const struct handover *handover)
{
	for (int fd = 0; fd < 3; fd++)
		if (handover->stdio[fd] >= 0 && dup3(handover->stdio[fd], fd, 0) < 0)
			return -1;
	if (dup3(handover->control, WIRE_CONTROL_FD, 0) < 0 ||
	    dup3(handover->plan, WIRE_PLAN_FD, 0) < 0)
		return -1;
	return 0;
}

__attribute__((no_sanitize("address", "undefined"))) static int run_init(void *arg)
{
	static char *const argv[] = { (char *)(uintptr_t) "sallyport-init", NULL };
	static char *const none[] = { NULL };
	struct handover *handover = arg;

	handover->step = "capabilities";
	if (handover->namespaces == 0 || keep_capabilities(handover->has_datagrams) == 0) {
		handover->step = "descriptors";
		if (put_descriptors(handover) == 0) {
			handover->step = "execveat";
			(void)syscall(SYS_execveat, handover->image, "", argv, none, AT_EMPTY_PATH);
		}
	}
	handover->error = errno;
	_exit(125);
}

static int move_up(int *fd)
{
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, SAFE_FD);

	if (moved < 0)
		return -errno;
	fd_close(*fd);
	*fd = moved;
	return 0;
}

/* clone3(2) with a separate stack, on which the child calls @fn(@arg) and exits with its result;
 * the C library has no wrapper for that. Returns the child's pid or -errno. */
long launch_clone(const struct clone_args *args, size_t size, int (*fn)(void *arg), void *arg)
	__attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
	".type launch_clone, %function\n"
	"launch_clone:\n"
#if defined(__x86_64__)
	"endbr64\n"
	"movq %rdx, %r8\n"
	"movq %rcx, %r9\n"
	"movl $435, %eax\n"
	"syscall\n"
	"testq %rax, %rax\n"
	"jz 1f\n"
	"ret\n"
	"1: xorl %ebp, %ebp\n"
	"movq %r9, %rdi\n"
	"call *%r8\n"
	"movl %eax, %edi\n"
	"movl $60, %eax\n"
	"syscall\n"
	"hlt\n"
#elif defined(__aarch64__)
	"bti c\n"
	"mov x9, x2\n"
	"mov x10, x3\n"
	"mov x8, #435\n"
	"svc #0\n"
	"cbz x0, 1f\n"
	"ret\n"
	"1: mov x29, #0\n"
	"mov x30, #0\n"
	"mov x0, x10\n"
	"blr x9\n"
	"mov x8, #93\n"
	"svc #0\n"
	"brk #1\n"
#else
#error "clone3(2) with a stack: add it for this machine"
#endif
	".size launch_clone, . - launch_clone\n"
	".popsection\n");

/* As clone(2). The child starts in the group: moving it later would cost the kernel a grace
 * period. */
static pid_t clone_with(struct handover *handover, char *stack, size_t size, int *ret_pidfd)
{
	const uint64_t flags =
		(uint64_t)handover->namespaces | CLONE_PIDFD | CLONE_VM | CLONE_VFORK;
	const struct clone_args args = {
		.flags = flags | CLONE_INTO_CGROUP,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
		.stack = (uintptr_t)stack,
		.stack_size = size,
		.cgroup = (uint64_t)handover->group,
	};

	if (handover->group < 0)
		return clone(run_init, stack + size, (int)flags | SIGCHLD, handover, ret_pidfd);
	long pid = launch_clone(&args, sizeof(args), run_init, handover);

	if (pid < 0)
		errno = (int)-pid;
	return pid < 0 ? -1 : (pid_t)pid;
}

static int clone_init(struct handover *handover, struct launch *ret, struct err *why)
{
	_Alignas(64) char stack[STACK_BYTES];
	sigset_t all, before;
	int pidfd = -1;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = clone_with(handover, stack, sizeof(stack), &pidfd);
	int error = errno;

	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0 && handover->group >= 0)
		return err_errno(why, EXDEV, "a control group");
	if (pid < 0)
		return refusal_of_clone(why, error);
	ret->pidfd = pidfd;
	if (handover->error == 0)
		return 0;

	siginfo_t ended;

	(void)waitid(P_PIDFD, (id_t)pidfd, &ended,
		     WEXITED); /* it has ended, so this does not block */
	fd_close(pidfd);
	ret->pidfd = -1;
	return refusal_of_launch(why, handover->step, handover->error);
}

/* Copies @stdio to high descriptors; -1 for those the child inherits unchanged. The caller closes
 * them, also on failure. */
static int copy_stdio(const int *stdio, int copies[3])
{
	for (int fd = 0; fd < 3 && stdio; fd++) {
		copies[fd] = fcntl(stdio[fd], F_DUPFD_CLOEXEC, SAFE_FD);
		if (copies[fd] < 0)
			return -errno;
	}
	return 0;
}

static int launch_init(int plan_fd, uint32_t flags, const int *stdio, int group, struct launch *ret,
		       struct err *why)
{
	auto_close int image = memfd_sealed("sallyport-init", MEMFD_PROGRAM, image_start,
					    (uintptr_t)image_end - (uintptr_t)image_start, why);
	int pair[2];

	if (image < 0)
		return image;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(why, errno, "cannot make a socket pair");
	auto_close int ours = pair[0];
	auto_close int theirs = pair[1];
	auto_close int plan = fcntl(plan_fd, F_DUPFD_CLOEXEC, SAFE_FD);
	int r = plan < 0 ? -errno : move_up(&theirs);

	struct handover handover = { .control = theirs, .plan = plan, .stdio = { -1, -1, -1 } };

	if (r == 0)
		r = move_up(&image);
	if (r == 0)
		r = copy_stdio(stdio, handover.stdio);
	handover.image = image;
	handover.group = group;
	handover.has_datagrams = (flags & WIRE_CAPTURE_UDP) != 0;
	ret->is_alone = (flags & WIRE_UNCONFINED) != 0;
	ret->has_egress = (flags & (WIRE_UNCONFINED | WIRE_HOST_NETWORK)) == 0;
	if (!ret->is_alone)
		handover.namespaces = NAMESPACES & ~(ret->has_egress ? 0 : CLONE_NEWNET);
	r = r < 0 ? err_errno(why, -r, "cannot copy a descriptor")
		  : clone_init(&handover, ret, why);
	for (int fd = 0; fd < 3; fd++)
		fd_close(handover.stdio[fd]);
	if (r < 0)
		return r;
	ret->control = fd_take(&ours);
	return 0;
}

/* The command's 0–2 become a pty later, inside: until then they are not connected, in particular
 * not to our terminal. */
static int launch_with_pty(int sealed, uint32_t flags, int group, struct launch *launch,
			   struct err *why)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int stdio[3] = { null, null, null };

	if (null < 0)
		return err_errno(why, errno, "/dev/null");
	return launch_init(sealed, flags, stdio, group, launch, why);
}

static int launch_sealed(const struct plan *plan, const struct exec_plan_config *config,
			 struct launch *launch, struct err *why)
{
	auto_close int sealed = plan_seal(plan, why);
	int group = cgroup_fd(launch->cgroup);

	if (sealed < 0)
		return sealed;
	return config->pty ? launch_with_pty(sealed, plan->flags, group, launch, why)
			   : launch_init(sealed, plan->flags, config->stdio, group, launch, why);
}

int launch_plan(struct plan *plan, const struct exec_plan_config *config, struct launch *ret,
		struct err *why)
{
	bool is_asked = config->limits && config->limits->memory != 0;
	int r = -EXDEV;

	*ret = (struct launch){ .pidfd = -1, .control = -1 };
	if ((plan->flags & WIRE_UNCONFINED) == 0)
		ret->cgroup = cgroup_new(&plan->limits);
	plan->has_group = cgroup_holds_memory(ret->cgroup);
	if (ret->cgroup)
		r = launch_sealed(plan, config, ret, why);
	if (r < 0)
		cgroup_free(take(ret->cgroup));
	if (r == -EXDEV) {
		plan->has_group = false;
		r = launch_sealed(plan, config, ret, why);
	}
	if (r == 0 && is_asked && !plan->has_group)
		log_warn("exec: the limit on memory is measured some times a second, and limits "
			 "what each process may reserve: this user has no control group to divide "
			 "(cgroup v2, with its memory controller); start sallyport by "
			 "`systemd-run --user --scope`");
	return r;
}
