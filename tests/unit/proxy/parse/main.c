#include <stdlib.h>

#include "tests/unit/proxy/parse/parse_test.h"

int main(void)
{
	Suite *suite = suite_create("parse");

	suite_add_tcase(suite, socks5_cases());
	suite_add_tcase(suite, hello_cases());
	suite_add_tcase(suite, handshake_cases());
	suite_add_tcase(suite, dns_cases());
	suite_add_tcase(suite, packet_cases());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
