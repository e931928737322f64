/* A new policy in a running gateway: open connections, waiting requests, and grants. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/grants/live_requests.h"
#include "policies/policies_image.h"
#include "tests/unit/gateway/fixture.h"

#define HOST   "https://a.test:443"
#define DIGEST "0123"

/* A client, here or at the other end of a link, and what it is told is over. */
static struct {
	struct gateway_client *client;
	struct gateway_ticket *ticket; /* that is cut */
	struct policy_verdict cut;
	unsigned int cuts;
	bool is_deaf;
} it;

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	struct fixture_request *request = arg;

	it.cuts++;
	it.cut = *verdict;
	if (it.is_deaf)
		return;
	struct gateway_report report = {
		.facts = fixture_facts(HOST, FIXTURE_EXEC),
		.ticket = take(request->pass),
		.verdict = request->verdict,
		.closed = verdict->reason,
		.bytes_up = 7,
	};

	gateway_report(it.client, &report);
}

/* @is_remote: behind a link. */
static void play(bool is_remote, const char *rules)
{
	int pair[2];

	fixture_open(rules);
	memset(&it, 0, sizeof(it));
	if (is_remote) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
		ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
		it.client = gateway_client_connect(fixture.loop, pair[1], NULL, NULL, NULL);
	} else {
		it.client = gateway_client_new(fixture.gw);
	}
	gateway_client_on_cut(it.client, on_cut);
	fixture_settle();
}

static void play_end(void)
{
	gateway_client_free(it.client);
	fixture_close();
}

static struct policy *received;

static void on_image(int image, void *arg)
{
	struct err why = { 0 };

	policy_free(received);
	received = NULL;
	ck_assert_msg(policy_image_open(image, &received, &why) == 0, "%s", why.text);
	fd_close(image);
}

static void ask(struct fixture_request *request, const char *destination)
{
	struct policy_facts facts = fixture_facts(destination, FIXTURE_EXEC);

	request->ticket = gateway_submit(it.client, &facts, fixture_on_verdict, request);
	fixture_settle();
}

static void reload(const char *rules)
{
	auto_free char *text = mem_printf("version 1\n%s\n", rules);
	struct policy *policy = policy_new();

	ck_assert_int_eq(policy_load_text(policy, "<new>", text), 0);
	ck_assert_msg(policy_finish(policy) == 0, "%s", policy_errors(policy));
	int image = policy_image_make(policy, NULL);

	ck_assert_int_ge(image, 0);
	gateway_reload(fixture.gw, &(struct gateway_reload){ .image = image,
							     .policy = policy,
							     .digest = DIGEST,
							     .files = "<new>" });
	fd_close(image);
	policy_free(fixture.policy);
	fixture.policy = policy;
	fixture_settle();
}

START_TEST(what_is_denied_now_is_cut)
{
	struct fixture_request request = { 0 };

	play(_i, "allow a.test");
	ask(&request, HOST);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	reload("default ask\ndeny a.test because \"not any more\"");
	ck_assert_uint_eq(it.cuts, 1);
	ck_assert_int_eq(it.cut.reason, POLICY_DENIED_SINCE);
	ck_assert_str_eq(it.cut.rule, "<new>:3: deny a.test because \"not any more\"");
	ck_assert_str_eq(it.cut.because, "not any more");
	ck_assert_uint_eq(fixture_count_records("closed", "policy_changed"), 1);
	ck_assert_uint_eq(fixture_count_records("policy_reloaded", NULL), 1);
	ck_assert(TAILQ_EMPTY(&fixture.gw->live.cut));
	reload("default ask\ndeny **.test");
	ck_assert_uint_eq(it.cuts, 1); /* it has ended */
	play_end();
}
END_TEST

/* Live ones under several old policies: what they keep and what not. */
static const struct {
	const char *before, *after, *destination;
	unsigned int cuts;
} changes[] = {
	{ "allow a.test", "default deny\nallow a.test", HOST, 0 },
	{ "allow a.test", "default ask", HOST, 0 }, /* not a denial */
	{ "allow a.test", "default ask\nask a.test", HOST, 0 },
	{ "allow a.test", "default deny", HOST, 1 },
	{ "allow a.test", "default allow\ndeny 192.0.2.0/24", HOST, 0 },
	{ "allow a.test", "default ask\napprovals never", HOST, 1 },
	{ "allow a.test", "default deny\nallow b.test", HOST, 1 },
	{ "allow a.test", "default allow\ndeny http://a.test", HOST, 0 },
	/* Let through as any bytes, which is more than is left. */
	{ "allow tcp://a.test:443", "default deny\nallow https://a.test", HOST, 1 },
	{ "allow tcp://a.test:443", "default deny\nallow tcp://a.test:443", HOST, 0 },
	{ "allow a.test", "default deny\nallow a.test for 1s", HOST, 1 },
};

START_TEST(what_is_not_denied_goes_on)
{
	struct fixture_request request = { 0 };

	play(false, changes[_i].before);
	ask(&request, changes[_i].destination);
	fixture_expect(&request, POLICY_ALLOW, POLICY_RULE_ALLOW);
	reload(changes[_i].after);
	ck_assert_uint_eq(it.cuts, changes[_i].cuts);
	play_end();
}
END_TEST

START_TEST(a_denial_beats_what_a_person_granted)
{
	struct fixture_request first = { 0 }, second = { 0 }, third = { 0 };

	play(true, NULL);
	ask(&first, HOST);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	fixture_expect(&first, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	reload("default ask"); /* asks, and the grant answers */
	ck_assert_uint_eq(it.cuts, 0);
	ask(&second, HOST);
	fixture_expect(&second, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	reload("default ask\ndeny a.test");
	ck_assert_uint_eq(it.cuts, 2);
	ask(&third, HOST);
	fixture_expect(&third, POLICY_DENY, POLICY_RULE_DENY);
	play_end();
}
END_TEST

START_TEST(who_waits_is_decided_again)
{
	struct fixture_request a = { 0 }, b = { 0 }, c = { 0 };

	play(true, NULL);
	ask(&a, HOST);
	ask(&b, "https://b.test:443");
	ask(&c, "https://c.test:443");
	ck_assert_uint_eq(fixture.approver.asked, 3);
	reload("default ask\nallow a.test\ndeny b.test\nask c.test because \"look\"");
	fixture_expect(&a, POLICY_ALLOW, POLICY_RULE_ALLOW);
	fixture_expect(&b, POLICY_DENY, POLICY_RULE_DENY);
	ck_assert_uint_eq(c.told, 0);
	ck_assert_uint_eq(fixture.approver.retracted, 2);
	ck_assert_str_eq(fixture.approver.how, "decided by a change of the policy");
	ck_assert_uint_eq(fixture.approver.asked, 3); /* the third keeps its place */
	ck_assert_uint_ge(fixture.approver.changed, 1);
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_ONCE), 0);
	fixture_expect(&c, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	play_end();
}
END_TEST

/* On one question they need not fare alike: the commands may differ. */
START_TEST(of_one_question_some_may_stay)
{
	static const char *const argv[] = { "curl", NULL };
	struct policy_facts facts;
	struct fixture_request curl = { 0 }, npm = { 0 };

	play(false, NULL);
	gateway_exec_set_argv(fixture.gw, FIXTURE_EXEC_TWO, argv);
	ask(&npm, "tcp://a.test:8443");
	facts = fixture_facts("tcp://a.test:8443", FIXTURE_EXEC_TWO);
	curl.ticket = gateway_submit(it.client, &facts, fixture_on_verdict, &curl);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.last.waiting, 2);
	reload("default ask\nallow tcp://a.test:8443 from \"curl\"");
	fixture_expect(&curl, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_uint_eq(npm.told, 0);
	ck_assert_uint_eq(fixture.approver.last.waiting, 1);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	play_end();
}
END_TEST

/* Asked about as any bytes, it may go on as the protocol that is allowed by now. */
START_TEST(a_tunnel_goes_on_as_what_is_allowed)
{
	struct fixture_request tunnel = { 0 };

	play(false, NULL);
	ask(&tunnel, "tcp://a.test:8443");
	reload("default ask\nallow https://a.test:8443");
	fixture_expect(&tunnel, POLICY_ALLOW, POLICY_RULE_ALLOW);
	ck_assert_int_eq(tunnel.verdict.promise, POLICY_HTTPS);
	play_end();
}
END_TEST

/* In front of the verdicts that go by it. */
START_TEST(the_worker_gets_it)
{
	struct policy_verdict verdict;
	struct policy_facts facts;

	play(true, "allow a.test");
	gateway_client_on_image(it.client, on_image, NULL);
	reload("default ask\ndeny a.test");
	ck_assert_ptr_nonnull(received);
	facts = fixture_facts(HOST, FIXTURE_EXEC);
	policy_decide(received, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_RULE_DENY);
	ck_assert_str_eq(verdict.rule, "<new>:3: deny a.test");
	policy_free(received);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	play_end();
}
END_TEST

START_TEST(with_errors_the_last_policy_stays)
{
	struct fixture_request before = { 0 }, after = { 0 };

	play(true, "deny no.test\nallow a.test");
	ask(&before, HOST);
	gateway_reload(fixture.gw,
		       &(struct gateway_reload){ .files = "x", .errors = "x:1:1: error" });
	fixture_settle();
	ck_assert_uint_eq(it.cuts, 0);
	ask(&after, "https://no.test:443");
	fixture_expect(&after, POLICY_DENY, POLICY_RULE_DENY);
	ck_assert_uint_eq(fixture_count_records("policy_reload_failed", NULL), 1);
	ck_assert_uint_eq(fixture_count_records("policy_reloaded", NULL), 0);
	play_end();
}
END_TEST

/* A worker that continues a connection that it had to end is disconnected. */
START_TEST(a_worker_that_does_not_end_it_is_cut_off)
{
	struct fixture_request request = { 0 };

	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
	play(true, "allow a.test");
	it.is_deaf = true;
	ask(&request, HOST);
	reload("default ask\ndeny a.test");
	ck_assert_uint_eq(it.cuts, 1);
	loop_advance(fixture.loop, LIVE_REQUESTS_CUT_MS - 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	loop_advance(fixture.loop, 1);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	play_end();
}
END_TEST

/* The cut and the end cross: the end was reported first, and there is nothing to cut. */
START_TEST(an_end_that_crosses_the_cut_is_the_end)
{
	struct fixture_request request = { 0 };

	play(true, "allow a.test");
	ask(&request, HOST);
	struct gateway_report report = {
		.facts = fixture_facts(HOST, FIXTURE_EXEC),
		.ticket = take(request.pass),
		.verdict = request.verdict,
		.closed = POLICY_DONE,
	};

	gateway_report(it.client, &report);
	reload("default ask\ndeny a.test");
	loop_advance(fixture.loop, 2 * LIVE_REQUESTS_CUT_MS);
	ck_assert_uint_eq(it.cuts, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	play_end();
}
END_TEST

/* Whatever is open when either end goes is freed with it. */
START_TEST(the_end_of_either_side_ends_what_is_open)
{
	struct fixture_request request = { 0 };

	play(_i & 1, "allow a.test");
	ask(&request, HOST);
	if (_i & 2) {
		gateway_free(fixture.gw);
		fixture.gw = NULL;
		fixture_settle();
	}
	play_end();
}
END_TEST

Suite *suite_reload(void)
{
	Suite *suite = suite_create("reload");
	TCase *tcase = tcase_create("reload");

	tcase_add_loop_test(tcase, what_is_denied_now_is_cut, 0, 2);
	tcase_add_loop_test(tcase, what_is_not_denied_goes_on, 0,
			    sizeof(changes) / sizeof(changes[0]));
	tcase_add_test(tcase, a_denial_beats_what_a_person_granted);
	tcase_add_test(tcase, who_waits_is_decided_again);
	tcase_add_test(tcase, of_one_question_some_may_stay);
	tcase_add_test(tcase, a_tunnel_goes_on_as_what_is_allowed);
	tcase_add_test(tcase, the_worker_gets_it);
	tcase_add_test(tcase, with_errors_the_last_policy_stays);
	tcase_add_test(tcase, a_worker_that_does_not_end_it_is_cut_off);
	tcase_add_test(tcase, an_end_that_crosses_the_cut_is_the_end);
	tcase_add_loop_test(tcase, the_end_of_either_side_ends_what_is_open, 0, 4);
	suite_add_tcase(suite, tcase);
	return suite;
}
