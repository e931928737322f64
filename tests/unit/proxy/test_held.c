/* A client that waits for a person, and its actions during that time. */
#include <sys/socket.h>

#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"

#define GET_HELD "GET http://{held}/ HTTP/1.1\r\nHost: {held}\r\n\r\n"

static const struct {
	enum rig_way way;
	const char *ask;
} ways[] = {
	{ RIG_HTTP, GET_HELD },
	{ RIG_HTTP, "CONNECT {held} HTTP/1.1\r\nHost: {held}\r\n\r\n" },
	{ RIG_SOCKS, NULL },
};

static int ask(struct rig *rig, int row)
{
	static const uint8_t greeting[] = { 5, 1, 0 };
	static const uint8_t request[] = "\x05\x01\x00\x03\x09held.test\x00\x50";
	int client = rig_connect(rig, ways[row].way);

	if (ways[row].ask) {
		rig_send(rig, client, ways[row].ask);
	} else {
		rig_send_bytes(rig, client, greeting, sizeof(greeting));
		rig_expect_bytes(rig, client, "\x05\x00", 2);
		rig_send_bytes(rig, client, request, sizeof(request) - 1);
	}
	rig_settle(rig);
	ck_assert_ptr_nonnull(rig->held);
	return client;
}

static void check_left(struct rig *rig)
{
	ck_assert_ptr_null(rig->held);
	ck_assert_uint_eq(rig->withdrawals, 1);
	ck_assert_int_eq(rig_report(rig, 1)->verdict.action, POLICY_DENY);
	ck_assert_int_eq(rig->reports[0].verdict.reason, POLICY_CLIENT_LEFT);
	ck_assert_str_eq(rig->reports[0].facts.dst.host, "held.test");
	ck_assert(rig_is_undialled(rig));
}

START_TEST(client_that_resets_has_left)
{
	struct linger now = { .l_onoff = 1 };
	struct rig rig;
	int client;

	rig_init(&rig);
	client = ask(&rig, _i);
	ck_assert_int_eq(setsockopt(client, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	rig_close(&rig, client);
	check_left(&rig);
	rig_done(&rig);
}
END_TEST

START_TEST(client_that_closes_has_left)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = ask(&rig, _i);
	rig_close(&rig, client);
	if (ways[_i].ask && _i == 0) {
		ck_assert_ptr_nonnull(rig.held); /* it may have half-closed, for a second */
		loop_advance(rig.loop, LIMITS_WATCH_MS);
	}
	check_left(&rig);
	rig_done(&rig);
}
END_TEST

/* Bytes that wait unread in front of the end do not hide it. */
START_TEST(client_that_closes_behind_more_bytes_has_left)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = ask(&rig, _i);
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_settle(&rig);
	rig_close(&rig, client);
	loop_advance(rig.loop, 2 * LIMITS_WATCH_MS);
	check_left(&rig);
	rig_done(&rig);
}
END_TEST

START_TEST(half_closed_request_is_answered)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send_bytes(&rig, client, "", 0);
	auto_free char *get = rig_expand(&rig, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	ck_assert_int_gt(send(client, get, __builtin_strlen(get), 0), 0);
	ck_assert_int_eq(shutdown(client, SHUT_WR), 0);
	server = rig_accept(&rig);
	rig_expect(&rig, server, "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n");
	loop_advance(rig.loop, 5000);
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect(&rig, client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	rig_done(&rig);
}
END_TEST

START_TEST(held_client_stays_as_long_as_it_takes)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = ask(&rig, _i);
	loop_advance(rig.loop, 600000);
	ck_assert_ptr_nonnull(rig.held);
	rig_answer(&rig, POLICY_DENY, POLICY_PROMPT_TIMEOUT);
	if (ways[_i].ask)
		rig_expect(&rig, client,
			   "HTTP/1.1 403 Forbidden\r\nx-sallyport-reason: prompt_timeout\r\n");
	else
		rig_expect_bytes(&rig, client, "\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00", 10);
	ck_assert_uint_eq(rig.report_count, 0); /* the gateway wrote it down */
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(body_waits_for_the_answer)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "POST http://{held}/ HTTP/1.1\r\nHost: {held}\r\nContent-Length: 6\r\n\r\nabc");
	rig_settle(&rig);
	rig_send(&rig, client, "def");
	loop_advance(rig.loop, 5000);
	ck_assert(rig_is_undialled(&rig));
	rig_answer(&rig, POLICY_ALLOW, POLICY_GRANTED_ONCE);
	server = rig_accept(&rig);
	rig_expect(&rig, server,
		   "POST / HTTP/1.1\r\nHost: {held}\r\nContent-Length: 6\r\n\r\nabcdef");
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(exec_that_ends_takes_its_waiters_along)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = ask(&rig, _i);
	proxy_close(rig.proxy, RIG_EXEC);
	ck_assert_ptr_null(rig.held);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_EXEC_ENDED);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

TCase *test_held(void)
{
	TCase *tcase = tcase_create("held");
	const int count = (int)ARRAY_SIZE(ways);

	tcase_add_loop_test(tcase, client_that_resets_has_left, 0, count);
	tcase_add_loop_test(tcase, client_that_closes_has_left, 0, count);
	tcase_add_loop_test(tcase, client_that_closes_behind_more_bytes_has_left, 0, count);
	tcase_add_test(tcase, half_closed_request_is_answered);
	tcase_add_loop_test(tcase, held_client_stays_as_long_as_it_takes, 0, count);
	tcase_add_test(tcase, body_waits_for_the_answer);
	tcase_add_loop_test(tcase, exec_that_ends_takes_its_waiters_along, 0, count);
	return tcase;
}
