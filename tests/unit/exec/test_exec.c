#include "tests/unit/exec/test_exec.h"

#include <stdlib.h>

int main(void)
{
	Suite *suite = suite_create("exec");

	suite_add_tcase(suite, test_ansi());
	suite_add_tcase(suite, test_clock());
	suite_add_tcase(suite, test_drain());
	suite_add_tcase(suite, test_egress());
	suite_add_tcase(suite, test_env());
	suite_add_tcase(suite, test_files());
	suite_add_tcase(suite, test_hold());
	suite_add_tcase(suite, test_intercept());
	suite_add_tcase(suite, test_job());
	suite_add_tcase(suite, test_job_free());
	suite_add_tcase(suite, test_job_session());
	suite_add_tcase(suite, test_job_stop());
	suite_add_tcase(suite, test_lifetime());
	suite_add_tcase(suite, test_notify());
	suite_add_tcase(suite, test_output());
	suite_add_tcase(suite, test_paths());
	suite_add_tcase(suite, test_plan());
	suite_add_tcase(suite, test_script());
	suite_add_tcase(suite, test_pty());
	suite_add_tcase(suite, test_read());
	suite_add_tcase(suite, test_refusal());
	suite_add_tcase(suite, test_result());
	suite_add_tcase(suite, test_sockets());
	suite_add_tcase(suite, test_stdio());
	suite_add_tcase(suite, test_view());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
