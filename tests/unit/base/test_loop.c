#include "tests/unit/base/test_base.h"

#include <unistd.h>

#include "base/fd.h"
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

struct busy {
	struct loop *loop;
	struct loop_timer task;
	int other; /* the end of a pipe */
};

static void on_other(evutil_socket_t fd, short what, void *arg)
{
	const struct busy *busy = arg;

	loop_stop(busy->loop);
}

/* Has work without end. */
static void work(void *arg)
{
	struct busy *busy = arg;

	if (busy->other >= 0)
		(void)close(fd_take(&busy->other));
	loop_defer(busy->loop, &busy->task, work, busy);
}

START_TEST(a_task_that_goes_on_delays_no_event)
{
	struct busy busy = { .loop = loop_new() };
	struct event readable;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	busy.other = ends[1];
	event_assign(&readable, loop_base(busy.loop), ends[0], EV_READ, on_other, &busy);
	event_add(&readable, NULL);
	loop_defer(busy.loop, &busy.task, work, &busy);
	ck_assert_int_eq(loop_run(busy.loop), 0);
	loop_timer_stop(&busy.task);
	(void)close(ends[0]);
	loop_free(busy.loop);
}
END_TEST

TCase *test_loop(void)
{
	TCase *tcase = tcase_create("loop");

	tcase_add_test(tcase, fake_clock_fires_in_order);
	tcase_add_test(tcase, deferred_runs_later);
	tcase_add_test(tcase, a_task_that_goes_on_delays_no_event);
	return tcase;
}
