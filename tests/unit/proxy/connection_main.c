#include <stdlib.h>

#include "tests/unit/proxy/rig.h"

int main(void)
{
	static TCase *(*const cases[])(void) = {
		test_body,     test_own,         test_cut,     test_rewrite,    test_refusal,
		test_exchange, test_upstream,    test_refused, test_held,       test_tunnel,
		test_fixed,    test_association, test_flow,    test_socks5,     test_slow,
		test_way,      test_seen,        test_limits,  test_nameserver, test_published,
		test_service,
	};
	Suite *suite = suite_create("proxy");
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		suite_add_tcase(suite, cases[i]());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
