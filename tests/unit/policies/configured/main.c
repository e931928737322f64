#include <stdlib.h>

#include "tests/unit/policies/configured/configured_test.h"

int main(void)
{
	Suite *suite = suite_create("configured");

	suite_add_tcase(suite, packages_cases());
	suite_add_tcase(suite, sources_cases());
	suite_add_tcase(suite, git_cases());
	suite_add_tcase(suite, formats_cases());
	suite_add_tcase(suite, disk_cases());
	suite_add_tcase(suite, presets_cases());
	suite_add_tcase(suite, asking_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
