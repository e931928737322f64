#include "exec/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
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
#include "exec/image.h"
#include "base/memfd.h"
#include "exec/refusal.h"
#include "exec/wire.h"

/* The child shares our memory until it executes init (CLONE_VFORK holds us meanwhile): copying a
 * gate's page tables would cost more than all of init. So it runs on a stack of its own with every
 * signal blocked, and does nothing but system calls. */

#define STACK_BYTES 16384
#define SAFE_FD     16 /* above what the child puts its own on */

#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

struct handover {
	int image, control, plan;
	int stdio[3];   /* -1: the child keeps ours */
	int namespaces; /* CLONE_NEW*; 0: none, and so no capabilities for init */
	int error;
	const char *step;
};

/* What setting up takes: mounts and names, interfaces, the capability sets themselves, the limit
 * under /proc/sys/user, and the wall's copies of descriptors. Ambient, because executing a program
 * drops what is not. */
static const int needed[] = { CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SETPCAP, CAP_SYS_RESOURCE,
			      CAP_SYS_PTRACE };

__attribute__((no_sanitize("address", "undefined"))) static int keep_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		data[i].inheritable = data[i].permitted;
	if (syscall(SYS_capset, &head, data) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) < 0)
			return -1;
	return 0;
}

/* All of them are above SAFE_FD, so none is written over before it is copied. */
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
	if (handover->namespaces == 0 || keep_capabilities() == 0) {
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

static int clone_init(struct handover *handover, struct launch *ret, struct err *why)
{
	_Alignas(64) char stack[STACK_BYTES];
	sigset_t all, before;
	int pidfd = -1;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = clone(run_init, stack + sizeof(stack),
			  handover->namespaces | CLONE_PIDFD | CLONE_VM | CLONE_VFORK | SIGCHLD,
			  handover, &pidfd);
	int error = errno;

	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return refusal_of_clone(why, error);
	ret->pid = pid;
	ret->pidfd = pidfd;
	if (handover->error == 0)
		return 0;

	siginfo_t ended;

	(void)waitid(P_PIDFD, (id_t)pidfd, &ended, WEXITED); /* it has ended: nothing to wait for */
	fd_close(pidfd);
	ret->pidfd = -1;
	return refusal_of_launch(why, handover->step, handover->error);
}

/* High copies of @stdio; what the child keeps is -1. The caller closes them, also on failure. */
static int copy_stdio(const int *stdio, int copies[3])
{
	for (int fd = 0; fd < 3 && stdio; fd++) {
		copies[fd] = fcntl(stdio[fd], F_DUPFD_CLOEXEC, SAFE_FD);
		if (copies[fd] < 0)
			return -errno;
	}
	return 0;
}

int launch_init(int plan_fd, uint32_t flags, const int *stdio, struct launch *ret, struct err *why)
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
