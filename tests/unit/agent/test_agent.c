#include "tests/unit/agent/test_agent.h"

#include <stdlib.h>

int main(void)
{
	Suite *suite = suite_create("agent");

	suite_add_tcase(suite, test_acp());
	suite_add_tcase(suite, test_channel());
	suite_add_tcase(suite, test_fields());
	suite_add_tcase(suite, test_mcp());
	suite_add_tcase(suite, test_piece());
	suite_add_tcase(suite, test_rpc());
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
