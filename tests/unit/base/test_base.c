#include "tests/unit/base/test_base.h"

#include <stdlib.h>

#include "tests/unit/base/http1/http1_test.h"

int main(void)
{
	Suite *suite = suite_create("base");

	suite_add_tcase(suite, test_addr());
	suite_add_tcase(suite, test_digest());
	suite_add_tcase(suite, test_frame());
	suite_add_tcase(suite, test_aside());
	suite_add_tcase(suite, test_helper());
	suite_add_tcase(suite, test_keeper());
	suite_add_tcase(suite, test_log());
	suite_add_tcase(suite, test_loop());
	suite_add_tcase(suite, test_local());
	suite_add_tcase(suite, test_page_head());
	suite_add_tcase(suite, test_page_peer());
	suite_add_tcase(suite, test_replace());
	suite_add_tcase(suite, test_sign());
	suite_add_tcase(suite, test_text());
	suite_add_tcase(suite, test_user());
	suite_add_tcase(suite, test_watch());
	suite_add_tcase(suite, test_toml());
	suite_add_tcase(suite, head_cases());
	suite_add_tcase(suite, target_cases());
	suite_add_tcase(suite, refused_cases());
	suite_add_tcase(suite, response_cases());
	suite_add_tcase(suite, chunked_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
