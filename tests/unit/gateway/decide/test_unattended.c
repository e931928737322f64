/* Unanswered questions are noted in the run's bundle. */
#include <string.h>

#include "base/mem.h"
#include "gateway/bundle/bundle.h"
#include "gateway/gateway_guests.h"
#include "tests/unit/gateway/fixture.h"

static struct bundle *bundle;

static void open_with(bool is_attached)
{
	fixture_prepare("deny c.test");
	bundle = bundle_new();
	fixture.config.bundle = bundle;
	fixture_start();
	fixture.approver.is_attached = is_attached;
}

static void close_with(void)
{
	fixture_close();
	bundle_free(bundle);
}

START_TEST(without_an_approver_it_is_noted)
{
	struct fixture_request requests[4] = { 0 };

	open_with(false);
	fixture_ask(&requests[0], "a.test", FIXTURE_EXEC);
	fixture_ask(&requests[1], "a.test", FIXTURE_EXEC);
	fixture_ask(&requests[2], "c.test", FIXTURE_EXEC);
	fixture_ask(&requests[3], "b.test:80", FIXTURE_EXEC_TWO);
	fixture_expect(&requests[0], POLICY_DENY, POLICY_NO_APPROVER);
	fixture_expect(&requests[2], POLICY_DENY, POLICY_RULE_DENY);
	ck_assert_uint_eq(bundle_count(bundle), 2);
	ck_assert_str_eq(bundle_look(bundle, 0)->dst.host, "b.test");
	ck_assert_uint_eq(bundle_look(bundle, 1)->count, 2);
	ck_assert_uint_eq(bundle_look(bundle, 1)->runs, 1);
	ck_assert_str_ne(bundle_look(bundle, 1)->commands[0], "");
	close_with();
}
END_TEST

START_TEST(an_answer_is_not_noted)
{
	struct fixture_request request = { 0 };

	open_with(true);
	fixture_ask(&request, "a.test", FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_expect(&request, POLICY_DENY, POLICY_DENIED_ONCE);
	ck_assert_uint_eq(bundle_count(bundle), 0);
	close_with();
}
END_TEST

START_TEST(silence_is_noted)
{
	struct fixture_request gone = { 0 };

	open_with(true);
	fixture_ask(&gone, "a.test", FIXTURE_EXEC);
	ck_assert_uint_eq(bundle_count(bundle), 0);
	fixture.approver.is_attached = false;
	gateway_approvers_changed(fixture.gw);
	fixture_settle();
	fixture_expect(&gone, POLICY_DENY, POLICY_APPROVER_GONE);
	ck_assert_uint_eq(bundle_count(bundle), 1);
	close_with();
}
END_TEST

/* One command does not wait for somebody to come, and what it asked is noted by itself: what others
 * asked is theirs. */
START_TEST(one_command_does_not_wait)
{
	struct fixture_request waits = { 0 }, denied = { 0 }, alone = { 0 }, asked = { 0 };
	struct fixture_request gone = { 0 };
	struct bundle *own = bundle_new();

	fixture_prepare(NULL);
	bundle = bundle_new();
	fixture.config.bundle = bundle;
	fixture.config.patience_ms = -1;
	fixture_start();
	gateway_guest_unattended(fixture.gw, FIXTURE_EXEC_TWO, own, true);
	fixture.approver.is_attached = false;
	fixture_ask(&waits, "a.test", FIXTURE_EXEC);
	fixture_ask(&denied, "a.test", FIXTURE_EXEC_TWO); /* the same question is open */
	fixture_expect(&denied, POLICY_DENY, POLICY_NO_APPROVER);
	fixture_ask(&alone, "b.test", FIXTURE_EXEC_TWO);
	fixture_expect(&alone, POLICY_DENY, POLICY_NO_APPROVER);
	ck_assert_uint_eq(waits.told, 0);
	ck_assert_uint_eq(bundle_count(own), 2);
	ck_assert_uint_eq(bundle_count(bundle), 2);
	fixture.approver.is_attached = true;
	fixture_ask(&asked, "a.test", FIXTURE_EXEC_TWO);
	fixture_ask(&gone, "c.test", FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(asked.told + gone.told, 0);
	fixture.approver.is_attached = false;
	gateway_approvers_changed(fixture.gw);
	fixture_settle();
	fixture_expect(&asked, POLICY_DENY, POLICY_APPROVER_GONE);
	fixture_expect(&gone, POLICY_DENY, POLICY_APPROVER_GONE);
	ck_assert_uint_eq(waits.told, 0);
	ck_assert_uint_eq(bundle_count(own), 3);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC_TWO, 0);
	bundle_free(own);
	gateway_withdraw(waits.ticket);
	close_with();
}
END_TEST

Suite *suite_unattended(void)
{
	Suite *suite = suite_create("unattended");
	TCase *tcase = tcase_create("unattended");

	tcase_add_test(tcase, without_an_approver_it_is_noted);
	tcase_add_test(tcase, an_answer_is_not_noted);
	tcase_add_test(tcase, silence_is_noted);
	tcase_add_test(tcase, one_command_does_not_wait);
	suite_add_tcase(suite, tcase);
	return suite;
}
