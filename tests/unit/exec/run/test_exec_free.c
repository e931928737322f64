#include "tests/unit/exec/test_exec.h"

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/run/exec_rig.h"

/* A callback may free its exec: where, and that nothing is told afterwards. */
enum place { IN_EGRESS, IN_OUTPUT, IN_END, IN_POLL, PLACES };

struct freer {
	struct exec_rig rig;
	enum place place;
	unsigned int calls;
};

static void free_in(struct freer *freer, enum place place)
{
	ck_assert_ptr_nonnull(freer->rig.exec);
	if (freer->place != place)
		return;
	freer->calls++;
	exec_free(freer->rig.exec);
	freer->rig.exec = NULL;
}

static int freeing_egress(int *fds, size_t count, void *arg)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	free_in(arg, IN_EGRESS);
	return 0;
}

static void freeing_output(struct exec *exec, const struct exec_output *output, void *arg)
{
	free_in(arg, IN_OUTPUT);
}

static void freeing_end(struct exec *exec, const struct exec_result *result, void *arg)
{
	free_in(arg, IN_END);
}

static void freeing_poll(struct exec *exec, const struct exec_poll *poll, void *arg)
{
	free_in(arg, IN_POLL);
}

START_TEST(a_callback_may_free_its_job)
{
	static const struct exec_events events = {
		.on_egress = freeing_egress,
		.on_output = freeing_output,
		.on_end = freeing_end,
	};
	static const char *const argv[] = { "sh", "-c", "echo up; exit 3", NULL };
	struct freer freer = { .place = (enum place)_i / RIG_USERS };

	exec_rig_init(&freer.rig, _i % RIG_USERS);
	freer.rig.config.unread_max = 1000;
	freer.rig.rig.config.argv = argv;
	freer.rig.exec = exec_new(freer.rig.rig.loop, &freer.rig.config, &events, &freer);
	ck_assert_int_eq(exec_poll(freer.rig.exec, 60000, 0, freeing_poll, &freer), 0);
	exec_start(freer.rig.exec, &freer.rig.rig.config);
	while (freer.rig.exec)
		exec_rig_turn(&freer.rig);
	for (int i = 0; i < 10; i++)
		loop_step(freer.rig.rig.loop);
	ck_assert_uint_eq(freer.calls, 1);
	exec_rig_done(&freer.rig);
}
END_TEST

START_TEST(a_job_may_be_freed_at_any_moment)
{
	int moment = _i / RIG_USERS % 4;
	struct exec_rig rig;

	exec_rig_init(&rig, _i % RIG_USERS);
	rig.config.io = _i / RIG_USERS / 4 ? EXEC_IO_PTY : EXEC_IO_PIPES;
	exec_rig_new(&rig);
	if (moment >= 1)
		exec_rig_go(&rig, "echo up; exec sleep 1000");
	if (moment >= 2)
		exec_rig_await(&rig, "up");
	if (moment >= 3)
		ck_assert_int_eq(exec_stop(rig.exec, EXEC_CANCELLED, "enough"), 0);
	exec_rig_done(&rig);
	ck_assert(!rig.has_ended);
}
END_TEST

TCase *test_exec_free(void)
{
	TCase *tcase = tcase_create("exec_free");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_callback_may_free_its_job, 0, PLACES * RIG_USERS);
	tcase_add_loop_test(tcase, a_job_may_be_freed_at_any_moment, 0, 8 * RIG_USERS);
	return tcase;
}
