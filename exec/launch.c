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
	int error;
	const char *step;
};

/* What setting up takes: mounts and names, interfaces, the capability sets themselves, and the
 * limit under /proc/sys/user. Ambient, because executing a program drops what is not. */
static const int needed[] = { CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_SETPCAP, CAP_SYS_RESOURCE };

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

__attribute__((no_sanitize("address", "undefined"))) static int run_init(void *arg)
{
	static char *const argv[] = { (char *)(uintptr_t) "sallyport-init", NULL };
	static char *const none[] = { NULL };
	struct handover *handover = arg;

	handover->step = "capabilities";
	if (keep_capabilities() == 0) {
		handover->step = "descriptors";
		if (dup3(handover->control, WIRE_CONTROL_FD, 0) >= 0 &&
		    dup3(handover->plan, WIRE_PLAN_FD, 0) >= 0) {
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
			  NAMESPACES | CLONE_PIDFD | CLONE_VM | CLONE_VFORK | SIGCHLD, handover,
			  &pidfd);
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

int launch_init(int plan_fd, struct launch *ret, struct err *why)
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

	if (r == 0)
		r = move_up(&image);
	if (r < 0)
		return err_errno(why, -r, "cannot copy a descriptor");

	struct handover handover = { .image = image, .control = theirs, .plan = plan };

	r = clone_init(&handover, ret, why);
	if (r < 0)
		return r;
	ret->control = fd_take(&ours);
	return 0;
}
