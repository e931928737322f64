#include "exec/run/clock.h"

#include "base/loop.h"

static bool is_running(const struct clock *clock)
{
	return clock->has_begun && !clock->has_ended && clock->pauses == 0;
}

static void stop(struct clock *clock)
{
	if (is_running(clock))
		clock->ran_ms += loop_now_ms(clock->loop) - clock->since_ms;
}

void clock_begin(struct clock *clock, const struct loop *loop)
{
	clock->loop = loop;
	clock->has_begun = true;
	clock->begun_ms = clock->since_ms = loop_now_ms(loop);
}

void clock_end(struct clock *clock)
{
	if (!clock->has_begun || clock->has_ended)
		return;
	stop(clock);
	clock->ended_ms = loop_now_ms(clock->loop);
	clock->has_ended = true;
}

void clock_pause(struct clock *clock)
{
	stop(clock);
	clock->pauses++;
}

bool clock_resume(struct clock *clock)
{
	if (clock->pauses == 0)
		return false;
	clock->pauses--;
	if (is_running(clock))
		clock->since_ms = loop_now_ms(clock->loop);
	return true;
}

bool clock_is_paused(const struct clock *clock)
{
	return clock->pauses > 0;
}

int64_t clock_running_ms(const struct clock *clock)
{
	int64_t now = is_running(clock) ? loop_now_ms(clock->loop) - clock->since_ms : 0;

	return clock->ran_ms + now;
}

int64_t clock_total_ms(const struct clock *clock)
{
	if (!clock->has_begun)
		return 0;
	return (clock->has_ended ? clock->ended_ms : loop_now_ms(clock->loop)) - clock->begun_ms;
}
