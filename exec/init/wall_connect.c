#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"

#include <errno.h>
#include <sys/time.h>

#define ERESTARTSYS 512 /* in the kernel only: the call is repeated after the signal handler */
#define TURN_US     1   /* at most one tick of the kernel's clock */
#define AGAIN_MS    4

/* Sets the deadline of a blocking call from the socket's own time limit. */
static void set_due(struct wall_call *call, const struct timeval *limit)
{
	int64_t ms = (int64_t)limit->tv_sec * 1000 + limit->tv_usec / 1000;

	if (call->due_ms == 0 && (limit->tv_sec != 0 || limit->tv_usec != 0))
		call->due_ms = wall_parked_now_ms() + (ms > 0 ? ms : 1);
}

/* A call that blocks here blocks the wall for all others. So the socket's own time limit is set to
 * a very short one for this call: a command that changes it meanwhile delays only itself. */
static long try_for_a_moment(struct wall_call *call, const struct wall_aim *aim)
{
	const struct timeval moment = { .tv_usec = TURN_US };
	struct timeval limit = { 0 };
	uint32_t len = sizeof(limit);
	long r = sys(getsockopt, call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &len);

	if (r == 0)
		r = sys(setsockopt, call->fd, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof(moment));
	if (r < 0)
		return r;
	r = sys(connect, call->fd, &aim->name, aim->len);
	(void)sys(setsockopt, call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (r != -EAGAIN && r != -EINPROGRESS && r != -EALREADY)
		return r;
	set_due(call, &limit);
	if (call->due_ms != 0 && wall_parked_now_ms() >= call->due_ms)
		return r;
	/* The kernel does not report when a full queue has room again. */
	call->next_ms = r == -EAGAIN ? wall_parked_now_ms() + AGAIN_MS : 0;
	return WALL_PARK;
}

long wall_connect_turn(struct wall *wall, struct wall_call *call)
{
	struct sockaddr_storage given;
	struct wall_aim aim;
	int len = (int)call->args[2];
	long r = call->fd >= 0 ? 0 : wall_task_open(wall, call);

	if (r < 0)
		return r;
	if (len < 0 || (size_t)len > sizeof(given))
		return -EINVAL;
	r = wall_task_read(call, call->args[1], &given, (size_t)len);
	if (r < 0)
		return r;
	r = wall_name_aim(wall, call, &given, (size_t)len, &aim);
	if (r == 0 && !wall_task_is_waiting(wall, call))
		r = -ESRCH; /* the data that was read may belong to another task by now */
	if (r == 0) {
		bool may_block = (call->type == SOCK_STREAM || call->type == SOCK_SEQPACKET) &&
				 (sys(fcntl, call->fd, F_GETFL) & O_NONBLOCK) == 0;

		r = may_block ? try_for_a_moment(call, &aim)
			      : sys(connect, call->fd, &aim.name, aim.len);
	}
	wall_name_done(&aim);
	return r;
}
