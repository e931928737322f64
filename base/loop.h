/* loop: the event loop of a process, its clock and its timers. A fake loop has a clock that only
 * tests move. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <event2/event.h>
#include <event2/event_struct.h>

struct loop;
typedef void (*loop_fn)(void *arg);

/* Returned owned. The real loop uses EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST: never put a dup()ed
 * descriptor into it. */
struct loop *loop_new(void);
/* Timers fire only inside loop_advance(); sockets work as usual through loop_step(). */
struct loop *loop_new_fake(void);
void loop_free(struct loop *loop);

/* Waits for the end of a terminated child by its pidfd, which is taken: in the loop, and in
 * loop_free() for at most LOOP_REAP_MS (a killed process may still be in a device call). @then
 * (NULL: none) runs once, when the child has ended or the time limit has passed. */
#define LOOP_REAP_MS 5000
void loop_reap_then(struct loop *loop, int pidfd, loop_fn then, void *arg);
void loop_reap_child(struct loop *loop, pid_t pid); /* the same, by process number */

/* Borrowed: for event_new(), bufferevents, c-ares glue. */
struct event_base *loop_base(struct loop *loop);

int64_t loop_clock_ms(void);                   /* monotonic; for code without a loop */
int64_t loop_now_ms(const struct loop *loop);  /* monotonic; the fake clock on a fake loop */
int64_t loop_wall_us(const struct loop *loop); /* since the epoch; follows the fake clock */

/* Runs until loop_stop(). */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop);
/* Runs what is ready now, without waiting. For tests. */
void loop_step(struct loop *loop);
/* Fake only: moves the clock, fires what is due, in order, then steps. */
void loop_advance(struct loop *loop, int64_t ms);

/* Embedded in its owner, which stops it before it is freed. Zeroed means stopped. */
struct loop_timer {
	struct event event;
	struct loop *loop;
	loop_fn fn;
	void *arg;
	int64_t due_ms;
	bool is_armed;
	TAILQ_ENTRY(loop_timer) entry; /* the fake's list */
};

/* Arms (or re-arms) for @ms from now, once. Keeps @arg. */
void loop_timer_start(struct loop *loop, struct loop_timer *timer, int64_t ms, loop_fn fn,
		      void *arg);
void loop_timer_stop(struct loop_timer *timer);

/* Runs @fn from the loop, never from inside the caller (docs/STYLE.md, Events, 2). A task is a
 * timer of 0 ms that a fake loop also fires in loop_step(). Stop it with loop_timer_stop(). */
void loop_defer(struct loop *loop, struct loop_timer *task, loop_fn fn, void *arg);
