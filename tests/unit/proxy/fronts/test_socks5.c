/* The SOCKS5 front: greetings, requests, replies. */
#include <string.h>

#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"

/* A request for CONNECT by name (@host) at @port; its length. */
static size_t write_request(uint8_t *out, const char *host, uint16_t port)
{
	size_t len = strlen(host);

	memcpy(out, "\x05\x01\x00\x03", 4);
	out[4] = (uint8_t)len;
	memcpy(out + 5, host, len);
	out[5 + len] = (uint8_t)(port >> 8);
	out[6 + len] = (uint8_t)port;
	return len + 7;
}

static void expect_reply(struct rig *rig, int client, uint8_t reply)
{
	const uint8_t bytes[10] = { 5, reply, 0, 1 };

	rig_expect_bytes(rig, client, bytes, sizeof(bytes));
}

static int greet(struct rig *rig)
{
	int client = rig_connect(rig, RIG_SOCKS);

	rig_send_bytes(rig, client, "\x05\x02\x02\x00", 4);
	rig_expect_bytes(rig, client, "\x05\x00", 2);
	return client;
}

START_TEST(name_is_carried)
{
	uint8_t request[300];
	struct rig rig;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = greet(&rig);
	rig_send_bytes(&rig, client, request, write_request(request, "A.test", rig.port));
	server = rig_accept(&rig);
	expect_reply(&rig, client, 0);
	ck_assert_str_eq(rig.asked.dst.host, "a.test");
	ck_assert_int_eq(rig.asked.way, POLICY_WAY_SOCKS5);
	ck_assert_int_eq(rig.asked.carries, POLICY_TCP);
	rig_send(&rig, server, "hi");
	rig_expect(&rig, client, "hi");
	rig_send(&rig, client, "ho");
	rig_expect(&rig, server, "ho");
	rig_close(&rig, client);
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	rig_done(&rig);
}
END_TEST

START_TEST(login_is_accepted_and_forgotten)
{
	uint8_t request[300];
	struct rig rig;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = rig_connect(&rig, RIG_SOCKS);
	rig_send_bytes(&rig, client, "\x05\x01\x02", 3);
	rig_expect_bytes(&rig, client, "\x05\x02", 2);
	rig_send_bytes(&rig, client, "\x01\x02me\x02pw", 7);
	rig_expect_bytes(&rig, client, "\x01\x00", 2);
	rig_send_bytes(&rig, client, request, write_request(request, "a.test", rig.port));
	server = rig_accept(&rig);
	expect_reply(&rig, client, 0);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* All in one segment, the first bytes of the tunnel as well. */
START_TEST(eager_client)
{
	uint8_t bytes[300] = { 5, 1, 0 };
	struct rig rig;
	size_t len;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = rig_connect(&rig, RIG_SOCKS);
	len = 3 + write_request(bytes + 3, "a.test", rig.port);
	memcpy(bytes + len, "early", 5);
	rig_send_bytes(&rig, client, bytes, len + 5);
	server = rig_accept(&rig);
	rig_expect_bytes(&rig, client, "\x05\x00", 2);
	expect_reply(&rig, client, 0);
	rig_expect(&rig, server, "early");
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *request;
	size_t len;
	uint8_t reply;
	enum policy_reason reason;
} rows[] = {
	{ "\x05\x01\x00\x03\x0b"
	  "denied.test\x00\x50",
	  18, 2, POLICY_NONE },
	{ "\x05\x02\x00\x03\x06"
	  "a.test\x00\x50",
	  13, 7, POLICY_UNSUPPORTED },
	{ "\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00", 10, 7, POLICY_UNSUPPORTED },
	{ "\x05\x01\x00\x05\x00\x00", 6, 8, POLICY_UNSUPPORTED },
	/* N01: a NUL in the name */
	{ "\x05\x01\x00\x03\x0d"
	  "b.test\x00"
	  "a.test\x00\x50",
	  20, 1, POLICY_BAD_HOST },
	{ "\x05\x01\x00\x03\x06"
	  "a.test\x00\x00",
	  13, 1, POLICY_MALFORMED },
	{ "\x05\x01\x00\x03\x06"
	  "a\r\ntes\x00\x50",
	  13, 1, POLICY_BAD_HOST },
	{ "\x05\x01\x00\x01\x00\x00\x00\x00\x00\x50", 10, 2, POLICY_SPECIAL_ADDRESS },
	{ "\x05\x01\x00\x01\xa9\xfe\xa9\xfe\x00\x50", 10, 2, POLICY_METADATA_ADDRESS },
};

START_TEST(refusal_is_told)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = greet(&rig);
	rig_send_bytes(&rig, client, rows[_i].request, rows[_i].len);
	expect_reply(&rig, client, rows[_i].reply);
	rig_expect_end(&rig, client, false);
	ck_assert(rig_is_undialled(&rig));
	if (rows[_i].reason)
		ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, rows[_i].reason);
	else
		ck_assert_uint_eq(rig.report_count, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* What nobody decided is told apart from what somebody denied. */
static const struct {
	enum policy_reason reason;
	uint8_t reply;
} answers[] = {
	{ POLICY_DENIED_ONCE, 2 },   { POLICY_ANSWER_DENY, 2 }, { POLICY_DEFAULT_DENY, 2 },
	{ POLICY_EXPIRED, 2 },       { POLICY_NO_APPROVER, 1 }, { POLICY_PROMPT_TIMEOUT, 1 },
	{ POLICY_APPROVER_GONE, 1 },
};

START_TEST(unanswered_is_no_denial)
{
	uint8_t request[300];
	struct rig rig;
	int client;

	rig_init(&rig);
	client = greet(&rig);
	rig_send_bytes(&rig, client, request, write_request(request, "held.test", rig.port));
	rig_settle(&rig);
	rig_answer(&rig, POLICY_DENY, answers[_i].reason);
	expect_reply(&rig, client, answers[_i].reply);
	rig_expect_end(&rig, client, false);
	ck_assert(rig_is_undialled(&rig));
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(refused_by_the_server)
{
	uint8_t request[300];
	struct rig rig;
	int client;

	rig_init(&rig);
	client = greet(&rig);
	rig_send_bytes(&rig, client, request, write_request(request, "a.test", rig.dead));
	expect_reply(&rig, client, 5);
	rig_expect_end(&rig, client, false);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_CONNECT_REFUSED);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(own_listeners)
{
	uint8_t request[300];
	struct rig rig;
	int client;

	rig_init(&rig);
	client = greet(&rig);
	rig_send_bytes(&rig, client, request,
		       write_request(request, "localhost", rig.ports[RIG_HTTP]));
	expect_reply(&rig, client, 2);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_OWN_LISTENER);
	ck_assert_uint_eq(rig.submits, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(no_common_method)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_SOCKS);
	rig_send_bytes(&rig, client, "\x05\x01\x01", 3);
	rig_expect_bytes(&rig, client, "\x05\xff", 2);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(other_protocols_end)
{
	static const char *const first[] = { "GET / HTTP/1.1\r\n\r\n", "\x04\x01\x01\xbb",
					     "SSH-2.0-x" };
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_SOCKS);
	rig_send(&rig, client, first[_i]);
	rig_expect_end(&rig, client, false);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_MALFORMED);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(greeting_that_never_ends)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_SOCKS);
	rig_send_bytes(&rig, client, "\x05\x02", 2);
	loop_advance(rig.loop, LIMITS_HEAD_MS);
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* Port 80 by SOCKS5 carries http: the tunnel is held to it. */
START_TEST(promise_of_http_holds_here_too)
{
	uint8_t request[300];
	struct rig rig;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_HTTP;
	client = greet(&rig);
	rig_send_bytes(&rig, client, request, write_request(request, "a.test", rig.port));
	server = rig_accept(&rig);
	expect_reply(&rig, client, 0);
	rig_send(&rig, client, "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_expect(&rig, server, "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_send(&rig, server, "HTTP/1.1 204 No\r\n\r\n");
	rig_expect(&rig, client, "HTTP/1.1 204 No\r\n\r\n");
	rig_send(&rig, client, "GET / HTTP/1.1\r\nHost: {b}\r\n\r\n");
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\nx-sallyport-reason: host_mismatch\r\n");
	rig_expect_end(&rig, server, false);
	ck_assert_int_eq(rig_report(&rig, 1)->facts.way, POLICY_WAY_SOCKS5);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

TCase *test_socks5(void)
{
	TCase *tcase = tcase_create("socks5");

	tcase_add_test(tcase, name_is_carried);
	tcase_add_test(tcase, login_is_accepted_and_forgotten);
	tcase_add_test(tcase, eager_client);
	tcase_add_loop_test(tcase, refusal_is_told, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tcase, unanswered_is_no_denial, 0, (int)ARRAY_SIZE(answers));
	tcase_add_test(tcase, refused_by_the_server);
	tcase_add_test(tcase, own_listeners);
	tcase_add_test(tcase, no_common_method);
	tcase_add_loop_test(tcase, other_protocols_end, 0, 3);
	tcase_add_test(tcase, greeting_that_never_ends);
	tcase_add_test(tcase, promise_of_http_holds_here_too);
	return tcase;
}
