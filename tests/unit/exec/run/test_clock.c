#include "tests/unit/exec/test_exec.h"

#include "base/loop.h"
#include "base/mem.h"
#include "exec/run/clock.h"

/* b begin, e end, p pause, r resume, digits: so many times 10 ms pass. */
static const struct {
	const char *steps;
	int64_t running_ms, total_ms;
} runs[] = {
	{ "", 0, 0 },
	{ "5", 0, 0 },
	{ "b", 0, 0 },
	{ "b5", 50, 50 },
	{ "3b5", 50, 50 },
	{ "b5e7", 50, 50 },
	{ "b5p3r2", 70, 100 },
	{ "b5p3", 50, 80 },
	{ "b5p3p3r3r1", 60, 150 }, /* the last resume counts */
	{ "b1p1r1p1r1p1r1", 40, 70 },
	{ "b5r3", 80, 80 },     /* a resume too many */
	{ "b5rp3r1", 60, 90 },  /* is not saved up against a pause */
	{ "pb5r2", 20, 70 },    /* paused before it begins */
	{ "b5p3e4r9", 50, 80 }, /* ended while it was paused */
	{ "b5e4p3r2e1", 50, 50 },
	{ "e5", 0, 0 },
};

START_TEST(runs_but_while_it_is_paused)
{
	struct loop *loop = loop_new_fake();
	struct clock clock = { 0 };

	for (const char *step = runs[_i].steps; *step; step++) {
		if (*step == 'b')
			clock_begin(&clock, loop);
		else if (*step == 'e')
			clock_end(&clock);
		else if (*step == 'p')
			clock_pause(&clock);
		else if (*step == 'r')
			(void)clock_resume(&clock);
		else
			loop_advance(loop, (*step - '0') * 10);
	}
	ck_assert_int_eq(clock_running_ms(&clock), runs[_i].running_ms);
	ck_assert_int_eq(clock_total_ms(&clock), runs[_i].total_ms);
	loop_free(loop);
}
END_TEST

START_TEST(says_whether_a_resume_had_a_pause)
{
	struct clock clock = { 0 };

	ck_assert(!clock_resume(&clock));
	clock_pause(&clock);
	clock_pause(&clock);
	ck_assert(clock_resume(&clock));
	ck_assert(clock_is_paused(&clock));
	ck_assert(clock_resume(&clock));
	ck_assert(!clock_is_paused(&clock));
	ck_assert(!clock_resume(&clock));
}
END_TEST

TCase *test_clock(void)
{
	TCase *tcase = tcase_create("clock");

	tcase_add_loop_test(tcase, runs_but_while_it_is_paused, 0, (int)ARRAY_SIZE(runs));
	tcase_add_test(tcase, says_whether_a_resume_had_a_pause);
	return tcase;
}
