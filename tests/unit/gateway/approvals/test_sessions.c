/* Sessions of a program that contains the gateway: an answer for one does not apply to another. */
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gateway/gateway_agent.h"

#define HOST "https://a.test:443"

static struct {
	size_t count;
	uint64_t id, exec;
	enum gateway_scope scope;
	char text[APPROVER_KEY_MAX];
} seen;

static void note(const struct gateway_grant *grant, void *arg)
{
	(void)arg;
	seen.count++;
	seen.id = grant->id;
	seen.exec = grant->exec;
	seen.scope = grant->scope;
	(void)snprintf(seen.text, sizeof(seen.text), "%s", grant->text);
}

static size_t count_grants(uint64_t session)
{
	memset(&seen, 0, sizeof(seen));
	gateway_session_grants(fixture.gw, session, note, NULL);
	return seen.count;
}

static void open_two(void)
{
	fixture_open(NULL);
	ck_assert_int_eq(gateway_exec_join(fixture.gw, FIXTURE_EXEC, 1, 0), 0);
	ck_assert_int_eq(gateway_exec_join(fixture.gw, FIXTURE_EXEC_TWO, 2, 0), 0);
	ck_assert_int_eq(gateway_exec_join(fixture.gw, 4711, 2, 0), -ENOENT);
}

/* Answers what is asked; the one question there is. */
static void answer(enum policy_action action, enum gateway_scope scope, bool is_wide)
{
	const struct approver_answer given = {
		.action = action, .scope = scope, .by = "ana", .width = { .is_every_port = is_wide }
	};

	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &given, NULL), 0);
	fixture_settle();
}

START_TEST(an_answer_is_its_sessions)
{
	struct fixture_request first = { 0 }, same = { 0 }, other = { 0 };
	enum policy_action action = _i % 2 ? POLICY_DENY : POLICY_ALLOW;

	open_two();
	gateway_exec_begin(fixture.gw, 9, "another of the first");
	ck_assert_int_eq(gateway_exec_join(fixture.gw, 9, 1, 0), 0);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	answer(action, GATEWAY_SESSION, _i >= 2);
	ck_assert_int_eq(first.verdict.action, action);
	fixture_ask(&same, HOST, 9);
	ck_assert_uint_eq(same.told, 1);
	ck_assert_int_eq(same.verdict.action, action);
	fixture_ask(&other, HOST, FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(other.told, 0);
	ck_assert_uint_eq(count_grants(1), 1);
	ck_assert_int_eq(seen.scope, GATEWAY_SESSION);
	ck_assert_uint_eq(count_grants(2), 0);
	fixture_close();
}
END_TEST

/* Both waited, so it is both's; and each ends with its own. */
START_TEST(it_is_for_all_who_waited)
{
	struct fixture_request first = { 0 }, second = { 0 }, later = { 0 };

	open_two();
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&second, HOST, FIXTURE_EXEC_TWO);
	answer(POLICY_ALLOW, GATEWAY_SESSION, false);
	ck_assert_int_eq(first.verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(second.verdict.action, POLICY_ALLOW);
	ck_assert_uint_eq(count_grants(1), 1);
	ck_assert_uint_eq(count_grants(2), 1);
	gateway_session_end(fixture.gw, 1);
	gateway_session_end(fixture.gw, 0);
	fixture_settle();
	ck_assert_uint_eq(count_grants(1), 0);
	ck_assert_uint_eq(count_grants(2), 1);
	fixture_ask(&later, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(later.told, 0);
	fixture_close();
}
END_TEST

/* For always it is for all; for the command, of the session whose command it is. */
START_TEST(what_is_listed)
{
	struct fixture_request first = { 0 };

	open_two();
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	answer(POLICY_ALLOW, GATEWAY_EXEC, false);
	ck_assert_uint_eq(count_grants(1), 1);
	ck_assert_uint_eq(seen.exec, FIXTURE_EXEC);
	ck_assert_str_eq(seen.text, HOST);
	ck_assert_uint_eq(count_grants(2), 0);
	fixture_close();
}
END_TEST

static void no_verdict(const struct policy_verdict *verdict, void *arg)
{
	*(enum policy_action *)arg = verdict->action;
}

START_TEST(a_proposal_of_no_command)
{
	struct fixture_request same = { 0 }, other = { 0 };
	enum policy_action action = POLICY_ASK;
	struct gateway_proposal *proposal;

	open_two();
	proposal = gateway_propose(fixture.gw, 0, HOST, "parts", no_verdict, &action, NULL);
	ck_assert_ptr_nonnull(proposal);
	gateway_proposal_join(proposal, 2);
	fixture_settle();
	answer(POLICY_ALLOW, GATEWAY_SESSION, false);
	ck_assert_int_eq(action, POLICY_ALLOW);
	fixture_ask(&same, HOST, FIXTURE_EXEC_TWO);
	fixture_expect(&same, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_ask(&other, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(other.told, 0);
	fixture_close();
}
END_TEST

START_TEST(taken_back)
{
	struct fixture_request first = { 0 }, later = { 0 };
	enum policy_action action = _i ? POLICY_DENY : POLICY_ALLOW;
	struct err why = { 0 };

	open_two();
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	answer(action, GATEWAY_SESSION, false);
	ck_assert_uint_eq(count_grants(1), 1);
	uint64_t id = seen.id;

	ck_assert_int_eq(gateway_session_revoke(fixture.gw, 2, id, "bob", &why), -ENOENT);
	ck_assert_int_eq(gateway_session_revoke(fixture.gw, 1, id + 1, "bob", &why), -ENOENT);
	if (_i) /* a denial is taken back by who gave it */
		ck_assert_int_eq(gateway_session_revoke(fixture.gw, 1, id, "bob", &why), -EPERM);
	ck_assert_int_eq(gateway_session_revoke(fixture.gw, 1, id, _i ? "ana" : "bob", &why), 0);
	fixture_settle();
	ck_assert_uint_eq(count_grants(1), 0);
	fixture_ask(&later, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(later.told, 0);
	fixture_close();
}
END_TEST

Suite *suite_sessions(void)
{
	Suite *suite = suite_create("sessions");
	TCase *tcase = tcase_create("of a program");

	tcase_add_loop_test(tcase, an_answer_is_its_sessions, 0, 4);
	tcase_add_test(tcase, it_is_for_all_who_waited);
	tcase_add_test(tcase, what_is_listed);
	tcase_add_test(tcase, a_proposal_of_no_command);
	tcase_add_loop_test(tcase, taken_back, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}
