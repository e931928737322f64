#include "exec/init/wall.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"
#include "exec/stages/stages.h"
#include "exec/notify/wire_told.h"

#define STACK_BYTES 65536
#define ROOM        512 /* a newer kernel may have longer structs */

/* Linux 6.6. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

static void wait_while(const int *word, int value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
		(void)sys(futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void set(int *word, int value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	(void)sys(futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Answers one call. @passes: the kernel executes it as usual, and @result is ignored. */
static void respond(const struct wall *wall, uint64_t id, long result, bool passes)
{
	union {
		struct seccomp_notif_resp response;
		char room[ROOM];
	} buffer;

	memset(&buffer, 0, sizeof(buffer));
	buffer.response.id = id;
	if (passes)
		buffer.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		buffer.response.error = (int)result;
	else
		buffer.response.val = result;
	(void)wall_task_ask(wall, SECCOMP_IOCTL_NOTIF_SEND, &buffer.response);
}

static void answer(const struct wall *wall, uint64_t id, long result)
{
	respond(wall, id, result, false);
}

static bool is_probing(const struct wall *wall)
{
	return __atomic_load_n(&wall->init->is_probing, __ATOMIC_ACQUIRE);
}

/* The gate answers this call: it knows the call, but its pid namespace is another, so it gets a
 * pidfd of the task. If it does not read, this blocks; only this sandbox is affected, because each
 * has its own wall. */
static void forward(struct wall *wall, const struct seccomp_notif *request, int pidfd, long result,
		    const char *path)
{
	struct wire_told told = { .error = (int32_t)-result, .is_probe = is_probing(wall) };
	struct iovec part = { .iov_base = &told };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	const struct msghdr message = { .msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control.bytes,
					.msg_controllen = sizeof(control.bytes) };
	size_t len = path ? sys_length(path) : 0;

	memcpy(&told.request, request, sizeof(told.request));
	len = len < sizeof(told.path) ? len : 0;
	memcpy(told.path, path ? path : "", len);
	told.path[len] = '\0';
	part.iov_len = offsetof(struct wire_told, path) + len + 1;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &pidfd, sizeof(pidfd));
	if (pidfd < 0 || sys(sendmsg, wall->forward, &message, MSG_NOSIGNAL) < 0)
		respond(wall, request->id, result < 0 ? result : -EACCES,
			request->data.nr == SYS_exit_group); /* an exit is never refused */
}

/* Was the call refused by the sandbox? Any other error is not its doing. */
static bool is_evidence(const struct wall *wall, const struct wall_call *call, long result)
{
	return result < 0 && !is_probing(wall) && wall->forward >= 0 && call->index == 0 &&
	       call->done == 0 &&
	       (wall->init->plan.head->flags & (WIRE_TELL_REFUSED | WIRE_TELL_BRIEF)) != 0 &&
	       result != -EAGAIN && result != -EINPROGRESS && result != -EPIPE &&
	       result != -ESRCH && result != -EALREADY && result >= -133;
}

void wall_finish(struct wall *wall, struct wall_call *call, long result)
{
	struct seccomp_notif request = { .id = call->id, .pid = (unsigned int)call->task };

	request.data.nr = call->number;
	memcpy(request.data.args, call->args, sizeof(call->args));
	if (is_evidence(wall, call, result))
		forward(wall, &request, call->pidfd, result, call->is_refused ? wall->path : NULL);
	else
		answer(wall, call->id, result);
	wall_task_close(wall, call);
}

/* True if the gate wants a report; else the call is only checked for the names it may create. */
static bool is_told(const struct wall *wall, const struct wall_call *call)
{
	uint32_t flags = wall->init->plan.head->flags;

	if (is_probing(wall) && (flags & WIRE_TELL_REFUSED) == 0)
		return false;
	if (wall->is_added)
		return false;
	return (flags & (WIRE_TELL_REFUSED | WIRE_TELL_READS)) != 0 || call->number == SYS_execve ||
	       call->number == SYS_execveat ||
	       ((flags & WIRE_TELL_BRIEF) != 0 && wall_absent_is_read_only(call));
}

static void serve_other(struct wall *wall, const struct seccomp_notif *request,
			struct wall_call *call)
{
	bool is_made = wall_absent_is_made(wall, call);

	if (!is_made && !is_told(wall, call)) {
		respond(wall, call->id, 0, true);
		return;
	}
	call->pidfd = wall->forward >= 0 ? wall_task_pidfd(wall, call) : -1;
	if (is_made) {
		call->is_refused = true;
		wall_finish(wall, call, -EACCES);
		return;
	}
	if (wall_task_is_waiting(wall, call))
		forward(wall, request, call->pidfd, 0, NULL);
	wall_task_close(wall, call);
}

static void serve(struct wall *wall, const struct seccomp_notif *request)
{
	struct wall_call call = { .id = request->id,
				  .task = (int)request->pid,
				  .number = request->data.nr,
				  .pidfd = -1,
				  .fd = -1 };
	long r;

	memcpy(call.args, request->data.args, sizeof(call.args));
	switch (call.number) {
	case SYS_connect:
		r = wall_connect_turn(wall, &call);
		break;
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
		r = wall_send_turn(wall, &call);
		break;
	default:
		serve_other(wall, request, &call);
		return;
	}
	if (r == WALL_PARK && wall_parked_add(wall, &call))
		return;
	wall_finish(wall, &call, r == WALL_PARK ? -ENOBUFS : r);
}

/* Sends the listener, and the socket on which the wall forwards calls, to the gate, if it wants
 * reports. */
static int tell_gate(struct wall *wall)
{
	const struct wire_message message = { .type = WIRE_LISTENER };
	int pair[2];

	wall->forward = -1;
	if (wall->is_added || (wall->init->plan.head->flags & WIRE_TELLS) == 0)
		return 0;
	long r = sys(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);

	if (r < 0)
		return (int)r;
	const int fds[] = { wall->listener, pair[1] };

	wall->forward = pair[0];
	r = init_send(&message, fds, 2);
	(void)sys(close, pair[1]);
	return (int)r;
}

static int set_up(struct wall *wall)
{
	const uint64_t sync = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
	uint32_t len = sizeof(wall->cookie);
	int r = wall_own_init(wall);

	if (r < 0)
		return r;
	wall->has_network = (wall->init->plan.head->flags & WIRE_HOST_NETWORK) == 0;
	wall->is_scoped = wall->init->is_scoped;
	(void)sys(getsockopt, wall->diag, SOL_SOCKET, SO_NETNS_COOKIE, &wall->cookie, &len);
	long own = sys(gettid);

	own = sys(pidfd_open, own, PIDFD_THREAD);
	wall->is_flagged = own >= 0;
	if (own >= 0)
		(void)sys(close, own);
	(void)sys(ioctl, wall->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, &sync);
	return tell_gate(wall);
}

/* For the first command, or for the next one, which is an added one. */
static void clear(struct wall *wall, struct init *init)
{
	memset(wall, 0, offsetof(struct wall, parts));
	wall->init = init;
	wall->is_added = init->walls.count > 0;
	wall->spare_pidfd = -1;
}

/* Else the wall would keep pipes of commands open. */
static void close_all(void)
{
	(void)sys(close_range, 0, WIRE_CONTROL_FD - 1, 0);
	(void)sys(close_range, WIRE_CONTROL_FD + 1, ~0U, 0);
}

/* From here on the thread has its own descriptor table, because init closes its descriptors while
 * it serves, and its own working directory. Only the first one is started with more capabilities
 * than a wall has. */
static void begin(const struct wall *wall)
{
	if ((!wall->is_added && caps_drop(WALL_CAPS) < 0) ||
	    caps_have(WALL_CAPS_USED, WALL_CAPS) < 0 || sys(unshare, CLONE_FILES | CLONE_FS) < 0)
		sys_exit(1);
	close_all();
}

/* A copy of init's descriptor @fd. */
static int copy_of(int fd)
{
	int init = (int)sys(pidfd_open, 1, 0);
	int copy = init < 0 ? init : (int)sys(pidfd_getfd, init, fd, 0);

	if (init >= 0)
		(void)sys(close, init);
	return copy;
}

static void take_listener(struct wall *wall)
{
	struct walls *walls = &wall->init->walls;
	int fd;

	do {
		wait_while(&walls->listener, -1);
		fd = __atomic_exchange_n(&walls->listener, -1, __ATOMIC_ACQ_REL);
	} while (fd < 0); /* another wall was faster */
	/* The one for the next command that is added: only a wall can start it, because init has no
	 * capabilities by then. Without it no command is added. */
	if (__atomic_sub_fetch(&walls->idle, 1, __ATOMIC_ACQ_REL) == 0 &&
	    walls->count <= WIRE_INTO_MAX)
		(void)wall_start(wall->init);
	wall->listener = copy_of(fd);
	if (wall->listener < 0 || sys(chdir, "/proc/thread-self/fd") < 0)
		sys_exit(1);
	set(&walls->taken, fd);
}

/* No task has the filter any more: since Linux 6.12 NOTIF_RECV does not wait then. */
static bool is_over(const struct wall *wall)
{
	const struct timespec now = { 0 };
	struct pollfd listener = { .fd = wall->listener };

	return sys(ppoll, &listener, 1, &now, NULL, SYS_SIGSET_BYTES) == 1 &&
	       (listener.revents & POLLHUP) != 0;
}

/* Until no task has the filter. */
static void serve_all(struct wall *wall)
{
	union {
		struct seccomp_notif request;
		char room[ROOM];
	} buffer;

	for (;;) {
		wall_parked_wait(wall);
		if (wall->is_added && is_over(wall))
			return;
		memset(&buffer, 0, sizeof(buffer));
		long r = sys(ioctl, wall->listener, SECCOMP_IOCTL_NOTIF_RECV, &buffer.request);

		if (r == 0)
			serve(wall, &buffer.request);
		else if (r != -ENOENT && r != -EINTR)
			sys_exit(1);
		else if (r == -ENOENT && is_over(wall))
			return;
	}
}

static void run(void *arg)
{
	struct wall *wall = arg;

	begin(wall);
	for (;;) {
		take_listener(wall);
		if (set_up(wall) < 0)
			sys_exit(1);
		serve_all(wall);
		close_all();
		clear(wall, wall->init);
		(void)__atomic_add_fetch(&wall->init->walls.idle, 1, __ATOMIC_ACQ_REL);
	}
}

int wall_start(struct init *init)
{
	struct wall *wall = init_room(sizeof(*wall));
	char *stack = init_room(STACK_BYTES);
	long r = -ENOMEM;

	if (wall && stack) {
		clear(wall, init);
		(void)__atomic_add_fetch(&init->walls.idle, 1, __ATOMIC_ACQ_REL);
		r = __init_thread(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
					  CLONE_SYSVSEM,
				  stack + STACK_BYTES, run, wall, NULL);
		if (r < 0)
			(void)__atomic_sub_fetch(&init->walls.idle, 1, __ATOMIC_ACQ_REL);
	}
	if (r > 0) {
		init->walls.count++;
		return 0;
	}
	/* The command may have all the processes that there may be: a later call starts it. */
	if (wall)
		(void)sys(munmap, wall, sizeof(*wall));
	if (stack)
		(void)sys(munmap, stack, STACK_BYTES);
	return (int)r;
}

bool wall_is_free(const struct init *init)
{
	return __atomic_load_n(&init->walls.idle, __ATOMIC_ACQUIRE) > 0;
}

/* The process may be killed between the two. */
void wall_hand_over(struct init *init, int listener)
{
	struct walls *walls = &init->whole->walls;

	set(&walls->listener, listener);
	walls->offered = listener;
}

void wall_wait(struct init *init)
{
	struct walls *walls = &init->whole->walls;
	int offered = walls->offered, taken;

	if (offered < 0)
		return;
	while ((taken = __atomic_load_n(&walls->taken, __ATOMIC_ACQUIRE)) != offered)
		(void)sys(futex, &walls->taken, FUTEX_WAIT_PRIVATE, taken, NULL, NULL, 0);
	walls->offered = walls->taken = -1;
	(void)sys(close, offered);
}

void wall_lock(struct init *init, bool is_on)
{
	int *word = &init->walls.sending;

	while (is_on && __atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE) != 0)
		wait_while(word, 1);
	if (!is_on)
		set(word, 0);
}
