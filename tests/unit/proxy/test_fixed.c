/* A tunnel promised as http: HTTP/1 to the one approved authority, and nothing else. */
#include <string.h>

#include "tests/unit/proxy/rig.h"

#define OK_HI       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

static int tunnel(struct rig *rig, int *ret_server)
{
	int client = rig_connect(rig, RIG_HTTP);

	rig->promise = POLICY_HTTP;
	rig_send(rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	*ret_server = rig_accept(rig);
	rig_expect(rig, client, ESTABLISHED);
	return client;
}

START_TEST(requests_in_a_row)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, &server);
	rig_send(&rig, client,
		 "GET /1 HTTP/1.1\r\nHost: {a}\r\n\r\n"
		 "POST http://{a}/2 HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nab");
	rig_expect(&rig, server, "GET /1 HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	rig_expect(&rig, server, "POST /2 HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nab");
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	rig_close(&rig, client);
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	ck_assert_uint_eq(rig.submits, 1);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_CLIENT_CLOSED);
	ck_assert_int_eq(rig.reports[0].verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(rig.reports[0].facts.way, POLICY_WAY_CONNECT);
	rig_done(&rig);
}
END_TEST

static const struct {
	const char *ask;
	enum policy_reason reason;
} refused[] = {
	{ "GET / HTTP/1.1\r\nHost: {b}\r\n\r\n", POLICY_HOST_MISMATCH },
	{ "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", POLICY_HOST_MISMATCH }, /* port 80 */
	{ "GET / HTTP/1.0\r\n\r\n", POLICY_HOST_MISMATCH },
	{ "GET http://{b}/ HTTP/1.1\r\nHost: {b}\r\n\r\n", POLICY_HOST_MISMATCH },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {b}\r\n\r\n", POLICY_HOST_MISMATCH },
	{ "GET http://{b}/ HTTP/1.1\r\nHost: {a}\r\n\r\n", POLICY_HOST_MISMATCH },
	{ "GET http://{a}/ HTTP/1.1\r\nHost:\r\n\r\n", POLICY_HOST_MISMATCH },
	{ "CONNECT {b} HTTP/1.1\r\nHost: {b}\r\n\r\n", POLICY_NOT_HTTP },
	{ "\x16\x03\x01\x02\x01\x01", POLICY_NOT_HTTP },
	{ "SSH-2.0-x y\r\n\r\n", POLICY_NOT_HTTP },
};

START_TEST(other_bytes_get_nowhere)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, &server);
	rig_send(&rig, client, refused[_i].ask);
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\nx-sallyport-reason: ");
	free(rig_read(&rig, client, NULL));
	rig_expect_end(&rig, server, false);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.action, POLICY_DENY);
	ck_assert_int_eq(rig.reports[0].verdict.reason, refused[_i].reason);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* The second request is held to it as the first was. */
START_TEST(second_request_to_another_host)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, &server);
	rig_send(&rig, client, "GET /1 HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_expect(&rig, server, "GET /1 HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	rig_send(&rig, client, refused[_i].ask);
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\n");
	rig_expect_end(&rig, server, false);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(server_that_closes_ends_the_tunnel)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, &server);
	rig_send(&rig, client, "GET /1 HTTP/1.1\r\nHost: {a}\r\n\r\n");
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\n\r\nhi");
	rig_settle(&rig);
	rig_close(&rig, server);
	rig_expect(&rig, client,
		   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
		   "2\r\nhi\r\n0\r\n\r\n");
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	rig_done(&rig);
}
END_TEST

/* There is no other connection to try it on. */
START_TEST(nothing_is_retried)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = tunnel(&rig, &server);
	rig_send(&rig, client, "GET /1 HTTP/1.1\r\nHost: {a}\r\n\r\n");
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	rig_send(&rig, client, "GET /2 HTTP/1.1\r\nHost: {a}\r\n\r\n");
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_close(&rig, server);
	rig_expect(&rig, client, "HTTP/1.1 502 Bad Gateway\r\n");
	ck_assert(rig_is_undialled(&rig));
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

TCase *test_fixed(void)
{
	TCase *tcase = tcase_create("fixed");

	tcase_add_test(tcase, requests_in_a_row);
	tcase_add_loop_test(tcase, other_bytes_get_nowhere, 0, (int)ARRAY_SIZE(refused));
	tcase_add_loop_test(tcase, second_request_to_another_host, 0, (int)ARRAY_SIZE(refused));
	tcase_add_test(tcase, server_that_closes_ends_the_tunnel);
	tcase_add_test(tcase, nothing_is_retried);
	return tcase;
}
