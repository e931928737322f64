/* clock: a stopwatch that can be paused: it measures how long something has run, without the time
 * it waited for an answer. Suspend of the machine is not counted (CLOCK_MONOTONIC). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* Plain value; zeroed: not started. */
struct clock {
	const struct loop *loop;
	int64_t ran_ms;   /* up to the last pause */
	int64_t since_ms; /* start of the current period */
	int64_t begun_ms; /* pauses included */
	int64_t ended_ms;
	unsigned int pauses; /* open pauses */
	bool has_begun, has_ended;
};

/* Starts running, unless it is paused already. Call it once. Keeps @loop, and uses its time. */
void clock_begin(struct clock *clock, const struct loop *loop);
/* Stops for good; idempotent. */
void clock_end(struct clock *clock);

/* Pauses are counted: the last resume lets it run. A resume without a pause returns false and has
 * no effect. */
void clock_pause(struct clock *clock);
bool clock_resume(struct clock *clock);
bool clock_is_paused(const struct clock *clock);

int64_t clock_running_ms(const struct clock *clock);
int64_t clock_total_ms(const struct clock *clock); /* pauses included */
