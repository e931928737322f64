#include "tests/unit/exec/test_exec.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "exec/run/output.h"

/* A stranger who holds the pipe of a command that is gone, as one outside a sandbox may. The clock
 * is a fake. */
struct drain {
	struct loop *loop;
	struct output output;
	int theirs;
	unsigned int drained;
	bool is_cut;
};

static void on_drain_output(const struct exec_output *output, void *arg)
{
}

static void on_drained(bool is_cut, void *arg)
{
	struct drain *drain = arg;

	drain->drained++;
	drain->is_cut = is_cut;
}

static const struct output_events drain_events = {
	.on_output = on_drain_output,
	.on_drained = on_drained,
};

static void drain_init(struct drain *drain)
{
	static const struct exec_config config = { .tail_max = 1 << 20 };
	int pair[2];

	*drain = (struct drain){ .loop = loop_new_fake() };
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	drain->theirs = pair[1];
	output_init(&drain->output, drain->loop, &config, &drain_events, drain);
	output_read(&drain->output, EXEC_STDOUT, pair[0], false);
}

static void drain_done(struct drain *drain)
{
	output_done(&drain->output);
	fd_close(drain->theirs);
	loop_free(drain->loop);
}

static void say(struct drain *drain)
{
	ck_assert_int_eq(write(drain->theirs, "word\n", 5), 5);
}

START_TEST(a_closed_pipe_ends_at_once)
{
	struct drain drain;

	drain_init(&drain);
	say(&drain);
	fd_close(fd_take(&drain.theirs));
	output_drain(&drain.output);
	ck_assert_uint_eq(drain.drained, 0); /* not inside the call */
	loop_step(drain.loop);
	loop_step(drain.loop);
	ck_assert_uint_eq(drain.drained, 1);
	ck_assert(!drain.is_cut);
	ck_assert_uint_eq(drain.output.keeps[EXEC_STDOUT].head_len, 5);
	drain_done(&drain);
}
END_TEST

START_TEST(a_quiet_stranger_is_not_awaited)
{
	struct drain drain;

	drain_init(&drain);
	output_drain(&drain.output);
	loop_advance(drain.loop, 60);
	say(&drain);
	loop_step(drain.loop);
	loop_advance(drain.loop, 60); /* it was not quiet */
	ck_assert_uint_eq(drain.drained, 0);
	loop_advance(drain.loop, 60);
	ck_assert_uint_eq(drain.drained, 1);
	ck_assert(drain.is_cut);
	ck_assert_uint_eq(drain.output.keeps[EXEC_STDOUT].head_len, 5);
	drain_done(&drain);
}
END_TEST

START_TEST(a_busy_stranger_is_not_awaited_for_long)
{
	struct drain drain;
	size_t said = 0;

	drain_init(&drain);
	output_drain(&drain.output);
	while (!drain.drained && said < 1000) {
		say(&drain);
		said++;
		loop_advance(drain.loop, 50);
	}
	ck_assert_uint_eq(drain.drained, 1);
	ck_assert(drain.is_cut);
	ck_assert_uint_ge(said, 39); /* 2 seconds */
	ck_assert_uint_le(said, 41);
	ck_assert_uint_eq(drain.output.keeps[EXEC_STDOUT].head_len, said * 5);
	drain_done(&drain);
}
END_TEST

/* A loop that was busy elsewhere for long has not looked at the pipe: what is in it is not lost. */
START_TEST(what_is_in_the_pipe_is_read_however_late)
{
	struct drain drain;
	char bytes[60000];

	drain_init(&drain);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 >> 3);
	output_drain(&drain.output);
	ck_assert_int_eq(write(drain.theirs, bytes, sizeof(bytes)), (ssize_t)sizeof(bytes));
	event_del(&drain.output.sources[EXEC_STDOUT].readable);
	loop_advance(drain.loop, 3000);
	ck_assert_uint_eq(drain.drained, 1);
	ck_assert_uint_eq(drain.output.keeps[EXEC_STDOUT].head_len, sizeof(bytes));
	ck_assert_mem_eq(drain.output.keeps[EXEC_STDOUT].head, bytes, sizeof(bytes));
	drain_done(&drain);
}
END_TEST

/* A reader that does not consume does not delay the end either. */
START_TEST(a_window_does_not_delay_the_end)
{
	struct drain drain;

	drain_init(&drain);
	drain.output.window = 2;
	drain.output.is_told = true;
	say(&drain);
	fd_close(fd_take(&drain.theirs));
	loop_step(drain.loop);
	loop_step(drain.loop);
	ck_assert_uint_eq(drain.output.keeps[EXEC_STDOUT].head_len, 2);
	output_drain(&drain.output);
	for (int i = 0; i < 4; i++)
		loop_step(drain.loop); /* no time passes */
	ck_assert_uint_eq(drain.drained, 1);
	ck_assert_uint_eq(drain.output.keeps[EXEC_STDOUT].head_len, 5);
	drain_done(&drain);
}
END_TEST

START_TEST(nothing_is_told_after_closing)
{
	struct drain drain;

	drain_init(&drain);
	say(&drain);
	output_drain(&drain.output);
	output_close(&drain.output);
	output_close(&drain.output);
	loop_advance(drain.loop, 3000);
	ck_assert_uint_eq(drain.drained, 0);
	drain_done(&drain);
}
END_TEST

TCase *test_drain(void)
{
	TCase *tcase = tcase_create("drain");

	tcase_add_test(tcase, a_closed_pipe_ends_at_once);
	tcase_add_test(tcase, a_quiet_stranger_is_not_awaited);
	tcase_add_test(tcase, a_busy_stranger_is_not_awaited_for_long);
	tcase_add_test(tcase, what_is_in_the_pipe_is_read_however_late);
	tcase_add_test(tcase, a_window_does_not_delay_the_end);
	tcase_add_test(tcase, nothing_is_told_after_closing);
	return tcase;
}
