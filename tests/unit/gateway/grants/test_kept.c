/* Remembered answers, at their end: an answer that was revoked or used up does not count any more,
 * and the next request is asked about again. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/ledger_impl.h"
#include "policies/policies_tools.h"
#include "tests/unit/gateway/fixture.h"

#define HOST "https://a.example.org:443"

static void answer_now(enum gateway_scope scope, struct approver_width width)
{
	const struct approver_answer answer = {
		.action = POLICY_ALLOW, .scope = scope, .width = width, .by = "ana"
	};

	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &answer, NULL), 0);
}

static void revoke_it(struct fixture_request *self)
{
	struct approver_revoked revoked = { 0 };

	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, NULL), 0);
}

static unsigned int count_told(const struct fixture_request *requests, int count)
{
	unsigned int told = 0;

	for (int i = 0; i < count; i++)
		told += requests[i].told;
	return told;
}

/* It is taken back while it is still on its way to most of those who waited: they have no answer,
 * and least of all one without the limits of the one that was. */
START_TEST(taken_back_on_its_way)
{
	const int count = 4 * GATEWAY_TURN_MAX;
	auto_free struct fixture_request *all = mem_new_array((size_t)count, sizeof(*all));
	unsigned int told;

	fixture_open(NULL);
	for (int i = 0; i < count; i++)
		fixture_submit(&all[i], HOST, FIXTURE_EXEC);
	fixture_settle();
	answer_now(_i ? GATEWAY_EXEC : GATEWAY_SESSION,
		   (struct approver_width){ .upload_max = 4096 });
	all[0].also = revoke_it;
	fixture_settle();
	told = count_told(all, count);
	ck_assert_uint_gt(told, 0);
	ck_assert_uint_le(told, GATEWAY_TURN_MAX);
	ck_assert_uint_eq(fixture.approver.asked, 2);
	ck_assert_uint_eq(fixture.approver.last.waiting, (unsigned int)count - told);
	fixture_close();
}
END_TEST

static void end_it(struct fixture_request *request, uint64_t bytes_up)
{
	const struct gateway_spent needs = { .needs = { [GATEWAY_UP] = true } };

	if (bytes_up > 0)
		ck_assert_int_eq(gateway_spend(request->pass, &needs), 0);
	fixture_settle();
	struct gateway_report report = {
		.facts = fixture_facts(HOST, FIXTURE_EXEC),
		.ticket = request->pass,
		.verdict = request->verdict,
		.closed = POLICY_DONE,
		.bytes_up = bytes_up,
	};

	gateway_report(fixture.client, &report);
	fixture_settle();
}

static void read_answers(struct policy **ret_policy)
{
	struct policy *policy = policy_new();

	policy_set_default(policy, POLICY_ASK);
	ck_assert_int_eq(policy_load_layer(policy, fixture.answers, POLICY_USER), 0);
	ck_assert_int_eq(policy_finish(policy), 0);
	gateway_reload(fixture.gw,
		       &(struct gateway_reload){ .policy = policy, .digest = "", .files = "" });
	fixture_settle();
	policy_free(*ret_policy);
	*ret_policy = policy;
}

/* Its line is out of the file at once, and out of the policy when that was read again, or, where
 * one was being read meanwhile, after that. It allows nothing any more all the while. */
START_TEST(a_kept_answer_that_was_taken_back)
{
	struct fixture_request first = { 0 }, kept = { 0 }, taken[3] = { { 0 } }, again = { 0 };
	struct approver_revoked revoked;

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	answer_now(GATEWAY_ALWAYS, (struct approver_width){ .is_domain = _i });
	fixture_settle();
	read_answers(&fixture.policy);
	fixture_ask(&kept, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(kept.verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, NULL), 0);
	for (int i = 0; i < 3; i++) {
		fixture_ask(&taken[i], HOST, FIXTURE_EXEC);
		ck_assert_uint_eq(taken[i].told, 0);
		if (i < 2) /* by the old policy; by the one without the line; by another */
			read_answers(&fixture.policy);
	}
	ck_assert(TAILQ_EMPTY(&fixture.gw->grants.withdrawn));
	answer_now(GATEWAY_ALWAYS, (struct approver_width){ .is_domain = _i });
	fixture_settle();
	fixture_expect(&taken[0], POLICY_ALLOW, POLICY_GRANTED_ALWAYS);
	read_answers(&fixture.policy);
	fixture_ask(&again, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(again.verdict.action, POLICY_ALLOW);
	fixture_close();
}
END_TEST

/* Somebody says it again before the policy was read: that holds. */
START_TEST(a_kept_answer_that_is_given_again)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };
	struct approver_revoked revoked;

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	answer_now(GATEWAY_ALWAYS, (struct approver_width){ 0 });
	fixture_settle();
	read_answers(&fixture.policy);
	ck_assert_int_eq(gateway_revoke(fixture.gw, 1, "bob", &revoked, NULL), 0);
	fixture_settle();
	end_it(&first, 0);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(second.told, 0);
	answer_now(GATEWAY_ALWAYS, (struct approver_width){ 0 });
	fixture_settle();
	ck_assert_int_eq(second.verdict.action, POLICY_ALLOW);
	fixture_ask(&third, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(third.verdict.action, POLICY_ALLOW);
	fixture_close();
}
END_TEST

static const struct {
	enum gateway_scope scope;
	struct approver_width width;
} budgets[] = {
	{ GATEWAY_SESSION, { .upload_max = 4096 } },
	{ GATEWAY_EXEC, { .upload_max = 4096 } },
	{ GATEWAY_SESSION, { .upload_max = 4096, .is_domain = true } },
	{ GATEWAY_SESSION, { .connections_max = 1 } },
};

/* What is spent is asked about again, and says so; the same answer once more is a budget of its
 * own. What lives by the one before goes on. */
START_TEST(a_spent_budget_is_asked_about)
{
	struct fixture_request requests[4] = { { 0 } };
	struct approver_question question;

	fixture_open(NULL);
	for (int i = 0; i < 4; i++) {
		fixture_ask(&requests[i], HOST, FIXTURE_EXEC);
		ck_assert_uint_eq(requests[i].told, 0);
		ck_assert_uint_eq(fixture.approver.asked, (unsigned int)i + 1);
		ck_assert_int_eq(
			gateway_find_question(fixture.gw, fixture.approver.last.id, &question), 0);
		ck_assert_int_eq(strstr(question.because, "the limit of this answer is reached") !=
					 NULL,
				 i > 0);
		answer_now(budgets[_i].scope, budgets[_i].width);
		fixture_settle();
		ck_assert_int_eq(requests[i].verdict.action, POLICY_ALLOW);
		if (budgets[_i].width.upload_max)
			end_it(&requests[i], 4096);
	}
	ck_assert_uint_ne(requests[0].verdict.limits.account, requests[1].verdict.limits.account);
	ck_assert_uint_eq(fixture_count_records("closed", "revoked"), 0);
	fixture_close();
}
END_TEST

/* Those who waited for it have what it gives, and no more. */
START_TEST(who_waited_shares_the_budget)
{
	struct fixture_request all[3] = { { 0 } }, later = { 0 };

	fixture_open(NULL);
	for (int i = 0; i < 3; i++)
		fixture_submit(&all[i], HOST, FIXTURE_EXEC);
	fixture_settle();
	answer_now(GATEWAY_SESSION, (struct approver_width){ .connections_max = 2 });
	fixture_settle();
	fixture_expect(&all[1], POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_expect(&all[2], POLICY_DENY, POLICY_CONNECTIONS_SPENT);
	/* Once is once, also where something is spent. */
	fixture_ask(&later, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(later.told, 0);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&later, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	ck_assert_uint_eq(later.verdict.limits.connections, 0);
	fixture_close();
}
END_TEST

/* Where the rule that asks has the budget, no answer goes past it, and none is asked for. */
START_TEST(a_rules_budget_is_not_asked_about)
{
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open("ask a.example.org connections 1");
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	answer_now(GATEWAY_SESSION, (struct approver_width){ 0 });
	fixture_settle();
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_CONNECTIONS_SPENT);
	fixture_close();
}
END_TEST

Suite *suite_kept(void)
{
	Suite *suite = suite_create("kept");
	TCase *tcase = tcase_create("kept");

	tcase_add_loop_test(tcase, taken_back_on_its_way, 0, 2);
	tcase_add_loop_test(tcase, a_spent_budget_is_asked_about, 0, (int)ARRAY_SIZE(budgets));
	tcase_add_loop_test(tcase, a_kept_answer_that_was_taken_back, 0, 2);
	tcase_add_test(tcase, a_kept_answer_that_is_given_again);
	tcase_add_test(tcase, who_waited_shares_the_budget);
	tcase_add_test(tcase, a_rules_budget_is_not_asked_about);
	suite_add_tcase(suite, tcase);
	return suite;
}
