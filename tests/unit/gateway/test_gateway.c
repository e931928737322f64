#include "tests/unit/gateway/fixture.h"

int main(void)
{
	SRunner *runner = srunner_create(suite_questions());
	int failed;

	srunner_add_suite(runner, suite_endings());
	srunner_add_suite(runner, suite_embedded());
	srunner_add_suite(runner, suite_outcomes());
	srunner_add_suite(runner, suite_permits());
	srunner_add_suite(runner, suite_late());
	srunner_add_suite(runner, suite_touch());
	srunner_add_suite(runner, suite_record());
	srunner_add_suite(runner, suite_copies());
	srunner_add_suite(runner, suite_reviews());
	srunner_add_suite(runner, suite_sessions());
	srunner_add_suite(runner, suite_answers());
	srunner_add_suite(runner, suite_crowd());
	srunner_add_suite(runner, suite_link());
	srunner_add_suite(runner, suite_guests());
	srunner_add_suite(runner, suite_link_frames());
	srunner_add_suite(runner, suite_rings());
	srunner_add_suite(runner, suite_audit());
	srunner_add_suite(runner, suite_batches());
	srunner_add_suite(runner, suite_tampering());
	srunner_add_suite(runner, suite_checkpoint());
	srunner_add_suite(runner, suite_audit_failing());
	srunner_add_suite(runner, suite_audit_segments());
	srunner_add_suite(runner, suite_power_cut());
	srunner_add_suite(runner, suite_small());
	srunner_add_suite(runner, suite_accounts());
	srunner_add_suite(runner, suite_reload());
	srunner_add_suite(runner, suite_who());
	srunner_add_suite(runner, suite_lookups());
	srunner_add_suite(runner, suite_bundle());
	srunner_add_suite(runner, suite_unattended());
	srunner_add_suite(runner, suite_budgets());
	srunner_add_suite(runner, suite_reload());
	srunner_add_suite(runner, suite_widths());
	srunner_add_suite(runner, suite_ledger());
	srunner_add_suite(runner, suite_floods());
	srunner_add_suite(runner, suite_kept());
	srunner_add_suite(runner, suite_keeping());
	srunner_add_suite(runner, suite_reference());
	srunner_add_suite(runner, suite_budgets());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
