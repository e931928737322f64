#include "tests/unit/exec/test_exec.h"

#include <stdlib.h>

int main(void)
{
	Suite *suite = suite_create("exec-sandbox");

	suite_add_tcase(suite, test_changed());
	suite_add_tcase(suite, test_modes());
	suite_add_tcase(suite, test_probe());
	suite_add_tcase(suite, test_program());
	suite_add_tcase(suite, test_sandbox());
	suite_add_tcase(suite, test_unconfined());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
