#include "tests/unit/gateway/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

#define HOST  "https://a.test:443"
#define CROWD 10000

static struct fixture_request *submit_many_to(const char *destination, size_t count)
{
	struct fixture_request *requests = mem_new_array(count, sizeof(*requests));

	for (size_t i = 0; i < count; i++)
		fixture_submit(&requests[i], destination, FIXTURE_EXEC + i % 2);
	fixture_settle();
	return requests;
}

static struct fixture_request *submit_many(size_t count)
{
	return submit_many_to(HOST, count);
}

START_TEST(ten_thousand_wait_on_one_question_and_are_released_together)
{
	fixture_open(NULL);
	auto_free struct fixture_request *requests = submit_many(CROWD);

	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, CROWD);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	for (size_t i = 0; i < CROWD; i++)
		fixture_expect(&requests[i], POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(fixture_count_records("decision", "granted_once"), CROWD);
	fixture_close();
}
END_TEST

START_TEST(one_more_than_may_wait_is_overload)
{
	struct fixture_request more = { 0 };

	fixture_prepare(NULL);
	fixture.config.audit_path = NULL;
	fixture_start();
	auto_free struct fixture_request *requests = submit_many(GATEWAY_WAITERS_MAX);

	ck_assert_uint_eq(fixture.approver.last.waiting, GATEWAY_WAITERS_MAX);
	fixture_ask(&more, HOST, FIXTURE_EXEC);
	fixture_expect(&more, POLICY_DENY, POLICY_OVERLOADED);
	gateway_withdraw(requests[7].ticket);
	more = (struct fixture_request){ 0 };
	fixture_ask(&more, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(more.told, 0);
	gateway_client_free(fixture.client); /* all of them at once */
	fixture.client = NULL;
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	fixture_close();
}
END_TEST

START_TEST(one_more_than_may_wait_in_all_is_overload)
{
	struct fixture_request more = { 0 };

	fixture_prepare(NULL);
	fixture.config.audit_path = NULL;
	fixture_start();
	auto_free struct fixture_request *first = submit_many(GATEWAY_WAITERS_MAX);
	auto_free struct fixture_request *second =
		submit_many_to("https://b.test:443", GATEWAY_WAITING_MAX - GATEWAY_WAITERS_MAX);

	ck_assert_uint_eq(first[0].told + second[0].told, 0);
	fixture_ask(&more, "https://c.test:443", FIXTURE_EXEC);
	fixture_expect(&more, POLICY_DENY, POLICY_OVERLOADED);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0); /* the second */
	more = (struct fixture_request){ 0 };
	fixture_ask(&more, "https://c.test:443", FIXTURE_EXEC);
	ck_assert_uint_eq(more.told, 0);
	fixture_close();
}
END_TEST

/* From many commands, and for as many domains: no flood guard is in the way. */
START_TEST(one_more_than_may_be_open_is_overload)
{
	enum { EXECS = 64, FIRST = 100 };
	auto_free struct fixture_request *requests =
		mem_new_array(GATEWAY_QUESTIONS_MAX + 2, sizeof(*requests));

	fixture_open(NULL);
	for (uint64_t exec = 0; exec < EXECS; exec++)
		gateway_exec_begin(fixture.gw, FIRST + exec, "npm ci");
	for (int i = 0; i <= GATEWAY_QUESTIONS_MAX; i++) {
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		fixture_submit(&requests[i], destination, FIRST + (uint64_t)i % EXECS);
	}
	fixture_settle();
	fixture_expect(&requests[GATEWAY_QUESTIONS_MAX], POLICY_DENY, POLICY_OVERLOADED);
	ck_assert_uint_eq(fixture.approver.asked, GATEWAY_QUESTIONS_MAX);
	/* One that is open can still be joined. */
	fixture_ask(&requests[GATEWAY_QUESTIONS_MAX + 1], "https://h7.test:443", FIRST);
	ck_assert_uint_eq(requests[GATEWAY_QUESTIONS_MAX + 1].told, 0);
	for (uint64_t exec = 0; exec < EXECS; exec++)
		gateway_exec_end(fixture.gw, FIRST + exec, 0);
	fixture_settle();
	for (int i = 0; i < GATEWAY_QUESTIONS_MAX; i++)
		fixture_expect(&requests[i], POLICY_DENY, POLICY_EXEC_ENDED);
	fixture_close();
}
END_TEST

START_TEST(more_commands_wait_than_are_shown)
{
	struct fixture_request requests[12] = { 0 };

	fixture_open(NULL);
	for (uint64_t i = 0; i < 12; i++) {
		if (i >= 2)
			gateway_exec_begin(fixture.gw, 10 + i, "another");
		fixture_ask(&requests[i], HOST, i < 2 ? i + 1 : 10 + i);
	}
	ck_assert_uint_eq(fixture.approver.last.command_count, 12);
	ck_assert_ptr_nonnull(fixture.approver.last.commands[APPROVER_COMMANDS_MAX - 1]);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_EXEC), 0);
	for (int i = 0; i < 12; i++)
		fixture_expect(&requests[i], POLICY_ALLOW, POLICY_GRANTED_EXEC);
	fixture_close();
}
END_TEST

START_TEST(news_of_a_crowd_is_told_once_a_turn)
{
	struct fixture_request first = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	auto_free struct fixture_request *requests = submit_many(200);

	ck_assert_uint_eq(requests[199].told, 0);
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.changed, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 201);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_close();
}
END_TEST

static void submit_again(struct fixture_request *self)
{
	if (self->told < 3)
		fixture_submit(self, HOST, FIXTURE_EXEC);
}

/* A client that tries again from inside the callback waits its turn, and finds what was remembered.
 */
START_TEST(a_retry_from_the_callback_is_a_request_of_its_own)
{
	struct fixture_request request = { .also = submit_again };

	fixture_open(NULL);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_SESSION), 0);
	ck_assert_uint_eq(request.told, 3);
	ck_assert_int_eq(request.verdict.reason, POLICY_DENIED_SESSION);
	ck_assert_uint_eq(fixture.approver.asked, 1);
	fixture_close();
}
END_TEST

Suite *suite_crowd(void)
{
	Suite *suite = suite_create("crowd");
	TCase *tcase = tcase_create("crowd");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, ten_thousand_wait_on_one_question_and_are_released_together);
	tcase_add_test(tcase, one_more_than_may_wait_is_overload);
	tcase_add_test(tcase, one_more_than_may_wait_in_all_is_overload);
	tcase_add_test(tcase, one_more_than_may_be_open_is_overload);
	tcase_add_test(tcase, more_commands_wait_than_are_shown);
	tcase_add_test(tcase, news_of_a_crowd_is_told_once_a_turn);
	tcase_add_test(tcase, a_retry_from_the_callback_is_a_request_of_its_own);
	suite_add_tcase(suite, tcase);
	return suite;
}
