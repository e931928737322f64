#include <stdlib.h>

#include "tests/unit/exec/orchestrator/rig.h"

int main(void)
{
	Suite *suite = suite_create("orchestrator");

	suite_add_tcase(suite, tables_cases());
	suite_add_tcase(suite, values_cases());
	suite_add_tcase(suite, commands_cases());
	suite_add_tcase(suite, machine_cases());
	suite_add_tcase(suite, retries_cases());
	suite_add_tcase(suite, approvals_cases());
	suite_add_tcase(suite, deciders_cases());
	suite_add_tcase(suite, network_cases());
	suite_add_tcase(suite, judge_cases());
	suite_add_tcase(suite, walks_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
