#include "tests/unit/exec/test_exec.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

/* Suites that meson.build runs one by one, so that they run side by side: CK_RUN_SUITE=NAME. */
static TCase *(*const plan[])(void) = {
	test_cgroup, test_egress,  test_env,   test_files, test_lifetime, test_git_config,
	test_memory, test_paths,   test_plan,  test_read,  test_refusal,  test_result,
	test_script, test_sockets, test_stdio, test_view,  test_watch,    NULL,
};
static TCase *(*const runs[])(void) = {
	test_clock,        test_drain,     test_exec_run, test_exec_free,
	test_exec_session, test_exec_stop, test_output,   NULL,
};
static TCase *(*const terminal[])(void) = { test_ansi, test_hold, test_pty, NULL };
static TCase *(*const told[])(void) = { test_inside, test_intercept,      test_listener,
					test_notify, test_notify_network, NULL };

static const struct {
	const char *name;
	TCase *(*const *cases)(void);
} suites[] = {
	{ "exec-plan", plan },
	{ "exec-runs", runs },
	{ "exec-terminal", terminal },
	{ "exec-told", told },
};

int main(void)
{
	SRunner *runner = srunner_create(NULL);

	for (size_t i = 0; i < ARRAY_SIZE(suites); i++) {
		Suite *suite = suite_create(suites[i].name);

		for (size_t j = 0; suites[i].cases[j]; j++)
			suite_add_tcase(suite, suites[i].cases[j]());
		srunner_add_suite(runner, suite);
	}
	srunner_run_all(runner, CK_NORMAL);
	/* A name that is no suite's would run nothing. */
	bool is_good = srunner_ntests_failed(runner) == 0 && srunner_ntests_run(runner) > 0;

	srunner_free(runner);
	return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
