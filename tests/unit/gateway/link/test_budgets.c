/* Limits of a verdict, from the rule to the lease and into the record; here and across a link. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/link/link_impl.h"
#include "tests/unit/gateway/fixture.h"

#define HOST     "https://a.test:443"
#define REQUESTS 4

/* A client, here or at the other end of a link, and what its requests are told. */
static struct {
	struct gateway_client *client;
	struct fixture_request requests[REQUESTS];
	struct gateway_lease leases[REQUESTS];
	unsigned int told[REQUESTS], recalls[REQUESTS], cuts;
	bool is_remote;
} it;

static size_t number_of(const struct fixture_request *request)
{
	return (size_t)(request - it.requests);
}

static void on_lease(const struct gateway_lease *lease, void *arg)
{
	size_t i = number_of(arg);

	it.recalls[i] += lease->is_recall;
	it.told[i] += !lease->is_recall;
	if (!lease->is_recall)
		it.leases[i] = *lease;
}

static void finish(size_t i, enum policy_reason closed, uint64_t up, uint64_t down)
{
	struct gateway_report report = {
		.facts = fixture_facts(HOST, FIXTURE_EXEC),
		.ticket = take(it.requests[i].pass),
		.verdict = it.requests[i].verdict,
		.closed = closed,
		.bytes_up = up,
		.bytes_down = down,
	};

	gateway_report(it.client, &report);
	fixture_settle();
}

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	it.cuts++;
	finish(number_of(arg), verdict->reason, 0, 0);
}

static void connect_client(void)
{
	int pair[2];

	if (it.is_remote) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
		it.client = gateway_client_connect(fixture.loop, pair[1], NULL, NULL, NULL);
	} else {
		it.client = gateway_client_new(fixture.gw);
	}
	gateway_client_on_lease(it.client, on_lease);
	gateway_client_on_cut(it.client, on_cut);
	fixture_settle();
}

static void play(bool is_remote, const char *rules)
{
	fixture_open(rules);
	memset(&it, 0, sizeof(it));
	it.is_remote = is_remote;
	connect_client();
}

static void play_end(void)
{
	gateway_client_free(it.client);
	fixture_close();
}

static void submit(size_t i)
{
	struct policy_facts facts = fixture_facts(HOST, FIXTURE_EXEC);

	it.requests[i] = (struct fixture_request){ 0 };
	it.requests[i].ticket =
		gateway_submit(it.client, &facts, fixture_on_verdict, &it.requests[i]);
	fixture_settle();
}

static void expect(size_t i, enum policy_action action, enum policy_reason reason)
{
	fixture_expect(&it.requests[i], action, reason);
}

static void spend(size_t i, uint64_t up, bool needs, bool is_return)
{
	const struct gateway_spent spent = {
		.bytes = { up, 0 },
		.needs = { needs, false },
		.is_return = is_return,
	};

	ck_assert_int_eq(gateway_spend(it.requests[i].pass, &spent), 0);
	fixture_settle();
}

START_TEST(two_share_a_budget)
{
	play(_i, "allow *.test upload 100 download 1k");
	submit(0);
	submit(1);
	expect(0, POLICY_ALLOW, POLICY_RULE_ALLOW);
	expect(1, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(it.requests[0].verdict.limits.upload, 100);
	ck_assert_uint_eq(it.requests[0].verdict.limits.download, 1024);
	ck_assert_uint_eq(it.told[0], 0); /* without a request it gets nothing */
	spend(0, 0, true, false);
	ck_assert_uint_eq(it.told[0], 1);
	ck_assert_uint_eq(it.leases[0].may[GATEWAY_UP], 100);
	spend(1, 0, true, false);
	ck_assert_uint_eq(it.told[1], 0);
	ck_assert_uint_eq(it.recalls[0], 1);
	spend(0, 30, false, true);
	ck_assert_uint_eq(it.told[1], 1);
	ck_assert_uint_eq(it.leases[1].may[GATEWAY_UP], 70);
	ck_assert(!it.leases[1].is_over[GATEWAY_UP]);
	finish(1, POLICY_DONE, 69, 0);
	spend(0, 30, true, false);
	ck_assert_uint_eq(it.leases[0].may[GATEWAY_UP], 31);
	spend(0, 31, true, false);
	ck_assert(it.leases[0].is_over[GATEWAY_UP]);
	finish(0, POLICY_BUDGET_SPENT, 31, 0);
	submit(2);
	expect(2, POLICY_DENY, POLICY_BUDGET_SPENT);
	ck_assert_ptr_nonnull(strstr(it.requests[2].verdict.rule, "allow *.test upload 100"));
	ck_assert_uint_eq(fixture_count_records("closed", "budget_spent"), 1);
	ck_assert_uint_eq(fixture_count_records("decision", "budget_spent"), 1);
	play_end();
}
END_TEST

START_TEST(requests_are_counted)
{
	play(_i, "allow a.test connections 2");
	for (size_t i = 0; i < 3; i++) {
		submit(i);
		expect(i, i < 2 ? POLICY_ALLOW : POLICY_DENY,
		       i < 2 ? POLICY_RULE_ALLOW : POLICY_CONNECTIONS_SPENT);
	}
	finish(0, POLICY_DONE, 0, 0);
	submit(3); /* in all, not at a time */
	expect(3, POLICY_DENY, POLICY_CONNECTIONS_SPENT);
	finish(1, POLICY_DONE, 0, 0);
	play_end();
}
END_TEST

START_TEST(a_rate_is_kept)
{
	play(_i, "allow a.test rate 2/m");
	for (size_t i = 0; i < 3; i++) {
		submit(i);
		expect(i, i < 2 ? POLICY_ALLOW : POLICY_DENY,
		       i < 2 ? POLICY_RULE_ALLOW : POLICY_RATE_LIMITED);
	}
	ck_assert_uint_eq(it.requests[2].verdict.limits.rate_count, 2);
	ck_assert_uint_eq(it.requests[2].verdict.limits.rate_s, 60);
	loop_advance(fixture.loop, 29999);
	submit(2);
	expect(2, POLICY_DENY, POLICY_RATE_LIMITED);
	loop_advance(fixture.loop, 1);
	submit(2);
	expect(2, POLICY_ALLOW, POLICY_RULE_ALLOW);
	for (size_t i = 0; i < 3; i++)
		finish(i, POLICY_DONE, 0, 0);
	play_end();
}
END_TEST

/* A person who allows what a rule asks within limits allows it within them. */
START_TEST(a_person_allows_within_the_limits)
{
	play(_i, "ask a.test upload 100 connections 2");
	submit(0);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	expect(0, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_uint_eq(it.requests[0].verdict.limits.upload, 100);
	spend(0, 0, true, false);
	spend(0, 100, true, false);
	ck_assert(it.leases[0].is_over[GATEWAY_UP]);
	submit(1);
	expect(1, POLICY_DENY, POLICY_BUDGET_SPENT);
	finish(0, POLICY_BUDGET_SPENT, 100, 0);
	play_end();
}
END_TEST

/* A denial does not count as a request, and a withdrawal not as a byte. */
START_TEST(what_did_not_happen_is_not_counted)
{
	play(_i, "ask a.test upload 100 connections 1");
	submit(0);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	expect(0, POLICY_DENY, POLICY_DENIED_ONCE);
	submit(1);
	gateway_withdraw(it.requests[1].ticket);
	fixture_settle();
	submit(2);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	expect(2, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	spend(2, 0, true, false);
	ck_assert_uint_eq(it.leases[2].may[GATEWAY_UP], 100);
	finish(2, POLICY_DONE, 0, 0);
	play_end();
}
END_TEST

/* A worker that died has moved all it had. */
START_TEST(what_is_lost_is_spent)
{
	play(_i, "allow a.test upload 100");
	submit(0);
	spend(0, 0, true, false);
	ck_assert_uint_eq(it.leases[0].may[GATEWAY_UP], 100);
	gateway_client_free(it.client);
	fixture_settle();
	connect_client();
	submit(1);
	expect(1, POLICY_DENY, POLICY_BUDGET_SPENT);
	play_end();
}
END_TEST

/* Not the worker that we started: what it says of bytes cannot be. */
static const struct gateway_spent impossible[] = {
	{ .bytes = { 1, 0 } }, /* before any lease */
	{ .bytes = { 0, 1 } }, /* likewise */
	{ .is_return = true }, /* nobody called it back */
	{ .bytes = { UINT64_MAX, 0 }, .needs = { true, false } },
};

START_TEST(impossible_counts_cut_the_link)
{
	play(true, "allow a.test upload 100 download 100");
	submit(0);
	ck_assert_int_eq(gateway_spend(it.requests[0].pass, &impossible[_i]), 0);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	ck_assert_uint_eq(it.told[0], 0);
	play_end();
}
END_TEST

START_TEST(without_limits_there_is_no_lease)
{
	const struct gateway_spent spent = { .needs = { true, true } };

	play(true, _i ? "allow a.test rate 5/s" : "allow a.test");
	submit(0);
	expect(0, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_int_eq(gateway_spend(it.requests[0].pass, &spent), 0);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	play_end();
}
END_TEST

/* What is open under wider limits has to begin again. */
START_TEST(reload_narrows)
{
	static const struct {
		const char *before, *after;
		unsigned int cuts;
	} changes[] = {
		{ "allow a.test upload 1k", "allow a.test upload 1k", 0 },
		{ "allow a.test upload 1k", "\nallow a.test upload 1k", 0 }, /* moved */
		{ "allow a.test upload 1k", "allow a.test upload 512", 1 },
		{ "allow a.test upload 1k", "allow a.test", 0 },
		{ "allow a.test", "allow a.test upload 1k", 1 },
		{ "allow a.test until 2100-01-01", "allow a.test until 2099-01-01", 1 },
		{ "allow a.test until 2099-01-01", "allow a.test until 2100-01-01", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		play(false, changes[i].before);
		submit(0);
		expect(0, POLICY_ALLOW, POLICY_RULE_ALLOW);
		auto_free char *text = mem_printf("version 1\n%s\n", changes[i].after);
		struct policy *policy = policy_new();

		ck_assert_int_eq(policy_load_text(policy, "<new>", text), 0);
		ck_assert_int_eq(policy_finish(policy), 0);
		gateway_reload(fixture.gw, &(struct gateway_reload){ .policy = policy,
								     .digest = "0",
								     .files = "<new>" });
		policy_free(fixture.policy);
		fixture.policy = policy;
		fixture_settle();
		ck_assert_msg(it.cuts == changes[i].cuts, "%s -> %s", changes[i].before,
			      changes[i].after);
		if (!it.cuts)
			finish(0, POLICY_DONE, 0, 0);
		play_end();
	}
}
END_TEST

/* Every bit of both frames, and invalid values. */
START_TEST(frames_of_leases)
{
	struct frame frame;
	uint64_t id = 0;

	for (unsigned int bits = 0; bits < 16; bits++) {
		struct gateway_spent spent = { .bytes = { 1, UINT64_MAX } }, spent_again;
		struct gateway_lease lease = { .may = { 2, UINT64_MAX } }, lease_again;
		bool is_good = bits < 8;

		spent.needs[GATEWAY_UP] = lease.is_over[GATEWAY_UP] = bits & 1;
		spent.needs[GATEWAY_DOWN] = lease.is_over[GATEWAY_DOWN] = bits & 2;
		spent.is_return = lease.is_recall = bits & 4;
		link_codec_put_spent(&frame, 7, &spent);
		frame.bytes[frame.len - 1] |= bits & 8;
		ck_assert_int_eq(link_codec_get_spent(&frame, &id, &spent_again),
				 is_good && bits != 5 && bits != 6 && bits != 7 ? 0 : -EBADMSG);
		if (is_good)
			ck_assert_mem_eq(&spent, &spent_again, sizeof(spent));
		link_codec_put_lease(&frame, 7, &lease);
		frame.bytes[frame.len - 1] |= bits & 8;
		ck_assert_int_eq(link_codec_get_lease(&frame, &id, &lease_again),
				 is_good ? 0 : -EBADMSG);
		if (is_good)
			ck_assert_mem_eq(&lease, &lease_again, sizeof(lease));
		ck_assert_uint_eq(id, 7);
	}
	link_codec_put_lease(&frame, 0, &(struct gateway_lease){ 0 });
	ck_assert_int_eq(link_codec_get_lease(&frame, &id, &(struct gateway_lease){ 0 }), -EBADMSG);
	link_codec_put_spent(&frame, 0, &(struct gateway_spent){ 0 });
	ck_assert_int_eq(link_codec_get_spent(&frame, &id, &(struct gateway_spent){ 0 }), -EBADMSG);
}
END_TEST

static const struct {
	struct policy_limits limits;
	int want;
} limits_of[] = {
	{ { .upload = 1 }, 0 },
	{ { .download = UINT64_MAX }, 0 },
	{ { .connections = 3 }, 0 },
	{ { .rate_count = 3, .rate_s = 60 }, 0 },
	{ { .until_s = INT64_MAX }, 0 },
	{ { .rate_count = 3 }, -EBADMSG },
	{ { .upload = 1, .rate_s = 3 }, -EBADMSG },
	{ { .until_s = -1 }, -EBADMSG },
};

START_TEST(limits_cross_the_link)
{
	struct policy_verdict verdict = { .action = POLICY_ALLOW,
					  .reason = POLICY_RULE_ALLOW,
					  .limits = limits_of[_i].limits };
	struct policy_verdict again;
	struct frame frame;
	uint64_t id;

	memset(&again, 0x5a, sizeof(again));
	link_codec_put_verdict(&frame, 1, &verdict);
	ck_assert_int_eq(link_codec_get_verdict(&frame, &id, &again), limits_of[_i].want);
	if (limits_of[_i].want == 0)
		ck_assert_mem_eq(&again.limits, &verdict.limits, sizeof(verdict.limits));
}
END_TEST

Suite *suite_budgets(void)
{
	Suite *suite = suite_create("budgets");
	TCase *tcase = tcase_create("budgets");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, two_share_a_budget, 0, 2);
	tcase_add_loop_test(tcase, requests_are_counted, 0, 2);
	tcase_add_loop_test(tcase, a_rate_is_kept, 0, 2);
	tcase_add_loop_test(tcase, a_person_allows_within_the_limits, 0, 2);
	tcase_add_loop_test(tcase, what_did_not_happen_is_not_counted, 0, 2);
	tcase_add_loop_test(tcase, what_is_lost_is_spent, 0, 2);
	tcase_add_loop_test(tcase, impossible_counts_cut_the_link, 0, ARRAY_SIZE(impossible));
	tcase_add_loop_test(tcase, without_limits_there_is_no_lease, 0, 2);
	tcase_add_test(tcase, reload_narrows);
	tcase_add_test(tcase, frames_of_leases);
	tcase_add_loop_test(tcase, limits_cross_the_link, 0, ARRAY_SIZE(limits_of));
	suite_add_tcase(suite, tcase);
	return suite;
}
