#include "exec/init/sys.h"
#include "exec/init/wall_impl.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#define ERESTARTSYS 512 /* repeated after the signal handler, if that asks for it */
#define LOOK_MS     20  /* interval of checks for tasks that have died or have a signal */

int64_t wall_parked_now_ms(void)
{
	struct timespec now = { 0 };

	(void)sys(clock_gettime, CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool wall_parked_add(struct wall *wall, const struct wall_call *call)
{
	if (wall->parked_count == WALL_PARKED_MAX)
		return false;
	wall->parked[wall->parked_count++] = *call;
	return true;
}

static long turn(struct wall *wall, struct wall_call *call)
{
	return call->number == SYS_connect ? wall_connect_turn(wall, call)
					   : wall_send_turn(wall, call);
}

static long interrupted(const struct wall_call *call)
{
	if (call->number != SYS_connect && call->done > 0)
		return (long)(call->number == SYS_sendmmsg ? call->index : call->done);
	if (call->number == SYS_sendmmsg && call->index > 0)
		return (long)call->index;
	return call->due_ms == 0 ? -ERESTARTSYS : -EINTR;
}

/* True: the call is finished. */
static bool look_after(struct wall *wall, struct wall_call *call, bool is_ready, bool may_wait)
{
	long r = WALL_PARK;

	if (!wall_task_is_waiting(wall, call)) {
		wall_task_close(wall, call);
		return true;
	}
	/* A call whose attempt takes a moment has its turn only if no other had one in this
	 * round. */
	if (is_ready || (may_wait && call->next_ms != 0 && call->next_ms <= wall_parked_now_ms()) ||
	    (call->due_ms != 0 && call->due_ms <= wall_parked_now_ms()))
		r = turn(wall, call);
	if (r == WALL_PARK && wall_task_is_interrupted(wall, call))
		r = interrupted(call);
	if (r == WALL_PARK)
		return false;
	wall_finish(wall, call, r);
	return true;
}

static void look_after_all(struct wall *wall, const struct pollfd *polls)
{
	bool is_ready[WALL_PARKED_MAX], may_wait = true;
	size_t kept = 0;

	for (size_t i = 0; i < wall->parked_count; i++)
		is_ready[i] = polls[i].revents != 0;
	for (size_t i = 0; i < wall->parked_count; i++) {
		struct wall_call call = wall->parked[i];
		int64_t before = call.next_ms;

		if (look_after(wall, &call, is_ready[i], may_wait))
			continue;
		if (call.next_ms != before)
			may_wait = false; /* this round's turn is used */
		wall->parked[kept++] = call;
	}
	wall->parked_count = kept;
}

void wall_parked_wait(struct wall *wall)
{
	struct pollfd polls[WALL_PARKED_MAX + 1];

	/* Before Linux 6.12 the wall of an added command would never see its end in NOTIF_RECV. */
	while (wall->parked_count > 0 || wall->is_added) {
		struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
		size_t count = wall->parked_count;
		int64_t now = wall_parked_now_ms();

		for (size_t i = 0; i < count; i++) {
			const struct wall_call *call = &wall->parked[i];

			polls[i] = (struct pollfd){ .fd = call->next_ms == 0 ? call->fd : -1,
						    .events = POLLOUT };
			if (call->next_ms != 0 && call->next_ms - now < look.tv_nsec / 1000000)
				look.tv_nsec =
					call->next_ms > now ? (call->next_ms - now) * 1000000 : 0;
		}
		polls[count] = (struct pollfd){ .fd = wall->listener, .events = POLLIN };
		long n = sys(ppoll, polls, count + 1, count > 0 ? &look : NULL, NULL,
			     SYS_SIGSET_BYTES);

		if (n < 0 && n != -EINTR)
			sys_exit(1);
		if (n < 0)
			continue;
		look_after_all(wall, polls);
		if (polls[count].revents != 0)
			return;
	}
}
