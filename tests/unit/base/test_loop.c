#include "tests/unit/base/test_base.h"

#include "base/loop.h"

static void count(void *arg)
{
	(*(int *)arg)++;
}

START_TEST(fake_clock_fires_in_order)
{
	struct loop *loop = loop_new_fake();
	struct loop_timer early = { 0 }, late = { 0 };
	int first = 0, second = 0;

	loop_timer_start(loop, &late, 100, count, &second);
	loop_timer_start(loop, &early, 10, count, &first);
	loop_advance(loop, 9);
	ck_assert_int_eq(first, 0);
	loop_advance(loop, 1);
	ck_assert_int_eq(first, 1);
	ck_assert_int_eq(second, 0);
	loop_timer_stop(&late);
	loop_advance(loop, 1000);
	ck_assert_int_eq(second, 0);
	loop_free(loop);
}
END_TEST

START_TEST(deferred_runs_later)
{
	for (int fake = 0; fake < 2; fake++) {
		struct loop *loop = fake ? loop_new_fake() : loop_new();
		struct loop_timer task = { 0 };
		int ran = 0;

		loop_defer(loop, &task, count, &ran);
		ck_assert_int_eq(ran, 0);
		loop_step(loop);
		ck_assert_int_eq(ran, 1);
		loop_defer(loop, &task, count, &ran);
		loop_timer_stop(&task);
		loop_step(loop);
		ck_assert_int_eq(ran, 1);
		loop_free(loop);
	}
}
END_TEST

TCase *test_loop(void)
{
	TCase *tcase = tcase_create("loop");

	tcase_add_test(tcase, fake_clock_fires_in_order);
	tcase_add_test(tcase, deferred_runs_later);
	return tcase;
}
