#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST "https://a.test:443"

/* What the answer does to the next request of the same exec, of another, and of a command that
 * starts later. ASK: it is asked. */
static const struct {
	enum policy_action action;
	enum gateway_scope scope;
	enum policy_reason reason;
	enum policy_action same_exec, other_exec, later_exec;
	bool is_kept;
	const char *how;
} answers[] = {
	{ POLICY_ALLOW, GATEWAY_ONCE, POLICY_GRANTED_ONCE, POLICY_ASK, POLICY_ASK, POLICY_ASK,
	  false, "allowed once by ana on tty" },
	{ POLICY_DENY, GATEWAY_ONCE, POLICY_DENIED_ONCE, POLICY_ASK, POLICY_ASK, POLICY_ASK, false,
	  "denied once by ana on tty" },
	{ POLICY_ALLOW, GATEWAY_EXEC, POLICY_GRANTED_EXEC, POLICY_ALLOW, POLICY_ASK, POLICY_ASK,
	  false, "allowed for this command by ana on tty" },
	{ POLICY_DENY, GATEWAY_EXEC, POLICY_DENIED_EXEC, POLICY_DENY, POLICY_ASK, POLICY_ASK, false,
	  "denied for this command by ana on tty" },
	{ POLICY_ALLOW, GATEWAY_SESSION, POLICY_GRANTED_SESSION, POLICY_ALLOW, POLICY_ALLOW,
	  POLICY_ALLOW, false, "allowed for session by ana on tty" },
	{ POLICY_DENY, GATEWAY_SESSION, POLICY_DENIED_SESSION, POLICY_DENY, POLICY_DENY,
	  POLICY_DENY, false, "denied for session by ana on tty" },
	{ POLICY_ALLOW, GATEWAY_ALWAYS, POLICY_GRANTED_ALWAYS, POLICY_ALLOW, POLICY_ALLOW,
	  POLICY_ALLOW, true, "allowed always by ana on tty" },
	{ POLICY_DENY, GATEWAY_ALWAYS, POLICY_DENIED_ALWAYS, POLICY_DENY, POLICY_DENY, POLICY_DENY,
	  true, "denied always by ana on tty" },
};

static void expect_next(uint64_t exec, enum policy_action want, enum policy_reason reason)
{
	struct fixture_request request = { 0 };
	unsigned int asked = fixture.approver.asked;

	fixture_ask(&request, HOST, exec);
	if (want != POLICY_ASK) {
		fixture_expect(&request, want, reason);
		ck_assert_str_eq(request.verdict.by, "ana on tty");
		ck_assert_uint_eq(fixture.approver.asked, asked);
		return;
	}
	ck_assert_uint_eq(request.told, 0);
	ck_assert_uint_eq(fixture.approver.asked, asked + 1);
	gateway_withdraw(request.ticket);
	fixture_settle();
}

START_TEST(an_answer_lasts_as_long_as_it_says)
{
	struct fixture_request first = { 0 }, port = { 0 };
	char kept[512] = "";

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(answers[_i].action, answers[_i].scope), 0);
	fixture_expect(&first, answers[_i].action, answers[_i].reason);
	ck_assert_str_eq(fixture.approver.how, answers[_i].how);
	expect_next(FIXTURE_EXEC, answers[_i].same_exec, answers[_i].reason);
	expect_next(FIXTURE_EXEC_TWO, answers[_i].other_exec, answers[_i].reason);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	gateway_exec_begin(fixture.gw, 3, "third");
	expect_next(3, answers[_i].later_exec, answers[_i].reason);
	/* Never another port. */
	fixture_ask(&port, "tcp://a.test:8443", FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(port.told, 0);
	gateway_withdraw(port.ticket);

	FILE *file = fopen(fixture.answers, "r");

	ck_assert_int_eq(file != NULL, answers[_i].is_kept);
	if (file) {
		ck_assert_uint_gt(fread(kept, 1, sizeof(kept) - 1, file), 0);
		ck_assert_int_eq(fclose(file), 0);
		ck_assert_ptr_nonnull(strstr(kept, answers[_i].action == POLICY_ALLOW
							   ? "answer allow https://a.test:443"
							   : "answer deny https://a.test:443"));
		ck_assert_ptr_nonnull(strstr(kept, "by ana on tty, 2023-11-14T22:13Z, run 7f3a, "
						   "asked by: npm ci"));
	}
	fixture_close();
}
END_TEST

/* An exec's number is not used twice; but if it were, its grants ended with it. */
START_TEST(an_execs_grants_end_with_it)
{
	struct fixture_request first = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_EXEC), 0);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	gateway_exec_begin(fixture.gw, FIXTURE_EXEC, "again");
	expect_next(FIXTURE_EXEC, POLICY_ASK, POLICY_NONE);
	fixture_close();
}
END_TEST

START_TEST(for_this_command_covers_every_command_that_waits)
{
	struct fixture_request requests[2] = { 0 };

	fixture_open(NULL);
	fixture_ask(&requests[0], HOST, FIXTURE_EXEC);
	fixture_ask(&requests[1], HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_EXEC), 0);
	expect_next(FIXTURE_EXEC, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	expect_next(FIXTURE_EXEC_TWO, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	fixture_close();
}
END_TEST

/* A denial for the command stands though the session is allowed afterwards, and the other way
 * round. */
START_TEST(a_remembered_denial_beats_a_remembered_allow)
{
	struct fixture_request requests[2] = { 0 };

	fixture_open(NULL);
	fixture_ask(&requests[0], HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_EXEC), 0);
	fixture_ask(&requests[1], HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	expect_next(FIXTURE_EXEC, POLICY_DENY, POLICY_DENIED_EXEC);
	expect_next(FIXTURE_EXEC_TWO, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_close();
}
END_TEST

START_TEST(a_written_denial_beats_a_remembered_allow)
{
	struct fixture_request first = { 0 }, second = { 0 };
	struct policy *stricter = policy_new();

	fixture_open(NULL);
	ck_assert_int_eq(
		policy_load_text(stricter, "<new>", "version 1\ndefault ask\ndeny a.test\n"), 0);
	ck_assert_int_eq(policy_finish(stricter), 0);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	fixture.gw->config.policy = stricter;
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_RULE_DENY);
	policy_free(stricter);
	fixture_close();
}
END_TEST

START_TEST(abort_denies_and_names_the_commands)
{
	struct fixture_request requests[2] = { 0 };
	struct approver_answer abort_it = { .action = POLICY_DENY, .is_abort = true, .by = "ana" };

	fixture_open(NULL);
	fixture_ask(&requests[0], HOST, FIXTURE_EXEC);
	fixture_ask(&requests[1], HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &abort_it, NULL), 0);
	ck_assert_uint_eq(fixture.aborts, 0); /* never from inside the answer */
	fixture_settle();
	fixture_expect(&requests[0], POLICY_DENY, POLICY_ABORTED);
	fixture_expect(&requests[1], POLICY_DENY, POLICY_ABORTED);
	ck_assert_uint_eq(fixture.aborts, 2);
	ck_assert_str_eq(fixture.approver.how, "aborted by ana");
	expect_next(FIXTURE_EXEC, POLICY_ASK, POLICY_NONE);
	ck_assert_uint_eq(fixture.aborts, 2);
	fixture_close();
}
END_TEST

static const struct approver_answer no_answers[] = {
	{ .action = POLICY_ASK },
	{ .action = (enum policy_action)7 },
	{ .action = POLICY_ALLOW, .scope = (enum gateway_scope)4 },
	{ .action = POLICY_ALLOW, .scope = (enum gateway_scope) - 1 },
	{ .action = POLICY_ALLOW, .is_abort = true },
};

START_TEST(what_is_no_answer_settles_nothing)
{
	struct fixture_request first = { 0 };
	struct err why = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_eq(
		gateway_answer(fixture.gw, fixture.approver.last.id, &no_answers[_i], &why),
		-EINVAL);
	ck_assert_str_ne(why.text, "");
	fixture_settle();
	ck_assert_uint_eq(first.told, 0);
	gateway_withdraw(first.ticket);
	fixture_close();
}
END_TEST

START_TEST(always_without_a_place_to_keep_it_grants_nothing)
{
	struct fixture_request first = { 0 }, second = { 0 };
	const struct approver_answer always = { POLICY_ALLOW, GATEWAY_ALWAYS, false, "ana" };
	struct err why = { 0 };

	fixture_prepare(NULL);
	if (_i == 0)
		fixture.config.answers_path = NULL;
	else
		ck_assert_int_eq(mkdir(fixture.answers, 0700), 0); /* cannot be appended to */
	fixture_start();
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	ck_assert_int_lt(gateway_answer(fixture.gw, fixture.approver.last.id, &always, &why), 0);
	ck_assert_str_ne(why.text, "");
	fixture_settle();
	ck_assert_uint_eq(first.told, 0); /* the question is still open */
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(second.told, 0);
	gateway_withdraw(second.ticket);
	(void)remove(fixture.answers);
	fixture_close();
}
END_TEST

START_TEST(an_answer_that_cannot_be_remembered_settles_nothing)
{
	struct fixture_request first = { 0 };
	size_t count;

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	count = fixture.gw->grants.table.count;
	fixture.gw->grants.table.count = GRANTS_MAX; /* as if */
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_EXEC), -ENOSPC);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ALWAYS), -ENOSPC);
	fixture.gw->grants.table.count = count;
	ck_assert_uint_eq(first.told, 0);
	ck_assert_int_eq(access(fixture.answers, F_OK), -1);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	fixture_close();
}
END_TEST

Suite *suite_answers(void)
{
	Suite *suite = suite_create("answers");
	TCase *tcase = tcase_create("answers");

	tcase_add_loop_test(tcase, an_answer_lasts_as_long_as_it_says, 0,
			    sizeof(answers) / sizeof(answers[0]));
	tcase_add_test(tcase, an_execs_grants_end_with_it);
	tcase_add_test(tcase, for_this_command_covers_every_command_that_waits);
	tcase_add_test(tcase, a_remembered_denial_beats_a_remembered_allow);
	tcase_add_test(tcase, a_written_denial_beats_a_remembered_allow);
	tcase_add_test(tcase, abort_denies_and_names_the_commands);
	tcase_add_loop_test(tcase, what_is_no_answer_settles_nothing, 0,
			    sizeof(no_answers) / sizeof(no_answers[0]));
	tcase_add_loop_test(tcase, always_without_a_place_to_keep_it_grants_nothing, 0, 2);
	tcase_add_test(tcase, an_answer_that_cannot_be_remembered_settles_nothing);
	suite_add_tcase(suite, tcase);
	return suite;
}
