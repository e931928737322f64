#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_warning.h"

#define HOST "https://a.test:443"

static int grant(uint64_t exec, const struct gateway_exec_grant *grant, struct err *why)
{
	int r = gateway_grant_exec(fixture.gw, exec, grant, NULL, why);

	fixture_settle();
	return r;
}

START_TEST(one_command_may_and_the_others_are_asked)
{
	const struct gateway_exec_grant may = { .destination = HOST,
						.by = "ana on chat",
						.words = "to fetch the parts" };
	struct fixture_request first = { 0 }, other = { 0 }, later = { 0 };
	char text[APPROVER_KEY_MAX];

	fixture_open(NULL);
	ck_assert_int_eq(gateway_grant_exec(fixture.gw, FIXTURE_EXEC, &may, text, NULL), 0);
	ck_assert_str_eq(text, HOST);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	ck_assert_str_eq(first.verdict.by, "ana on chat");
	ck_assert_str_eq(first.verdict.because, "to fetch the parts");
	fixture_ask(&other, HOST, FIXTURE_EXEC_TWO);
	ck_assert_uint_eq(other.told, 0);
	ck_assert_uint_eq(fixture_count_records("granted", "granted_exec"), 1);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	gateway_exec_begin(fixture.gw, 9, "npm ci");
	fixture_ask(&later, HOST, 9);
	ck_assert_uint_eq(later.told, 0);
	fixture_close();
}
END_TEST

/* Said for the session: so it is remembered, listed and taken back. */
START_TEST(all_commands_may_where_that_is_said)
{
	const struct gateway_exec_grant may = { .destination = HOST,
						.by = "ana",
						.is_for_session = true };
	struct fixture_request first = { 0 }, other = { 0 }, later = { 0 };

	fixture_open(NULL);
	fixture_ask(&other, HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(grant(FIXTURE_EXEC, &may, NULL), 0);
	fixture_expect(&other, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(fixture_count_records("granted", "granted_session"), 1);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	gateway_exec_begin(fixture.gw, 9, "npm ci");
	fixture_ask(&later, HOST, 9);
	fixture_expect(&later, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_close();
}
END_TEST

/* It waits for it already. */
START_TEST(whoever_waits_is_released)
{
	const struct gateway_exec_grant may = { .destination = HOST, .by = "ana" };
	struct fixture_request first = { 0 }, other = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC);
	fixture_ask(&other, HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(grant(FIXTURE_EXEC, &may, NULL), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	ck_assert_uint_eq(other.told, 0);
	fixture_close();
}
END_TEST

START_TEST(width_is_as_in_an_answer)
{
	const struct gateway_exec_grant may = {
		.destination = HOST,
		.by = "ana",
		.width = { .is_domain = true, .for_s = 60, .connections_max = 2 }
	};
	struct fixture_request requests[4] = { 0 };
	char text[APPROVER_KEY_MAX];

	fixture_open(NULL);
	ck_assert_int_eq(gateway_grant_exec(fixture.gw, FIXTURE_EXEC, &may, text, NULL), 0);
	ck_assert_str_eq(text, "https://**.a.test:443 for 1m connections 2");
	fixture_ask(&requests[0], "https://x.a.test:443", FIXTURE_EXEC);
	fixture_expect(&requests[0], POLICY_ALLOW, POLICY_GRANTED_EXEC);
	loop_advance(fixture.loop, 61000);
	fixture_ask(&requests[1], "https://x.a.test:443", FIXTURE_EXEC);
	ck_assert_uint_eq(requests[1].told, 0);
	fixture_close();
}
END_TEST

static const struct {
	const char *policy, *destination;
	bool may_private;
	struct approver_width width;
	int want;
	const char *words;
} refused[] = {
	{ "deny a.test", HOST, .want = -EACCES, .words = "A rule denies it." },
	{ "!only b.test", HOST, .want = -EACCES, .words = "only other destinations" },
	{ "!default deny", HOST, .want = -EACCES, .words = "default is deny" },
	{ "", "tcp://10.0.0.1:22", .want = -EACCES, .words = "private address" },
	{ "", "tcp://10.0.0.1:22", .may_private = true, .want = 0 },
	{ "", "a.test", .want = 0 },
	{ "", "http://a.test:8000", .want = 0 },
	{ "", "tcp://a.test:443", .want = 0 },
	{ "", "https://*.a.test:443", .want = -EINVAL },
	{ "", "https://a.test:0", .want = -EINVAL },
	{ "", "", .want = -EINVAL },
	{ "", "https://a.test:443 upload 1k", .want = -EINVAL },
	{ "", HOST, .width = { .is_program = true }, .want = -EINVAL },
	{ "", HOST, .width = { .for_s = -1 }, .want = -EINVAL },
	{ "", "tcp://192.0.2.1:22", .width = { .is_domain = true }, .want = -EINVAL },
};

START_TEST(what_cannot_be_granted_is_not)
{
	const struct gateway_exec_grant may = { .destination = refused[_i].destination,
						.by = "ana",
						.width = refused[_i].width,
						.may_private = refused[_i].may_private };
	struct err why = { 0 };

	fixture_open(refused[_i].policy);
	ck_assert_int_eq(grant(FIXTURE_EXEC, &may, &why), refused[_i].want);
	if (refused[_i].words)
		ck_assert_msg(strstr(why.text, refused[_i].words) != NULL, "%s", why.text);
	ck_assert_uint_eq(fixture_count_records("granted", NULL), refused[_i].want == 0);
	ck_assert_int_eq(TAILQ_EMPTY(&fixture.gw->grants.all), refused[_i].want != 0);
	ck_assert_int_eq(grant(77, &may, &why), -ENOENT);
	fixture_close();
}
END_TEST

/* Before anybody is asked, and so that the command begins only then. */
static const struct {
	const char *policy, *destination, *program;
	int want;
	const char *words;
} told[] = {
	{ NULL, HOST, "curl", 0, NULL },
	{ NULL, HOST, NULL, 0, NULL },
	{ "deny a.test", HOST, "curl", -EACCES, "deny a.test" },
	{ "deny a.test", HOST, NULL, -EACCES, "deny a.test" },
	{ "deny a.test from \"npm\"", HOST, "npm", -EACCES, "from" },
	{ "deny a.test from \"npm\"", HOST, "curl", 0, NULL },
	{ "deny a.test from \"npm\"", HOST, NULL, 0, NULL },
	{ "!only b.test", HOST, NULL, -EACCES, "only other destinations" },
	{ "", "tcp://10.0.0.1:22", "ssh", -EACCES, "private address" },
	{ "", "http://a.test:8000", "curl", 0, NULL },
	{ "", "https://*.a.test:443", "curl", -EINVAL, NULL },
};

START_TEST(what_cannot_be_granted_is_told_before)
{
	const char *const argv[] = { told[_i].program, NULL };
	struct err why = { 0 };

	fixture_open(told[_i].policy);
	ck_assert_int_eq(
		gateway_may_grant(fixture.gw, told[_i].destination, argv[0] ? argv : NULL, &why),
		told[_i].want);
	if (told[_i].words)
		ck_assert_msg(strstr(why.text, told[_i].words) != NULL, "%s", why.text);
	ck_assert(TAILQ_EMPTY(&fixture.gw->grants.all));
	ck_assert_uint_eq(fixture_count_records("granted", NULL), 0);
	fixture_close();
}
END_TEST

/* A denial that was remembered beats it, whichever came first. */
START_TEST(a_remembered_denial_beats_it)
{
	const struct gateway_exec_grant may = { .destination = HOST, .by = "ana" };
	struct fixture_request first = { 0 }, second = { 0 };

	fixture_open(NULL);
	fixture_ask(&first, HOST, FIXTURE_EXEC_TWO);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_SESSION), 0);
	ck_assert_int_eq(grant(FIXTURE_EXEC, &may, NULL), 0);
	fixture_ask(&second, HOST, FIXTURE_EXEC);
	fixture_expect(&second, POLICY_DENY, POLICY_DENIED_SESSION);
	fixture_close();
}
END_TEST

static struct fixture_request proposed;

static void on_proposal(const struct policy_verdict *verdict, void *arg)
{
	struct fixture_request *request = arg;

	request->told++;
	request->verdict = *verdict;
}

static struct gateway_proposal *propose(uint64_t exec, const char *destination, const char *reason,
					struct err *why)
{
	struct gateway_proposal *proposal;

	proposed = (struct fixture_request){ 0 };
	proposal =
		gateway_propose(fixture.gw, exec, destination, reason, on_proposal, &proposed, why);
	ck_assert_uint_eq(proposed.told, 0);
	fixture_settle();
	return proposal;
}

static char plea[GATEWAY_PLEA_MAX + 16];

static void keep_plea(const struct approver_question *question, void *arg)
{
	(void)snprintf(plea, sizeof(plea), "%s", question->plea);
}

START_TEST(a_proposal_is_a_question)
{
	struct fixture_request waiting = { 0 };

	fixture_open(NULL);
	ck_assert_ptr_nonnull(propose(FIXTURE_EXEC, HOST, "the parts are\nthere", NULL));
	gateway_each_question(fixture.gw, keep_plea, NULL);
	ck_assert_str_eq(plea, "the parts are\\x0athere");
	ck_assert_str_eq(fixture.approver.last.commands[0], "npm ci");
	fixture_ask(&waiting, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_EXEC), 0);
	ck_assert_uint_eq(proposed.told, 1);
	ck_assert_int_eq(proposed.verdict.reason, POLICY_GRANTED_EXEC);
	fixture_expect(&waiting, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1);
	ck_assert(LIST_EMPTY(&fixture.gw->proposals.open));
	fixture_close();
}
END_TEST

START_TEST(a_proposal_needs_no_command)
{
	fixture_open(NULL);
	ck_assert_ptr_nonnull(propose(0, "http://a.test:8000", "for all of them", NULL));
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	ck_assert_int_eq(proposed.verdict.reason, POLICY_GRANTED_SESSION);
	fixture_close();
}
END_TEST

static const struct {
	const char *policy;
	enum policy_action action;
	enum policy_reason reason;
} known[] = {
	{ "allow a.test", POLICY_ALLOW, POLICY_RULE_ALLOW },
	{ "deny a.test", POLICY_DENY, POLICY_RULE_DENY },
	{ "!only b.test", POLICY_DENY, POLICY_OUTSIDE_ONLY },
};

START_TEST(what_policy_knows_is_not_asked)
{
	fixture_open(known[_i].policy);
	ck_assert_ptr_nonnull(propose(FIXTURE_EXEC, HOST, "why not", NULL));
	ck_assert_uint_eq(proposed.told, 1);
	ck_assert_int_eq(proposed.verdict.action, known[_i].action);
	ck_assert_int_eq(proposed.verdict.reason, known[_i].reason);
	ck_assert_uint_eq(fixture.approver.asked, 0);
	fixture_close();
}
END_TEST

static const struct {
	uint64_t exec;
	const char *destination, *reason;
} not_proposals[] = {
	{ 77, HOST, "why not" },
	{ 1, "https://*.a.test:443", "why not" },
	{ 1, "", "why not" },
	{ 1, HOST, "" },
};

START_TEST(what_is_no_proposal)
{
	struct err why = { 0 };

	fixture_open(NULL);
	ck_assert_ptr_null(propose(not_proposals[_i].exec, not_proposals[_i].destination,
				   not_proposals[_i].reason, &why));
	ck_assert_str_ne(why.text, "");
	ck_assert_uint_eq(fixture.approver.asked + proposed.told, 0);
	fixture_close();
}
END_TEST

START_TEST(a_proposal_can_end_otherwise)
{
	struct gateway_proposal *proposal;

	fixture_open(NULL);
	proposal = propose(FIXTURE_EXEC, HOST, "why not", NULL);
	gateway_proposal_withdraw(proposal);
	fixture_settle();
	ck_assert_uint_eq(proposed.told, 0);
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	gateway_proposal_withdraw(NULL);
	ck_assert_ptr_nonnull(propose(FIXTURE_EXEC, HOST, "why not", NULL));
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	fixture_settle();
	ck_assert_uint_eq(proposed.told, 1);
	ck_assert_int_eq(proposed.verdict.reason, POLICY_EXEC_ENDED);
	ck_assert_ptr_nonnull(propose(FIXTURE_EXEC_TWO, HOST, "why not", NULL));
	fixture_close(); /* with one open */
	ck_assert_uint_eq(proposed.told, 0);
}
END_TEST

Suite *suite_permits(void)
{
	Suite *suite = suite_create("permits");
	TCase *grants = tcase_create("granted to one command");
	TCase *proposals = tcase_create("proposals");

	tcase_add_test(grants, one_command_may_and_the_others_are_asked);
	tcase_add_test(grants, all_commands_may_where_that_is_said);
	tcase_add_test(grants, whoever_waits_is_released);
	tcase_add_test(grants, width_is_as_in_an_answer);
	tcase_add_loop_test(grants, what_cannot_be_granted_is_not, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_loop_test(grants, what_cannot_be_granted_is_told_before, 0,
			    sizeof(told) / sizeof(told[0]));
	tcase_add_test(grants, a_remembered_denial_beats_it);
	suite_add_tcase(suite, grants);
	tcase_add_test(proposals, a_proposal_is_a_question);
	tcase_add_test(proposals, a_proposal_needs_no_command);
	tcase_add_loop_test(proposals, what_policy_knows_is_not_asked, 0,
			    sizeof(known) / sizeof(known[0]));
	tcase_add_loop_test(proposals, what_is_no_proposal, 0,
			    sizeof(not_proposals) / sizeof(not_proposals[0]));
	tcase_add_test(proposals, a_proposal_can_end_otherwise);
	suite_add_tcase(suite, proposals);
	return suite;
}
