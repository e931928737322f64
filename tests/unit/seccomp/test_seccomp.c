#include "tests/unit/seccomp/test_seccomp.h"

#include <stdlib.h>

int main(void)
{
	Suite *suite = suite_create("seccomp");

	suite_add_tcase(suite, test_tables());
	suite_add_tcase(suite, test_kernel());
	suite_add_tcase(suite, test_told());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
