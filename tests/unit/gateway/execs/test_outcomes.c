#include "tests/unit/gateway/fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/gateway_agent.h"

#define HOST  "https://a.test:443"
#define CROWD 500
#define FIRST 1000 /* of the crowd's execs */

/* Of one exec. */
struct heard {
	unsigned int denied, times, allowed, waits, most_waits, ended, after_end;
	unsigned int by[GATEWAY_BY_NETWORK + 1];
	enum policy_reason reason; /* of the last denial */
	uint64_t dropped;
};
static struct heard heard[FIRST + CROWD];
static bool is_inside;

static void on_exec_event(uint64_t exec, const struct gateway_exec_event *event, void *arg)
{
	struct heard *of = &heard[exec];

	ck_assert(!is_inside);
	of->after_end += of->ended;
	of->dropped = event->dropped;
	switch (event->kind) {
	case GATEWAY_EXEC_DENIED:
		of->denied++;
		of->times += event->times;
		of->by[event->whose]++;
		of->reason = event->reason;
		break;
	case GATEWAY_EXEC_ALLOWED:
		of->allowed++;
		break;
	case GATEWAY_EXEC_WAITING:
		of->waits = event->questions;
		if (of->waits > of->most_waits)
			of->most_waits = of->waits;
		break;
	case GATEWAY_EXEC_ENDED:
		of->ended++;
		break;
	}
}

static const struct gateway_embedded program = { .on_exec_event = on_exec_event };

static void open(const char *policy)
{
	memset(heard, 0, sizeof(heard));
	fixture_prepare(policy);
	fixture.config.embedded = &program;
	fixture_start();
	fixture_settle();
}

static void end(uint64_t exec)
{
	is_inside = true;
	gateway_exec_end(fixture.gw, exec, 0);
	is_inside = false;
}

static void report(struct fixture_request *request, const char *destination,
		   enum policy_action action, enum policy_reason reason)
{
	struct gateway_report report = { .facts = fixture_facts(destination, FIXTURE_EXEC),
					 .ticket = request->pass,
					 .verdict = { .action = action, .reason = reason },
					 .closed = action == POLICY_ALLOW ? reason : POLICY_NONE };

	gateway_report(fixture.client, &report);
	fixture_settle();
}

static const struct {
	const char *policy;
	enum policy_action action;
	bool is_abort;
	enum policy_reason reason; /* of the answer or the report; NONE: none is given */
	enum policy_reason want;
	enum gateway_whose whose;
} denials[] = {
	{ "deny a.test", .want = POLICY_RULE_DENY, .whose = GATEWAY_BY_POLICY },
	{ "!only b.test", .want = POLICY_OUTSIDE_ONLY, .whose = GATEWAY_BY_POLICY },
	{ "", .want = POLICY_PROMPT_TIMEOUT, .whose = GATEWAY_BY_NOBODY },
	{ "", .reason = POLICY_DENIED_ONCE, .want = POLICY_DENIED_ONCE,
	  .whose = GATEWAY_BY_PERSON },
	{ "", .is_abort = true, .reason = POLICY_ABORTED, .want = POLICY_ABORTED,
	  .whose = GATEWAY_BY_PERSON },
	{ "allow a.test", .reason = POLICY_PRIVATE_ADDRESS, .want = POLICY_PRIVATE_ADDRESS,
	  .whose = GATEWAY_BY_POLICY },
	{ "allow a.test", .reason = POLICY_DNS_FAILED, .want = POLICY_DNS_FAILED,
	  .whose = GATEWAY_BY_NETWORK },
};

START_TEST(a_denial_says_who_said_no)
{
	struct fixture_request request = { 0 };
	const struct approver_answer no = { .action = POLICY_DENY,
					    .is_abort = denials[_i].is_abort,
					    .by = "ana" };

	open(denials[_i].policy);
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	if (request.pass)
		report(&request, HOST, POLICY_DENY, denials[_i].reason);
	else if (denials[_i].reason != POLICY_NONE)
		ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &no, NULL),
				 0);
	else
		loop_advance(fixture.loop, 60000);
	fixture_settle();
	ck_assert_uint_eq(heard[1].denied, 1);
	ck_assert_int_eq(heard[1].reason, denials[_i].want);
	ck_assert_uint_eq(heard[1].by[denials[_i].whose], 1);
	ck_assert_uint_eq(heard[2].denied, 0);
	fixture_close();
}
END_TEST

START_TEST(an_ordinary_end_is_no_denial)
{
	struct fixture_request request = { 0 };

	open("allow a.test");
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	report(&request, HOST, POLICY_ALLOW, POLICY_SERVER_CLOSED);
	ck_assert_uint_eq(heard[1].denied, 0);
	ck_assert_uint_eq(heard[1].allowed, 1);
	request = (struct fixture_request){ 0 };
	fixture_ask(&request, HOST, FIXTURE_EXEC);
	ck_assert_uint_eq(heard[1].allowed, 1); /* for the first time only */
	report(&request, HOST, POLICY_ALLOW, POLICY_BUDGET_SPENT);
	ck_assert_uint_eq(heard[1].denied, 1);
	fixture_close();
}
END_TEST

/* Its clock stands still as long as one question is open. */
START_TEST(waiting_is_counted_in_questions)
{
	const struct approver_answer no = { .action = POLICY_DENY, .by = "ana" };
	struct fixture_request requests[4] = { 0 };

	open(NULL);
	fixture_ask(&requests[0], HOST, 1);
	fixture_ask(&requests[1], HOST, 1);
	ck_assert_uint_eq(heard[1].waits, 1);
	fixture_ask(&requests[2], "https://b.test:443", 1);
	fixture_ask(&requests[3], "https://b.test:443", 2);
	ck_assert_uint_eq(heard[1].waits, 2);
	ck_assert_uint_eq(heard[2].waits, 1);
	gateway_withdraw(requests[0].ticket);
	fixture_settle();
	ck_assert_uint_eq(heard[1].waits, 2);
	gateway_withdraw(requests[1].ticket);
	fixture_settle();
	ck_assert_uint_eq(heard[1].waits, 1);
	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.ids[1], &no, NULL), 0);
	fixture_settle();
	ck_assert_uint_eq(heard[1].waits, 0);
	ck_assert_uint_eq(heard[2].waits, 0);
	fixture_close();
}
END_TEST

START_TEST(an_end_with_waiters_is_told_last)
{
	struct fixture_request request = { 0 };

	open(NULL);
	fixture_ask(&request, HOST, 1);
	ck_assert_uint_eq(heard[1].waits, 1);
	end(1);
	fixture_settle();
	fixture_expect(&request, POLICY_DENY, POLICY_EXEC_ENDED);
	ck_assert_uint_eq(heard[1].waits, 0);
	ck_assert_uint_eq(heard[1].ended, 1);
	ck_assert_uint_eq(heard[1].after_end, 0);
	ck_assert_uint_eq(heard[2].ended, 0);
	fixture_close();
}
END_TEST

/* Denied and ended before anybody could be told: it is told all the same. */
START_TEST(a_denial_right_before_the_end_is_not_lost)
{
	struct fixture_request request = { 0 };
	struct gateway_report refused = { .facts = fixture_facts(HOST, FIXTURE_EXEC),
					  .verdict = { .reason = POLICY_METADATA_ADDRESS } };

	open(NULL);
	gateway_report(fixture.client, &refused);
	end(1);
	ck_assert_uint_eq(heard[1].denied, 0);
	fixture_settle();
	ck_assert_uint_eq(heard[1].denied, 1);
	ck_assert_uint_eq(heard[1].ended, 1);
	ck_assert_uint_eq(heard[1].after_end, 0);
	fixture_close();
	(void)request;
}
END_TEST

/* A command that is refused a thousand hosts at once costs room for some; what a person says gets
 * through. */
START_TEST(a_flood_is_dropped_and_counted)
{
	enum { HOSTS = 1000 };
	struct gateway_report refused = { .facts = fixture_facts(HOST, FIXTURE_EXEC),
					  .verdict = { .reason = POLICY_RULE_DENY } };

	open(NULL);
	for (int i = 0; i < HOSTS; i++) {
		(void)snprintf(refused.facts.dst.host, sizeof(refused.facts.dst.host), "h%d.test",
			       i);
		gateway_report(fixture.client, &refused);
		gateway_report(fixture.client, &refused); /* once more: not another event */
	}
	refused.verdict.reason = POLICY_DENIED_EXEC;
	gateway_report(fixture.client, &refused);
	fixture_settle();
	ck_assert_uint_eq(heard[1].denied, GATEWAY_EXEC_EVENTS_MAX + 1);
	ck_assert_uint_eq(heard[1].times, 2 * GATEWAY_EXEC_EVENTS_MAX + 1);
	ck_assert_uint_eq(heard[1].dropped, 2 * (HOSTS - GATEWAY_EXEC_EVENTS_MAX));
	ck_assert_uint_eq(heard[1].by[GATEWAY_BY_PERSON], 1);
	fixture_close();
}
END_TEST

START_TEST(first_allows_are_told_as_far_as_there_is_room)
{
	auto_free struct fixture_request *requests =
		mem_new_array(GATEWAY_EXEC_ALLOWED_MAX + 2, sizeof(*requests));

	open("allow **.test");
	for (int i = 0; i < GATEWAY_EXEC_ALLOWED_MAX + 2; i++) {
		char destination[64];

		(void)snprintf(destination, sizeof(destination), "https://h%d.test:443", i);
		fixture_ask(&requests[i], destination, FIXTURE_EXEC);
		ck_assert_ptr_nonnull(requests[i].pass);
	}
	ck_assert_uint_eq(heard[1].allowed, GATEWAY_EXEC_ALLOWED_MAX);
	end(1);
	fixture_settle();
	ck_assert_uint_eq(heard[1].dropped, 2);
	fixture_close();
}
END_TEST

/* Five hundred at once, each with a question of its own and one that all share; half of them end
 * with both open, one after the other, and come back under another number. */
START_TEST(hundreds_at_once)
{
	auto_free struct fixture_request *own = mem_new_array(CROWD, sizeof(*own));
	auto_free struct fixture_request *shared = mem_new_array(CROWD, sizeof(*shared));

	open(NULL);
	for (uint64_t i = 0; i < CROWD; i++) {
		char destination[64];

		gateway_exec_begin(fixture.gw, FIRST + i, "make -j");
		(void)snprintf(destination, sizeof(destination), "https://h%" PRIu64 ".test:443",
			       i);
		fixture_submit(&own[i], destination, FIRST + i);
		fixture_submit(&shared[i], HOST, FIRST + i);
	}
	fixture_settle();
	ck_assert_uint_eq(fixture.gw->execs.count, CROWD + 2);
	ck_assert_uint_eq(fixture.gw->question_count, CROWD + 1);
	for (uint64_t i = 0; i < CROWD; i++)
		ck_assert_uint_eq(heard[FIRST + i].waits, 2);
	for (uint64_t i = 0; i < CROWD; i += 2) {
		end(FIRST + i);
		if (i % 100 == 0)
			fixture_settle();
	}
	fixture_settle();
	ck_assert_uint_eq(fixture.gw->question_count, CROWD / 2 + 1);
	for (uint64_t i = 0; i < CROWD; i++) {
		ck_assert_uint_eq(heard[FIRST + i].ended, i % 2 == 0);
		ck_assert_uint_eq(heard[FIRST + i].after_end, 0);
		ck_assert_uint_eq(own[i].told, i % 2 == 0);
		ck_assert_uint_eq(shared[i].told, i % 2 == 0);
	}
	for (uint64_t i = 1; i < CROWD; i += 2)
		end(FIRST + i);
	fixture_settle();
	ck_assert_uint_eq(fixture.gw->execs.count, 2);
	ck_assert_uint_eq(fixture.gw->question_count, 0);
	ck_assert_uint_eq(fixture.gw->parties.count, 0);
	end(FIXTURE_EXEC);
	end(FIXTURE_EXEC_TWO);
	fixture_settle();
	ck_assert(TAILQ_EMPTY(&fixture.gw->outcomes.all)); /* nothing is kept of any */
	ck_assert_uint_eq(fixture_count_records("exec_start", NULL), CROWD + 2);
	ck_assert_uint_eq(fixture_count_records("exec_end", NULL), CROWD + 2);
	ck_assert_uint_eq(fixture_count_records("decision", "exec_ended"), 2 * CROWD);
	fixture_close();
}
END_TEST

Suite *suite_outcomes(void)
{
	Suite *suite = suite_create("outcomes");
	TCase *tcase = tcase_create("of an exec");

	tcase_add_loop_test(tcase, a_denial_says_who_said_no, 0,
			    sizeof(denials) / sizeof(denials[0]));
	tcase_add_test(tcase, an_ordinary_end_is_no_denial);
	tcase_add_test(tcase, waiting_is_counted_in_questions);
	tcase_add_test(tcase, an_end_with_waiters_is_told_last);
	tcase_add_test(tcase, a_denial_right_before_the_end_is_not_lost);
	tcase_add_test(tcase, a_flood_is_dropped_and_counted);
	tcase_add_test(tcase, first_allows_are_told_as_far_as_there_is_room);
	tcase_add_test(tcase, hundreds_at_once);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
