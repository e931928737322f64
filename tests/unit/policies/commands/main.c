#include <stdlib.h>

#include "tests/unit/policies/commands/commands_test.h"

int main(void)
{
	Suite *suite = suite_create("commands");

	suite_add_tcase(suite, rules_cases());
	suite_add_tcase(suite, refused_cases());
	suite_add_tcase(suite, pieces_cases());
	suite_add_tcase(suite, launchers_cases());
	suite_add_tcase(suite, safety_cases());
	suite_add_tcase(suite, dangers_cases());
	suite_add_tcase(suite, programs_cases());
	suite_add_tcase(suite, proposals_cases());
	suite_add_tcase(suite, properties_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
