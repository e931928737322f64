#include "tests/unit/gateway/fixture.h"

#include <unistd.h>

#define HOST "https://a.test:443"

START_TEST(the_deadline_denies_all_and_nothing_is_remembered)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	loop_advance(fixture.loop, 59000);
	fixture_ask(&second, HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(fixture.approver.last.age_ms, 59000);
	ck_assert_int_eq(fixture.approver.last.left_ms, 1000);
	loop_advance(fixture.loop, 999);
	ck_assert_uint_eq(first.told + second.told, 0);
	loop_advance(fixture.loop, 1);
	fixture_settle();
	fixture_expect(&first, POLICY_DENY, POLICY_PROMPT_TIMEOUT);
	fixture_expect(&second, POLICY_DENY, POLICY_PROMPT_TIMEOUT);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fixture_ask(&third, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	gateway_withdraw(third.ticket);
	ck_assert_int_eq(access(fixture.answers, F_OK), -1);
	fixture_close();
}
END_TEST

START_TEST(an_approver_hears_every_record_and_what_must_be_typed)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, "https://www.a.example.org:443", FIXTURE_EXEC);
	ck_assert_str_eq(fixture.approver.last.typed, "example.org");
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(fixture.approver.heard[SINK_DECISION], 1);
	ck_assert_uint_eq(fixture.approver.heard[SINK_EXEC_START], 2);
	fixture_ask(&second, "tcp://192.0.2.7:22", FIXTURE_EXEC);
	ck_assert_str_eq(fixture.approver.last.typed, "192.0.2.7");
	gateway_withdraw(second.ticket);
	fixture_close();
}
END_TEST

START_TEST(nobody_attached_denies_at_once)
{
	struct fixture_request first = { 0 };

	fixture_open(NULL);
	fixture.approver.is_attached = false;
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_expect(&first, POLICY_DENY, POLICY_NO_APPROVER);
	ck_assert_uint_eq(fixture.approver.asked, 0);
	fixture_close();
}
END_TEST

START_TEST(a_patient_gateway_holds_until_somebody_comes)
{
	struct fixture_request first = { 0 };

	fixture_prepare(NULL);
	fixture.config.patience_ms = -1;
	fixture.approver.is_attached = false;
	fixture_start();
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	gateway_approvers_changed(fixture.gw);
	fixture_settle();
	ck_assert_uint_eq(first.told, 0);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_close();
}
END_TEST

/* An approver that is open already attaches a moment after the start. */
START_TEST(a_gateway_waits_a_moment_for_an_approver)
{
	struct fixture_request first = { 0 }, nobody = { 0 }, late = { 0 };

	fixture_prepare(NULL);
	fixture.config.patience_ms = 1000;
	fixture.approver.is_attached = false;
	fixture_start();
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture.approver.is_attached = true;
	gateway_approvers_changed(fixture.gw);
	fixture_settle();
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture.approver.is_attached = false;
	fixture_ask(&nobody, "https://b.test:443", FIXTURE_EXEC);
	loop_advance(fixture.loop, 900);
	fixture_settle();
	ck_assert_uint_eq(nobody.told, 0);
	loop_advance(fixture.loop, 200);
	fixture_settle();
	fixture_expect(&nobody, POLICY_DENY, POLICY_NO_APPROVER);
	fixture_ask(&late, "https://c.test:443", FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&late, POLICY_DENY, POLICY_NO_APPROVER);
	fixture_close();
}
END_TEST

START_TEST(the_last_approver_gone_denies_at_once)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, "https://b.test:443", FIXTURE_EXEC);
	gateway_approvers_changed(fixture.gw); /* another one went; this one is here */
	fixture_settle();
	ck_assert_uint_eq(first.told, 0);
	fixture.approver.is_attached = false;
	gateway_approvers_changed(fixture.gw);
	ck_assert_uint_eq(first.told, 0);
	fixture_settle();
	fixture_expect(&first, POLICY_DENY, POLICY_APPROVER_GONE);
	fixture_expect(&second, POLICY_DENY, POLICY_APPROVER_GONE);
	fixture_close();
}
END_TEST

START_TEST(the_last_waiter_gone_retracts_the_question)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	gateway_withdraw(first.ticket);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.last.waiting, 1);
	ck_assert_uint_eq(fixture.approver.retracted, 0);
	gateway_withdraw(second.ticket);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fixture_settle();
	ck_assert_uint_eq(first.told + second.told, 0);
	/* A replacement is a question of its own. */
	fixture_ask(&third, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&third, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_close();
}
END_TEST

START_TEST(a_question_withdrawn_before_it_was_put_is_never_put)
{
	struct fixture_request first = { 0 };

	fixture_open(NULL);
	fixture_submit(&first, HOST, FIXTURE_EXEC);
	gateway_withdraw(first.ticket);
	gateway_withdraw(NULL);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked + fixture.approver.retracted + first.told, 0);
	fixture_close();
}
END_TEST

static void withdraw_other(struct fixture_request *self)
{
	struct fixture_request *other = self->also_arg;

	gateway_withdraw(other->ticket);
	other->ticket = NULL;
}

START_TEST(a_ticket_withdrawn_during_the_release_never_calls)
{
	struct fixture_request first = { .also = withdraw_other }, second = { 0 };

	fixture_open(NULL);
	first.also_arg = &second;
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	ck_assert_uint_eq(first.told, 1);
	ck_assert_uint_eq(second.told, 0);
	fixture_close();
}
END_TEST

static void end_exec(struct fixture_request *self)
{
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
}

START_TEST(an_exec_ended_during_the_release_gets_no_allow)
{
	struct fixture_request first = { .also = end_exec }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_expect(&second, POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_close();
}
END_TEST

START_TEST(an_execs_end_denies_its_waiters_and_nobody_elses)
{
	struct fixture_request own = { 0 }, shared = { 0 }, others = { 0 }, late = { 0 };

	fixture_open(NULL);
	fixture_ask(&own, "https://own.test:443", FIXTURE_EXEC);
	fixture_ask(&shared, HOST, FIXTURE_EXEC);
	fixture_ask(&others, HOST, FIXTURE_EXEC_TWO);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 3);
	fixture_settle();
	fixture_expect(&own, POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_expect(&shared, POLICY_DENY, POLICY_EXEC_ENDED);
	ck_assert_uint_eq(others.told, 0);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 1);
	ck_assert_uint_eq(fixture.approver.last.command_count, 1);
	fixture_ask(&late, HOST, FIXTURE_EXEC);
	fixture_expect(&late, POLICY_DENY, POLICY_EXEC_ENDED);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&others, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(fixture_count_records("exec_end", NULL), 1);
	fixture_close();
}
END_TEST

START_TEST(an_unknown_exec_is_denied_without_a_question)
{
	struct fixture_request first = { 0 };

	fixture_open("allow a.test");
	fixture_ask(&first, HOST, 77);
	fixture_expect(&first, POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_close();
}
END_TEST

/* Policy is looked at again when the waiters are released. */
START_TEST(a_denial_written_meanwhile_beats_the_answer)
{
	struct fixture_request first = { 0 };
	struct policy *stricter = policy_new();

	fixture_open(NULL);
	ck_assert_int_eq(
		policy_load_text(stricter, "<new>", "version 1\ndefault ask\ndeny a.test\n"), 0);
	ck_assert_int_eq(policy_finish(stricter), 0);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture.gw->config.policy = stricter;
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_DENY, POLICY_RULE_DENY);
	policy_free(stricter);
	fixture_close();
}
END_TEST

START_TEST(a_denial_is_not_softened_by_a_rule_written_meanwhile)
{
	struct fixture_request first = { 0 };
	struct policy *softer = policy_new();

	fixture_open(NULL);
	ck_assert_int_eq(
		policy_load_text(softer, "<new>", "version 1\ndefault ask\nallow a.test\n"), 0);
	ck_assert_int_eq(policy_finish(softer), 0);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture.gw->config.policy = softer;
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_DENY, POLICY_DENIED_ONCE);
	policy_free(softer);
	fixture_close();
}
END_TEST

START_TEST(a_closing_gateway_denies_who_waits)
{
	struct fixture_request waiting = { 0 }, queued = { 0 }, late = { 0 };

	fixture_open(NULL);
	fixture_ask(&waiting, HOST, FIXTURE_EXEC);
	fixture_submit(&queued, HOST, FIXTURE_EXEC);
	gateway_free(fixture.gw);
	fixture.gw = NULL;
	ck_assert_uint_eq(waiting.told + queued.told, 0);
	fixture_submit(&late, HOST, FIXTURE_EXEC);
	fixture_settle();
	fixture_expect(&waiting, POLICY_DENY, POLICY_GATE_CLOSING);
	fixture_expect(&queued, POLICY_DENY, POLICY_GATE_CLOSING);
	fixture_expect(&late, POLICY_DENY, POLICY_GATE_CLOSING);
	ck_assert_uint_eq(fixture_count_records("decision", "gate_closing"), 2);
	ck_assert_uint_eq(fixture_count_records("end", NULL), 1);
	ck_assert_uint_eq(fixture.approver.closed, 1);
	fixture_close();
}
END_TEST

START_TEST(a_client_that_goes_withdraws_its_tickets)
{
	struct fixture_request first = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	gateway_client_free(fixture.client);
	fixture.client = NULL;
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fixture_settle();
	ck_assert_uint_eq(first.told, 0);
	fixture_close();
}
END_TEST

Suite *suite_endings(void)
{
	Suite *suite = suite_create("endings");
	TCase *ends = tcase_create("how it ends");

	tcase_add_test(ends, the_deadline_denies_all_and_nothing_is_remembered);
	tcase_add_test(ends, nobody_attached_denies_at_once);
	tcase_add_test(ends, an_approver_hears_every_record_and_what_must_be_typed);
	tcase_add_test(ends, a_patient_gateway_holds_until_somebody_comes);
	tcase_add_test(ends, a_gateway_waits_a_moment_for_an_approver);
	tcase_add_test(ends, the_last_approver_gone_denies_at_once);
	tcase_add_test(ends, the_last_waiter_gone_retracts_the_question);
	tcase_add_test(ends, a_question_withdrawn_before_it_was_put_is_never_put);
	tcase_add_test(ends, a_ticket_withdrawn_during_the_release_never_calls);
	tcase_add_test(ends, an_exec_ended_during_the_release_gets_no_allow);
	tcase_add_test(ends, an_execs_end_denies_its_waiters_and_nobody_elses);
	tcase_add_test(ends, an_unknown_exec_is_denied_without_a_question);
	tcase_add_test(ends, a_denial_written_meanwhile_beats_the_answer);
	tcase_add_test(ends, a_denial_is_not_softened_by_a_rule_written_meanwhile);
	tcase_add_test(ends, a_closing_gateway_denies_who_waits);
	tcase_add_test(ends, a_client_that_goes_withdraws_its_tickets);
	suite_add_tcase(suite, ends);
	return suite;
}
