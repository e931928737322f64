/* Programs that are judged in separate processes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "exec/orchestrator/orchestrator_judge.h"
#include "tests/unit/exec/orchestrator/rig.h"

#define COUNT 10 /* more than are judged at once */

struct judging {
	struct loop *loop;
	struct orchestrator_judge *judge;
	uint64_t done;  /* a bit for each id */
	uint64_t wrong; /* answered otherwise than expected */
};

/* The words decide: "die" ends the process. */
static int decide(const struct orchestrator_judged *judged, const struct command_opened *opened,
		  struct command_verdict *ret, void *arg)
{
	if (strcmp(judged->argv[0], "die") == 0)
		_exit(0);
	ret->action = strcmp(judged->argv[0], opened->path) == 0 && opened->interpreter &&
				      strcmp(judged->cwd, "/cwd") == 0
			      ? COMMAND_ALLOW
			      : COMMAND_DENY;
	return (int)judged->id;
}

static void on_judged(const struct orchestrator_judged *judged,
		      const struct orchestrator_judgement *judgement, const char *why, void *arg)
{
	struct judging *judging = arg;
	bool dies = strcmp(judged->argv[0], "die") == 0;
	bool is_right = dies ? !judgement && why[0] != '\0'
			     : judgement && judgement->verdict.action == COMMAND_ALLOW &&
					judgement->action == (int)judged->id;

	judging->done |= BIT(judged->id);
	judging->wrong += !is_right;
	if (judging->done == BIT(COUNT) - 1)
		loop_stop(judging->loop);
}

static int add(struct judging *judging, uint64_t id)
{
	const struct exec_program interpreter = { "/bin/sh", 1, 2, NULL };
	const struct exec_program program = { "/bin/x", 1, 3, &interpreter };
	const char *const argv[] = { id % 3 == 2 ? "die" : "/bin/x", "word", NULL };

	return orchestrator_judge_add(judging->judge,
				      &(struct orchestrator_judged){ id, &program, argv, "/cwd" });
}

static void open_judging(struct judging *judging)
{
	*judging = (struct judging){ .loop = loop_new() };
	const struct orchestrator_judge_config config = {
		.loop = judging->loop, .decide = decide, .done = on_judged, .arg = judging
	};

	judging->judge = orchestrator_judge_new(&config);
}

START_TEST(each_has_one_answer)
{
	struct judging judging;

	open_judging(&judging);
	for (uint64_t id = 0; id < COUNT; id++)
		ck_assert_int_eq(add(&judging, id), 0);
	ck_assert_uint_eq(judging.done, 0); /* never from within the call */
	ck_assert_int_eq(loop_run(judging.loop), 0);
	ck_assert_uint_eq(judging.done, BIT(COUNT) - 1);
	ck_assert_uint_eq(judging.wrong, 0);
	orchestrator_judge_free(judging.judge);
	loop_free(judging.loop);
}
END_TEST

/* A process that is killed while it waits is not known to the judge, so its entry stays. */
START_TEST(only_so_many_wait)
{
	struct judging judging;
	uint64_t count = 0;

	open_judging(&judging);
	while (count < 10000 && add(&judging, count) == 0)
		count++;
	ck_assert_uint_eq(count, 256);
	ck_assert_int_eq(add(&judging, count), -EBUSY);
	orchestrator_judge_free(judging.judge);
	ck_assert_uint_eq(judging.done, 0);
	loop_free(judging.loop);
}
END_TEST

TCase *judge_cases(void)
{
	TCase *cases = tcase_create("judge");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, each_has_one_answer);
	tcase_add_test(cases, only_so_many_wait);
	return cases;
}
