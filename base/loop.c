#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

/* A process whose end is awaited. */
struct loop_ending {
	int pidfd;
	loop_fn then; /* NULL: nothing */
	void *arg;
	struct event ended;
	LIST_ENTRY(loop_ending) entry;
};

struct loop {
	struct event_base *base;
	LIST_HEAD(loop_endings, loop_ending) endings;
	bool is_fake;
	int64_t fake_ms;
	/* The fake loop's timers by due time; equal times in the order they were set. */
	TAILQ_HEAD(loop_timers, loop_timer) timers;
};

/* After this time of callbacks, the loop looks for new events before it runs the remaining ones: a
 * deferred task that defers itself again would otherwise delay them until its work is done. */
#define TURN_US 2000

#define FAKE_EPOCH_US 1700000000000000LL

/* A libevent message reports a defect of ours; the operator cannot act on it. */
static void loop_log(int severity, const char *message)
{
	log_debug("libevent: %s", message);
}

static struct loop *loop_make(bool is_fake)
{
	static const struct timeval turn = { .tv_usec = TURN_US };
	struct event_config *config = event_config_new();
	struct loop *loop = mem_new(sizeof(*loop));

	if (!config)
		abort();
	event_set_log_callback(loop_log);
	/* Not PRECISE_TIMER: its timerfd would cost one more system call in every turn of the
	 * loop. */
	event_config_set_flag(config,
			      EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_NOLOCK);
	event_config_set_max_dispatch_interval(config, &turn, -1, 0);
	loop->base = event_base_new_with_config(config);
	event_config_free(config);
	if (!loop->base)
		abort(); /* without epoll no part of the program can run */
	loop->is_fake = is_fake;
	loop->fake_ms = 1;
	TAILQ_INIT(&loop->timers);
	LIST_INIT(&loop->endings);
	return loop;
}

struct loop *loop_new(void)
{
	return loop_make(false);
}

struct loop *loop_new_fake(void)
{
	return loop_make(true);
}

/* ECHILD: SIGCHLD is ignored, so the kernel has reaped the child. */
static void loop_bury(struct loop_ending *ending)
{
	siginfo_t how = { 0 };

	(void)waitid(P_PIDFD, (id_t)ending->pidfd, &how, WEXITED | WNOHANG);
	event_del(&ending->ended);
	LIST_REMOVE(ending, entry);
	(void)close(ending->pidfd); /* closing a pidfd cannot fail */
	if (ending->then)
		ending->then(ending->arg);
	free(ending);
}

static void loop_on_ended(evutil_socket_t fd, short what, void *arg)
{
	loop_bury(arg);
}

void loop_reap_then(struct loop *loop, int pidfd, loop_fn then, void *arg)
{
	struct loop_ending *ending = mem_new(sizeof(*ending));

	ending->pidfd = pidfd;
	ending->then = then;
	ending->arg = arg;
	LIST_INSERT_HEAD(&loop->endings, ending, entry);
	event_assign(&ending->ended, loop->base, pidfd, EV_READ, loop_on_ended, ending);
	event_add(&ending->ended, NULL);
}

void loop_reap_child(struct loop *loop, pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0) /* otherwise the kernel has reaped it */
		loop_reap_then(loop, pidfd, NULL, NULL);
}

/* The time limit applies to all of them together. */
static void loop_bury_all(struct loop *loop)
{
	int64_t until = loop_clock_ms() + LOOP_REAP_MS;
	struct loop_ending *ending;

	while ((ending = LIST_FIRST(&loop->endings))) {
		struct pollfd dead = { .fd = ending->pidfd, .events = POLLIN };
		int64_t left = until - loop_clock_ms();

		while (poll(&dead, 1, left > 0 ? (int)left : 0) < 0 && errno == EINTR)
			;
		loop_bury(ending);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	assert(TAILQ_EMPTY(&loop->timers));
	loop_bury_all(loop);
	event_base_free(loop->base);
	free(loop);
}

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

int64_t loop_clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t loop_now_ms(const struct loop *loop)
{
	return loop->is_fake ? loop->fake_ms : loop_clock_ms();
}

int64_t loop_wall_us(const struct loop *loop)
{
	struct timespec now;

	if (loop->is_fake)
		return FAKE_EPOCH_US + loop->fake_ms * 1000;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int loop_run(struct loop *loop)
{
	return event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) < 0 ? -1 : 0;
}

void loop_stop(struct loop *loop)
{
	event_base_loopbreak(loop->base);
}

/* Removes the first timer that is due and returns it; NULL: none is due. */
static struct loop_timer *loop_fake_due(struct loop *loop)
{
	struct loop_timer *timer = TAILQ_FIRST(&loop->timers);

	if (!timer || timer->due_ms > loop->fake_ms)
		return NULL;
	TAILQ_REMOVE(&loop->timers, timer, entry);
	timer->is_armed = false;
	return timer;
}

void loop_step(struct loop *loop)
{
	struct loop_timer *timer;

	event_base_loop(loop->base, EVLOOP_NONBLOCK);
	while (loop->is_fake && (timer = loop_fake_due(loop)))
		timer->fn(timer->arg);
	event_base_loop(loop->base, EVLOOP_NONBLOCK);
}

void loop_advance(struct loop *loop, int64_t ms)
{
	int64_t until = loop->fake_ms + ms;
	const struct loop_timer *first;

	assert(loop->is_fake);
	loop_step(loop);
	while ((first = TAILQ_FIRST(&loop->timers)) && first->due_ms <= until) {
		if (first->due_ms > loop->fake_ms)
			loop->fake_ms = first->due_ms;
		loop_step(loop);
	}
	loop->fake_ms = until;
	loop_step(loop);
}

static void loop_timer_fired(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *timer = arg;

	timer->is_armed = false;
	timer->fn(timer->arg);
}

/* Thousands of timers may share a due time and are armed one after the other, with tasks in front
 * of them: neither case may walk the list. */
static void loop_fake_insert(struct loop *loop, struct loop_timer *timer)
{
	struct loop_timer *last = TAILQ_LAST(&loop->timers, loop_timers);
	struct loop_timer *later = TAILQ_FIRST(&loop->timers);

	if (!last || last->due_ms <= timer->due_ms) {
		TAILQ_INSERT_TAIL(&loop->timers, timer, entry);
		return;
	}
	while (later->due_ms <= timer->due_ms)
		later = TAILQ_NEXT(later, entry);
	TAILQ_INSERT_BEFORE(later, timer, entry);
}

void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t ms, loop_fn fn,
		      void *arg)
{
	struct timeval after = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	assert(ms >= 0);
	loop_timer_stop(timer);
	timer->loop = loop;
	timer->fn = fn;
	timer->arg = arg;
	timer->is_armed = true;
	timer->due_ms = loop_now_ms(loop) + ms;
	if (loop->is_fake) {
		loop_fake_insert(loop, timer);
		return;
	}
	event_assign(&timer->event, loop->base, -1, 0, loop_timer_fired, timer);
	event_add(&timer->event, &after);
}

void loop_timer_stop(struct loop_timer *timer)
{
	if (!timer->is_armed)
		return;
	timer->is_armed = false;
	if (timer->loop->is_fake)
		TAILQ_REMOVE(&timer->loop->timers, timer, entry);
	else
		event_del(&timer->event);
}

void loop_defer(struct loop *loop, struct loop_timer *task, loop_fn fn, void *arg)
{
	if (loop->is_fake) {
		loop_timer_start(loop, task, 0, fn, arg);
		return;
	}
	loop_timer_stop(task);
	task->loop = loop;
	task->fn = fn;
	task->arg = arg;
	task->is_armed = true;
	event_assign(&task->event, loop->base, -1, 0, loop_timer_fired, task);
	event_active(&task->event, EV_TIMEOUT, 0);
}
