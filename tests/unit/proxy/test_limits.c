/* The limits of a verdict are exact to the byte and to the second, on every path. */
#include <stdio.h>
#include <string.h>

#include "tests/unit/proxy/rig.h"

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

static void init(struct rig *rig, uint64_t upload, uint64_t download, uint64_t lease)
{
	rig_init(rig);
	rig->promise = POLICY_TCP;
	rig->limits.upload = rig->left[GATEWAY_UP] = upload;
	rig->limits.download = rig->left[GATEWAY_DOWN] = download;
	rig->lease = lease;
}

static int open_tunnel(struct rig *rig, int *ret_server)
{
	int client = rig_connect(rig, RIG_HTTP);

	rig_send(rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	*ret_server = rig_accept(rig);
	rig_expect(rig, client, ESTABLISHED);
	return client;
}

static void expect_told(struct rig *rig, int client, const char *code)
{
	auto_free char *answer = rig_read(rig, client, "\r\n\r\n");

	ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 403 "));
	ck_assert_ptr_nonnull(strstr(answer, code));
}

static void expect_report(struct rig *rig, size_t count, enum policy_reason closed, uint64_t up,
			  uint64_t down)
{
	const struct gateway_report *report = rig_report(rig, count);

	ck_assert_str_eq(policy_reason_code(report->closed), policy_reason_code(closed));
	ck_assert_int_eq(report->verdict.action, POLICY_ALLOW);
	if (up)
		ck_assert_uint_eq(report->bytes_up, up);
	if (down)
		ck_assert_uint_eq(report->bytes_down, down);
}

static void end(struct rig *rig, int client, int server)
{
	rig_close(rig, client);
	rig_close(rig, server);
	rig_done(rig);
}

/* Leases of every size that matters: larger than the budget, equal, and one byte. */
static const uint64_t leases[] = { 100, 10, 9, 4, 1 };

START_TEST(a_tunnel_sends_no_byte_more)
{
	struct rig rig;
	int server, client;

	init(&rig, 10, 0, leases[_i]);
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "01234");
	rig_expect(&rig, server, "01234");
	rig_send(&rig, client, "56789");
	rig_expect(&rig, server, "56789");
	rig_expect_quiet(&rig, client);
	rig_send(&rig, client, "x");
	rig_expect_end(&rig, server, true);
	rig_expect_end(&rig, client, true);
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 10, 0);
	end(&rig, client, server);
}
END_TEST

START_TEST(a_tunnel_sends_the_allowed_part)
{
	struct rig rig;
	int server, client;

	init(&rig, 10, 0, leases[_i]);
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "0123456789abcdef");
	rig_expect(&rig, server, "0123456789");
	rig_expect_end(&rig, server, true);
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 10, 0);
	end(&rig, client, server);
}
END_TEST

/* What comes right behind the CONNECT waits in another place. */
START_TEST(early_bytes_count_too)
{
	struct rig rig;
	int server, client;

	init(&rig, 10, 0, leases[_i]);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n0123456789abc");
	server = rig_accept(&rig);
	rig_expect(&rig, server, "0123456789");
	rig_expect_end(&rig, server, true);
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 10, 0);
	end(&rig, client, server);
}
END_TEST

START_TEST(a_tunnel_may_use_all_of_it)
{
	struct rig rig;
	int server, client;

	init(&rig, 10, 4, leases[_i]);
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "0123456789");
	rig_shut(&rig, client);
	rig_expect(&rig, server, "0123456789");
	rig_expect_end(&rig, server, false);
	rig_send(&rig, server, "done");
	rig_shut(&rig, server);
	rig_expect(&rig, client, "done");
	rig_expect_end(&rig, client, false);
	expect_report(&rig, 1, POLICY_DONE, 10, 4);
	end(&rig, client, server);
}
END_TEST

START_TEST(a_tunnel_receives_no_byte_more)
{
	struct rig rig;
	int server, client;

	init(&rig, 0, 10, leases[_i]);
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "anything, and as much as it likes");
	rig_expect(&rig, server, "anything, and as much as it likes");
	rig_send(&rig, server, "0123456789a");
	rig_expect(&rig, client, "0123456789");
	rig_expect_end(&rig, client, true);
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 33, 10);
	end(&rig, client, server);
}
END_TEST

/* Head and body, as they are sent. Until an answer has begun the client is told. */
static const struct {
	const char *body;
	uint64_t upload;
} uploads[] = {
	{ "Content-Length: 40\r\n\r\n0123456789012345678901234567890123456789", 1 },
	{ "Content-Length: 40\r\n\r\n0123456789012345678901234567890123456789", 30 },
	{ "Content-Length: 40\r\n\r\n0123456789012345678901234567890123456789", 60 },
	{ "Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", 70 },
};

START_TEST(a_request_sends_no_byte_more)
{
	struct rig rig;
	int server, client;

	init(&rig, uploads[_i % 4].upload, 0, leases[_i / 4]);
	client = rig_connect(&rig, RIG_HTTP);
	auto_free char *request =
		mem_printf("POST http://{a}/x HTTP/1.1\r\nHost: {a}\r\n%s", uploads[_i % 4].body);
	rig_send(&rig, client, request);
	server = rig_accept(&rig);
	auto_free char *got = rig_read(&rig, server, NULL);

	ck_assert_uint_eq(strlen(got), uploads[_i % 4].upload);
	expect_told(&rig, client, "budget_spent");
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, uploads[_i % 4].upload, 0);
	end(&rig, client, server);
}
END_TEST

/* The same request within its budget is the one that goes without. */
START_TEST(a_request_is_sent_whole)
{
	static const char post[] = "POST http://{a}/x HTTP/1.1\r\nHost: {a}\r\n"
				   "Content-Length: 20\r\n\r\n01234567890123456789";
	auto_free char *want = NULL;

	for (int i = 0; i < 2; i++) {
		struct rig rig;
		int server, client;

		init(&rig, i ? strlen(want) : 0, 0, leases[_i]);
		client = rig_connect(&rig, RIG_HTTP);
		rig_send(&rig, client, post);
		server = rig_accept(&rig);
		auto_free char *head = rig_read(&rig, server, "\r\n\r\n");

		rig_expect(&rig, server, "01234567890123456789");
		if (i == 0)
			want = mem_printf("%s01234567890123456789", head);
		rig_send(&rig, server, "HTTP/1.1 204 No\r\n\r\n");
		rig_expect(&rig, client, "HTTP/1.1 204 No\r\n\r\n");
		rig_close(&rig, client);
		rig_settle(&rig);
		expect_report(&rig, 1, POLICY_DONE, i ? strlen(want) : 0, 0);
		ck_assert_int_eq(rig.asks > 0, i > 0); /* without limits nothing is asked */
		rig_close(&rig, server);
		rig_done(&rig);
	}
}
END_TEST

START_TEST(an_answer_is_cut_at_its_budget)
{
	struct rig rig;
	int server, client;

	init(&rig, 0, 50, leases[_i]);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	/* 40 bytes of head, 10 of its 20 bytes of body */
	rig_send(&rig, server,
		 "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n"
		 "a0123456789abcdefghi");
	free(rig_read(&rig, client, "a01234567"));
	rig_settle(&rig);
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 0, 50);
	end(&rig, client, server);
}
END_TEST

START_TEST(half_a_head_is_told)
{
	struct rig rig;
	int server, client;

	init(&rig, 0, 20, leases[_i]);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
	expect_told(&rig, client, "budget_spent");
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 0, 20);
	end(&rig, client, server);
}
END_TEST

/* Every request on a kept connection uses the remaining budget. */
START_TEST(kept_requests_share_it)
{
	struct rig rig;
	int server, client;

	init(&rig, 0, 50, leases[_i]);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"); /* 39 */
	free(rig_read(&rig, client, "\r\n\r\nx"));
	rig_settle(&rig);
	expect_report(&rig, 1, POLICY_DONE, 0, 39);
	rig.left[GATEWAY_DOWN] = 50 - 39; /* what it had and did not use */
	rig_send(&rig, client, "GET http://{a}/y HTTP/1.1\r\nHost: {a}\r\n\r\n");
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
	expect_told(&rig, client, "budget_spent");
	expect_report(&rig, 2, POLICY_BUDGET_SPENT, 0, 11);
	end(&rig, client, server);
}
END_TEST

/* A tunnel that is held to http is one request, whatever it carries. */
START_TEST(a_fixed_tunnel_is_one)
{
	static const char get[] = "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n";
	struct rig rig;
	int server, client;

	init(&rig, 0, 50, leases[_i]);
	rig.promise = POLICY_HTTP;
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, get);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
	free(rig_read(&rig, client, "\r\n\r\nx"));
	rig_send(&rig, client, get);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
	expect_told(&rig, client, "budget_spent");
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 0, 50);
	end(&rig, client, server);
}
END_TEST

/* A recalled lease is not spent, and has to be requested again. */
START_TEST(a_recall_is_answered_at_once)
{
	struct rig rig;
	int server, client;

	init(&rig, 100, 0, 60);
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "01234");
	rig_expect(&rig, server, "01234");
	ck_assert_uint_eq(rig.left[GATEWAY_UP], 40);
	rig_recall(&rig);
	ck_assert_uint_eq(rig.returns, 1);
	ck_assert_uint_eq(rig.left[GATEWAY_UP], 95);
	rig.left[GATEWAY_UP] = 3; /* another had the rest */
	rig_send(&rig, client, "56789");
	rig_expect(&rig, server, "567");
	rig_expect_end(&rig, server, true);
	expect_report(&rig, 1, POLICY_BUDGET_SPENT, 8, 0);
	end(&rig, client, server);
}
END_TEST

/* Without an answer nothing is sent. */
START_TEST(a_late_lease_is_a_cut)
{
	struct rig rig;
	int server, client;

	init(&rig, 100, 0, 100);
	rig.keeps_leases = true;
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "01234");
	rig_expect_quiet(&rig, server);
	loop_advance(rig.loop, 4999);
	rig_expect_quiet(&rig, server);
	loop_advance(rig.loop, 1);
	rig_expect_end(&rig, server, true);
	rig_expect_end(&rig, client, true);
	expect_report(&rig, 1, POLICY_OVERLOADED, 0, 0);
	ck_assert_uint_eq(rig.reports[0].bytes_up, 0);
	ck_assert_uint_eq(rig.asks, 1);
	end(&rig, client, server);
}
END_TEST

/* The next lease is asked for before the last is used up: a stream does not wait. */
START_TEST(it_asks_ahead)
{
	struct rig rig;
	int server, client;
	auto_free char *bytes = mem_new(100001);

	memset(bytes, 'x', 100000);
	init(&rig, 1 << 24, 0, (1 << 20) + 50000);
	client = open_tunnel(&rig, &server);
	ck_assert_uint_eq(rig.asks, 1);
	rig_send(&rig, client, bytes);
	rig_expect(&rig, server, bytes);
	ck_assert_uint_eq(rig.asks, 2);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_settle(&rig);
	rig_done(&rig);
}
END_TEST

static int64_t now_s(const struct rig *rig)
{
	return loop_wall_us(rig->loop) / 1000000;
}

START_TEST(a_tunnel_ends_with_its_time)
{
	struct rig rig;
	int server, client;

	init(&rig, 0, 0, 0);
	rig.limits.until_s = now_s(&rig) + 2;
	client = open_tunnel(&rig, &server);
	rig_send(&rig, client, "01234");
	rig_expect(&rig, server, "01234");
	loop_advance(rig.loop, 999);
	rig_expect_quiet(&rig, client);
	loop_advance(rig.loop, 1001);
	rig_expect_end(&rig, client, true);
	rig_expect_end(&rig, server, true);
	expect_report(&rig, 1, POLICY_EXPIRED, 5, 0);
	end(&rig, client, server);
}
END_TEST

START_TEST(a_request_ends_with_its_time)
{
	struct rig rig;
	int server, client;

	init(&rig, 0, 0, 0);
	rig.limits.until_s = now_s(&rig) + 2;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	loop_advance(rig.loop, 2000);
	expect_told(&rig, client, "expired");
	rig_expect_end(&rig, server, false);
	expect_report(&rig, 1, POLICY_EXPIRED, 0, 0);
	end(&rig, client, server);
}
END_TEST

/* Its verdict was late: it is over before it begins. */
START_TEST(a_time_that_is_over)
{
	struct rig rig;
	int client;

	init(&rig, 0, 0, 0);
	rig.limits.until_s = 1;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{held}/x HTTP/1.1\r\nHost: {held}\r\n\r\n");
	rig_answer(&rig, POLICY_ALLOW, POLICY_RULE_ALLOW);
	rig_settle(&rig);
	loop_advance(rig.loop, 1);
	expect_told(&rig, client, "expired");
	rig_close(&rig, client);
	rig_settle(&rig);
	rig_done(&rig);
}
END_TEST

TCase *test_limits(void)
{
	TCase *tcase = tcase_create("limits");
	int all = ARRAY_SIZE(leases);

	tcase_add_loop_test(tcase, a_tunnel_sends_no_byte_more, 0, all);
	tcase_add_loop_test(tcase, a_tunnel_sends_the_allowed_part, 0, all);
	tcase_add_loop_test(tcase, early_bytes_count_too, 0, all);
	tcase_add_loop_test(tcase, a_tunnel_may_use_all_of_it, 0, all);
	tcase_add_loop_test(tcase, a_tunnel_receives_no_byte_more, 0, all);
	tcase_add_loop_test(tcase, a_request_sends_no_byte_more, 0, 4 * all);
	tcase_add_loop_test(tcase, a_request_is_sent_whole, 0, all);
	tcase_add_loop_test(tcase, an_answer_is_cut_at_its_budget, 0, all);
	tcase_add_loop_test(tcase, half_a_head_is_told, 0, all);
	tcase_add_loop_test(tcase, kept_requests_share_it, 0, all);
	tcase_add_loop_test(tcase, a_fixed_tunnel_is_one, 0, all);
	tcase_add_test(tcase, a_recall_is_answered_at_once);
	tcase_add_test(tcase, a_late_lease_is_a_cut);
	tcase_add_test(tcase, it_asks_ahead);
	tcase_add_test(tcase, a_tunnel_ends_with_its_time);
	tcase_add_test(tcase, a_request_ends_with_its_time);
	tcase_add_test(tcase, a_time_that_is_over);
	return tcase;
}
