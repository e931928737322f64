#include <stdlib.h>

#include "tests/unit/policies/policies_test.h"

int main(void)
{
	Suite *suite = suite_create("policies");

	suite_add_tcase(suite, agent_cases());
	suite_add_tcase(suite, approvers_cases());
	suite_add_tcase(suite, askers_cases());
	suite_add_tcase(suite, hosts_cases());
	suite_add_tcase(suite, addresses_cases());
	suite_add_tcase(suite, language_cases());
	suite_add_tcase(suite, errors_cases());
	suite_add_tcase(suite, clauses_cases());
	suite_add_tcase(suite, layers_cases());
	suite_add_tcase(suite, layer_files_cases());
	suite_add_tcase(suite, limits_cases());
	suite_add_tcase(suite, decide_cases());
	suite_add_tcase(suite, properties_cases());
	suite_add_tcase(suite, files_cases());
	suite_add_tcase(suite, answers_cases());
	suite_add_tcase(suite, answers_text_cases());
	suite_add_tcase(suite, catalogue_cases());
	suite_add_tcase(suite, diff_cases());
	suite_add_tcase(suite, diff_clauses_cases());
	suite_add_tcase(suite, diff_requests_cases());
	suite_add_tcase(suite, format_cases());
	suite_add_tcase(suite, image_cases());
	suite_add_tcase(suite, commands_cases());
	suite_add_tcase(suite, configured_cases());
	suite_add_tcase(suite, request_cases());
	suite_add_tcase(suite, homograph_cases());
	suite_add_tcase(suite, resembles_cases());
	suite_add_tcase(suite, upstreams_cases());
	suite_add_tcase(suite, protected_cases());
	suite_add_tcase(suite, credentials_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
