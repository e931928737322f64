/* clock: a stopwatch that can be paused: how long something has run, without the time it had to
 * wait for somebody. The machine's own sleep is not counted (CLOCK_MONOTONIC). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* Plain value; zeroed: not begun, nothing has run. */
struct clock {
	const struct loop *loop;
	int64_t ran_ms;   /* until it last stopped */
	int64_t since_ms; /* when it last went on */
	int64_t begun_ms; /* pauses included */
	int64_t ended_ms;
	unsigned int pauses; /* how many hold it */
	bool has_begun, has_ended;
};

/* Begins to run, unless it is paused already. Once. Keeps @loop, whose time it takes. */
void clock_begin(struct clock *clock, const struct loop *loop);
/* Stops for good; idempotent. */
void clock_end(struct clock *clock);

/* Counted: it goes on with the last resume. A resume without a pause: false, and no effect. */
void clock_pause(struct clock *clock);
bool clock_resume(struct clock *clock);
bool clock_is_paused(const struct clock *clock);

int64_t clock_running_ms(const struct clock *clock);
int64_t clock_total_ms(const struct clock *clock); /* pauses included */
