#include "tests/unit/base/test_base.h"

#include <stdlib.h>

int main(void)
{
	Suite *suite = suite_create("base");

	suite_add_tcase(suite, test_addr());
	suite_add_tcase(suite, test_digest());
	suite_add_tcase(suite, test_frame());
	suite_add_tcase(suite, test_keeper());
	suite_add_tcase(suite, test_log());
	suite_add_tcase(suite, test_loop());
	suite_add_tcase(suite, test_sign());
	suite_add_tcase(suite, test_text());
	suite_add_tcase(suite, test_watch());
	suite_add_tcase(suite, test_toml());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
