#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "gateway/gateway_drain.h"
#include "policies/policies_request.h"
#include "gateway/gateway_tools.h"

#define HOST "https://a.test:443"

/* A worker's end, on the same loop. */
static struct {
	struct gateway_client *client;
	int socket;
	unsigned int opened, closed, gone;
	uint64_t exec;
	size_t fd_count;
	char heard; /* through a descriptor that was handed over */
} worker;

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
	worker.exec = exec;
	worker.fd_count = count;
	if (count == 0) {
		worker.closed++;
		return;
	}
	worker.opened++;
	ck_assert_int_eq(read(fds[0], &worker.heard, 1), 1);
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

static void on_gone(void *arg)
{
	worker.gone++;
}

static void link_open(const char *more)
{
	int pair[2];

	fixture_open(more);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
	memset(&worker, 0, sizeof(worker));
	worker.socket = pair[1];
	worker.client = gateway_client_connect(fixture.loop, pair[1], on_exec, on_gone, NULL);
	fixture_settle();
}

static void link_close(void)
{
	gateway_client_free(worker.client);
	fixture_close();
}

static void remote_submit(struct fixture_request *request, const char *destination)
{
	struct policy_facts facts = fixture_facts(destination, FIXTURE_EXEC);

	request->ticket = gateway_submit(worker.client, &facts, fixture_on_verdict, request);
}

START_TEST(a_verdict_comes_back_whole)
{
	struct fixture_request denied = { 0 }, asked = { 0 };

	link_open("deny no.test because \"not here\"");
	remote_submit(&denied, "https://no.test:443");
	remote_submit(&asked, "tcp://10.1.2.3:8000");
	fixture_settle();
	fixture_expect(&denied, POLICY_DENY, POLICY_RULE_DENY);
	ck_assert_str_eq(denied.verdict.rule, "<test>:3: deny no.test because \"not here\"");
	ck_assert_str_eq(denied.verdict.because, "not here");
	ck_assert_str_eq(denied.verdict.by, "");
	ck_assert_uint_eq(asked.told, 0);
	ck_assert_str_eq(fixture.approver.last.commands[0], "npm ci");
	ck_assert_int_eq(fixture_answer(POLICY_ALLOW, GATEWAY_SESSION), 0);
	fixture_expect(&asked, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	ck_assert_str_eq(asked.verdict.by, "ana on tty");
	ck_assert_int_eq(asked.verdict.promise, POLICY_TCP);
	ck_assert(asked.verdict.may_private);
	link_close();
}
END_TEST

START_TEST(one_question_for_both_clients)
{
	struct fixture_request near = { 0 }, far = { 0 };

	link_open(NULL);
	fixture_submit(&near, HOST, FIXTURE_EXEC);
	remote_submit(&far, HOST);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 2);
	ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
	fixture_expect(&near, POLICY_DENY, POLICY_DENIED_ONCE);
	fixture_expect(&far, POLICY_DENY, POLICY_DENIED_ONCE);
	link_close();
}
END_TEST

START_TEST(a_withdrawal_crosses_the_link)
{
	struct fixture_request request = { 0 };

	link_open(NULL);
	remote_submit(&request, HOST);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	gateway_withdraw(request.ticket);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	ck_assert_uint_eq(request.told, 0);
	/* And one that meets its verdict on the way. */
	remote_submit(&request, HOST);
	fixture_settle();
	const struct approver_answer yes = { .action = POLICY_ALLOW, .by = "ana" };

	ck_assert_int_eq(gateway_answer(fixture.gw, fixture.approver.last.id, &yes, NULL), 0);
	gateway_withdraw(request.ticket);
	fixture_settle();
	ck_assert_uint_eq(request.told, 0);
	ck_assert_uint_eq(worker.gone + fixture.workers_gone, 0);
	link_close();
}
END_TEST

/* As much as there can be of it, and the least. */
START_TEST(a_request_crosses_the_link)
{
	static const char rules[] =
		"allow http://a.test method GET path /a/** query q=1 header \"k: v\"\n"
		"deny http://a.test method PUT header \"k: w\"";
	char path[POLICY_PATH_MAX], value[POLICY_FIELDS_BYTES_MAX - 8];
	struct policy_field fields[] = { { "k", "v" }, { "l", value } };
	struct policy_request requests[] = {
		{ "GET", path, "q=1", fields, 2, false },
		{ "GET", path, "q=1", fields, 1, true }, /* asks for another method */
		{ "GET", path, "", fields, 2, false },
		{ "PUT", NULL, NULL, NULL, 0, false }, /* a denial believes what it does not know */
	};
	static const enum policy_reason wants[] = { POLICY_RULE_ALLOW, POLICY_ASKED, POLICY_ASKED,
						    POLICY_RULE_DENY };

	memset(path, 'a', sizeof(path));
	memcpy(path, "/a/", 3);
	path[sizeof(path) - 1] = '\0';
	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	link_open(rules);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		struct fixture_request request = { 0 };
		struct policy_facts facts = fixture_facts("http://a.test:80", FIXTURE_EXEC);

		facts.request = &requests[i];
		request.ticket =
			gateway_submit(worker.client, &facts, fixture_on_verdict, &request);
		fixture_settle();
		if (wants[i] == POLICY_ASKED) {
			ck_assert_uint_eq(request.told, 0);
			ck_assert_int_eq(fixture_answer(POLICY_DENY, GATEWAY_ONCE), 0);
		}
		ck_assert_uint_eq(request.told, 1);
		if (wants[i] != POLICY_ASKED)
			ck_assert_str_eq(policy_reason_code(request.verdict.reason),
					 policy_reason_code(wants[i]));
	}
	ck_assert_uint_eq(fixture.workers_gone, 0);
	link_close();
}
END_TEST

START_TEST(a_report_crosses_the_link)
{
	struct gateway_report report = {
		.facts = { .way = POLICY_WAY_HTTP, .exec = FIXTURE_EXEC },
		.verdict = { .action = POLICY_ALLOW, .reason = POLICY_RULE_ALLOW },
		.closed = POLICY_DONE,
		.bytes_up = 5,
		.bytes_down = UINT64_C(1) << 40,
		.duration_ms = 9,
	};
	size_t count = 0;

	link_open(NULL);
	report.facts = fixture_facts("https://a.test:443", FIXTURE_EXEC);
	ck_assert_int_eq(addr_parse("192.0.2.7", 9, &report.resolved), 0);
	gateway_report(worker.client, &report);
	/* Refused because its host is not valid: the record is sent without the host. */
	memcpy(report.facts.dst.host, "A B\n", 5);
	report.verdict.action = POLICY_DENY;
	report.verdict.reason = POLICY_BAD_HOST;
	gateway_report(worker.client, &report);
	fixture_settle();
	const struct gateway_trip *trips = gateway_trips(fixture.gw, &count);

	ck_assert_uint_eq(count, 1);
	ck_assert_uint_eq(trips[0].connections, 1);
	ck_assert_uint_eq(trips[0].bytes_down, UINT64_C(1) << 40);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1);
	ck_assert_uint_eq(fixture_count_records("decision", "bad_host"), 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	link_close();
}
END_TEST

START_TEST(a_way_out_is_opened_and_closed)
{
	int ends[2], fds[1];

	link_open(NULL);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(write(ends[1], "!", 1), 1);
	fds[0] = ends[0];
	ck_assert_int_eq(gateway_open_way(fixture.gw, FIXTURE_EXEC, fds, 1), 0);
	fixture_settle();
	ck_assert_uint_eq(worker.opened, 1);
	ck_assert_uint_eq(worker.exec, FIXTURE_EXEC);
	ck_assert_int_eq(worker.heard, '!');
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	fixture_settle();
	ck_assert_uint_eq(worker.closed, 1);
	fd_close(ends[1]);
	link_close();
}
END_TEST

/* Its waiters hear why before the connections go. */
static void note_closed(struct fixture_request *self)
{
	ck_assert_uint_eq(worker.closed, 0);
}

START_TEST(an_execs_waiters_are_told_before_its_way_closes)
{
	struct fixture_request request = { .also = note_closed };

	link_open(NULL);
	remote_submit(&request, HOST);
	fixture_settle();
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	fixture_settle();
	fixture_expect(&request, POLICY_DENY, POLICY_EXEC_ENDED);
	ck_assert_uint_eq(worker.closed, 1);
	link_close();
}
END_TEST

START_TEST(without_a_worker_there_is_no_way_to_open)
{
	int ends[2];

	fixture_open(NULL);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(gateway_open_way(fixture.gw, FIXTURE_EXEC, &ends[0], 1), -EPIPE);
	ck_assert_int_eq(fcntl(ends[0], F_GETFD), -1); /* taken */
	fd_close(ends[1]);
	fixture_close();
}
END_TEST

START_TEST(a_worker_that_dies_withdraws_its_tickets)
{
	struct fixture_request request = { 0 };

	link_open(NULL);
	remote_submit(&request, HOST);
	fixture_settle();
	if (_i == 0) {
		ck_assert_int_eq(shutdown(worker.socket, SHUT_RDWR), 0); /* killed */
	} else { /* left in good order: it has said of each request why */
		gateway_client_free(worker.client);
		worker.client = NULL;
	}
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.retracted, 1);
	ck_assert_uint_eq(fixture.workers_gone, 1);
	ck_assert_uint_eq(fixture_count_records("decision", "worker_died"), _i == 0);
	link_close();
}
END_TEST

/* Told in this order: those who waited, then on_gone. */
static void note_gone(struct fixture_request *self)
{
	ck_assert_uint_eq(worker.gone, 0);
}

START_TEST(a_gateway_that_dies_denies_and_closes)
{
	struct fixture_request requests[3] = { { .also = note_gone }, { .also = note_gone } };

	link_open(NULL);
	remote_submit(&requests[0], HOST);
	remote_submit(&requests[1], "https://b.test:443");
	fixture_settle();
	gateway_free(fixture.gw);
	fixture.gw = NULL;
	fixture_settle();
	fixture_expect(&requests[0], POLICY_DENY, POLICY_GATE_CLOSING);
	fixture_expect(&requests[1], POLICY_DENY, POLICY_GATE_CLOSING);
	ck_assert_uint_eq(worker.gone, 1);
	remote_submit(&requests[2], HOST);
	ck_assert_uint_eq(requests[2].told, 0);
	fixture_settle();
	fixture_expect(&requests[2], POLICY_DENY, POLICY_GATE_CLOSING);
	ck_assert_uint_eq(worker.gone, 1);
	link_close();
}
END_TEST

static void free_client(struct fixture_request *self)
{
	gateway_client_free(worker.client);
	worker.client = NULL;
}

START_TEST(a_client_may_be_freed_in_its_callback)
{
	struct fixture_request requests[2] = { { .also = free_client }, { 0 } };

	link_open("deny a.test");
	remote_submit(&requests[0], HOST);
	remote_submit(&requests[1], HOST);
	if (_i == 1) { /* in the denial of a gateway that died */
		gateway_free(fixture.gw);
		fixture.gw = NULL;
	}
	fixture_settle();
	ck_assert_uint_eq(requests[0].told, 1);
	ck_assert_uint_eq(requests[1].told, 0);
	link_close();
}
END_TEST

static void on_finished(void *arg)
{
	unsigned int *count = arg;

	++*count;
}

START_TEST(finishing_waits_for_the_last_report)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	unsigned int finished = 0;

	link_open(NULL);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	gateway_finish(fixture.gw, 2000, on_finished, &finished);
	ck_assert_uint_eq(finished, 0);
	report.facts = fixture_facts(HOST, FIXTURE_EXEC);
	gateway_report(worker.client,
		       &report); /* behind the end, in front of the worker's answer */
	fixture_settle();
	ck_assert_uint_eq(finished, 1);
	ck_assert_uint_eq(worker.closed, 2); /* both execs */
	ck_assert_uint_eq(worker.gone, 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1);
	link_close();
}
END_TEST

static void on_drain(void *arg)
{
	unsigned int *count = arg;

	++*count;
}

/* The end that was asked for is no failure; the worker decides when. */
START_TEST(a_drained_worker_ends_when_it_says_so)
{
	struct gateway_report report = { .verdict = { .action = POLICY_ALLOW },
					 .closed = POLICY_DONE };
	unsigned int told = 0, drained = 0;

	link_open(NULL);
	gateway_client_on_drain(worker.client, on_drain, &told);
	gateway_drain(fixture.gw, on_finished, &drained);
	fixture_settle();
	ck_assert_uint_eq(told, 1);
	ck_assert_uint_eq(drained, 0);
	ck_assert_uint_eq(worker.closed + worker.gone, 0);
	report.facts = fixture_facts(HOST, FIXTURE_EXEC);
	gateway_report(worker.client, &report);
	gateway_client_drained(worker.client);
	fixture_settle();
	ck_assert_uint_eq(drained, 1);
	ck_assert_uint_eq(worker.gone, 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	ck_assert_uint_eq(fixture_count_records("closed", "done"), 1);
	link_close();
}
END_TEST

START_TEST(a_worker_that_drains_and_dies_has_failed)
{
	unsigned int drained = 0;
	int pair[2];

	fixture_open(NULL);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
	gateway_drain(fixture.gw, on_finished, &drained);
	fd_close(pair[1]);
	fixture_settle();
	ck_assert_uint_eq(drained, 0);
	ck_assert_uint_eq(fixture.workers_gone, 1);
	fixture_close();
}
END_TEST

/* The time is over before the worker is: what is left ends, and the worker's word comes late. */
START_TEST(draining_may_be_cut_short)
{
	unsigned int drained = 0, finished = 0;

	link_open(NULL);
	gateway_drain(fixture.gw, on_finished, &drained);
	gateway_finish(fixture.gw, 2000, on_finished, &finished);
	gateway_client_drained(worker.client);
	fixture_settle();
	ck_assert_uint_eq(drained, 0);
	ck_assert_uint_eq(finished, 1);
	ck_assert_uint_eq(worker.gone, 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	link_close();
}
END_TEST

START_TEST(a_worker_that_ends_unasked_has_failed)
{
	link_open(NULL);
	gateway_client_drained(worker.client);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 1);
	link_close();
}
END_TEST

START_TEST(finishing_does_not_wait_for_ever)
{
	unsigned int finished = 0;
	int pair[2];

	fixture_open(NULL);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_serve(fixture.gw, pair[0], 0, -1), 0);
	gateway_finish(fixture.gw, 2000, on_finished, &finished);
	loop_advance(fixture.loop, 1999);
	ck_assert_uint_eq(finished, 0);
	loop_advance(fixture.loop, 1);
	ck_assert_uint_eq(finished, 1);
	fd_close(pair[1]);
	fixture_settle();
	ck_assert_uint_eq(fixture.workers_gone, 0);
	fixture_close();
}
END_TEST

START_TEST(finishing_without_a_worker_is_soon_done)
{
	unsigned int finished = 0;

	fixture_open(NULL);
	gateway_finish(fixture.gw, 2000, on_finished, &finished);
	ck_assert_uint_eq(finished, 0);
	fixture_settle();
	ck_assert_uint_eq(finished, 1);
	fixture_close();
}
END_TEST

Suite *suite_link(void)
{
	Suite *suite = suite_create("link");
	TCase *tcase = tcase_create("link");

	tcase_add_test(tcase, a_verdict_comes_back_whole);
	tcase_add_test(tcase, one_question_for_both_clients);
	tcase_add_test(tcase, a_withdrawal_crosses_the_link);
	tcase_add_test(tcase, a_request_crosses_the_link);
	tcase_add_test(tcase, a_report_crosses_the_link);
	tcase_add_test(tcase, a_way_out_is_opened_and_closed);
	tcase_add_test(tcase, an_execs_waiters_are_told_before_its_way_closes);
	tcase_add_test(tcase, without_a_worker_there_is_no_way_to_open);
	tcase_add_loop_test(tcase, a_worker_that_dies_withdraws_its_tickets, 0, 2);
	tcase_add_test(tcase, a_gateway_that_dies_denies_and_closes);
	tcase_add_loop_test(tcase, a_client_may_be_freed_in_its_callback, 0, 2);
	tcase_add_test(tcase, finishing_waits_for_the_last_report);
	tcase_add_test(tcase, a_drained_worker_ends_when_it_says_so);
	tcase_add_test(tcase, a_worker_that_drains_and_dies_has_failed);
	tcase_add_test(tcase, draining_may_be_cut_short);
	tcase_add_test(tcase, a_worker_that_ends_unasked_has_failed);
	tcase_add_test(tcase, finishing_does_not_wait_for_ever);
	tcase_add_test(tcase, finishing_without_a_worker_is_soon_done);
	suite_add_tcase(suite, tcase);
	return suite;
}
