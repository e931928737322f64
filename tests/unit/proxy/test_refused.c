/* Refused requests, the responses to them, and the state of the connection. */
#include <stdio.h>
#include <string.h>

#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"

#define WEBSOCKET                                                                                  \
	"GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
#define WEBSOCKET_KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static const struct {
	const char *ask;
	const char *status;
	enum policy_reason reason;
	bool stays;
	bool is_reported; /* by us; else the gateway decided it */
} rows[] = {
	{ "GET http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\n\r\n", "403 Forbidden",
	  POLICY_RULE_DENY, true, false },
	{ "GET http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\nConnection: close\r\n\r\n",
	  "403 Forbidden", POLICY_RULE_DENY, false, false },
	{ "GET http://{denied}/ HTTP/1.0\r\n\r\n", "403 Forbidden", POLICY_RULE_DENY, false,
	  false },
	{ "CONNECT {denied} HTTP/1.1\r\nHost: {denied}\r\n\r\n", "403 Forbidden", POLICY_RULE_DENY,
	  false, false },
	/* a body that is here, or soon: thrown away; one that waits to be asked for, or is long:
	   not waited for */
	{ "POST http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\nContent-Length: 2\r\n\r\nab",
	  "403 Forbidden", POLICY_RULE_DENY, true, false },
	{ "POST http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\nTransfer-Encoding: chunked\r\n\r\n"
	  "2\r\nab\r\n0\r\n\r\n",
	  "403 Forbidden", POLICY_RULE_DENY, true, false },
	{ "POST http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\nContent-Length: 2\r\n"
	  "Expect: 100-continue\r\n\r\n",
	  "403 Forbidden", POLICY_RULE_DENY, false, false },
	{ "POST http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\nContent-Length: 99999999\r\n\r\n",
	  "403 Forbidden", POLICY_RULE_DENY, false, false },
	/* refused before anyone is asked */
	{ "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n", "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "GET https://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n", "501 Not Implemented",
	  POLICY_UNSUPPORTED, false, true },
	{ "GET ftp://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n", "501 Not Implemented", POLICY_NO_FTP,
	  false, true },
	{ "GET gopher://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "TRACE http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {b}\r\n\r\n", "403 Forbidden", POLICY_HOST_MISMATCH,
	  true, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: a.test:1\r\n\r\n", "403 Forbidden",
	  POLICY_HOST_MISMATCH, true, true },
	{ "GET http://256.1.1.1/ HTTP/1.1\r\nHost: 256.1.1.1\r\n\r\n", "400 Bad Request",
	  POLICY_BAD_HOST, false, true },
	{ "GET http://a.test:0/ HTTP/1.1\r\nHost: a.test:0\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\nContent-Length: 3\r\n\r\nabc", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	/* what an application reads as a field that we judge, write or take away */
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nX_HTTP_Method_Override: DELETE\r\n\r\n",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nx-original_url: /b\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nX_Forwarded_For: 1.2.3.4\r\n\r\n",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nX.Forwarded.Any: 1\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent_Length: 1\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nTransfer!Encoding: chunked\r\n\r\n",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	/* a Host field beside a URL says the same in the same letters */
	{ "GET http://a.test/ HTTP/1.1\r\nHost:\r\n\r\n", "403 Forbidden", POLICY_HOST_MISMATCH,
	  true, true },
	{ "GET http://a.test/ HTTP/1.0\r\nHost:\r\n\r\n", "403 Forbidden", POLICY_HOST_MISMATCH,
	  false, true },
	{ "GET http://a.test/ HTTP/1.1\r\nHost: a.test.\r\n\r\n", "403 Forbidden",
	  POLICY_HOST_MISMATCH, true, true },
	{ "GET http://a.test./ HTTP/1.1\r\nHost: a.test\r\n\r\n", "403 Forbidden",
	  POLICY_HOST_MISMATCH, true, true },
	{ "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.1\r\n\r\n", "403 Forbidden",
	  POLICY_HOST_MISMATCH, true, true },
	/* what a strict server refuses */
	{ "GET http://{a}/%00 HTTP/1.1\r\nHost: {a}\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "GET http://{a}/../x HTTP/1.1\r\nHost: {a}\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nExpect: 200-ok\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nExpect: 100-continue\r\nExpect: x\r\n\r\n",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "PRI http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
	  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 1\r\n\r\na",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
	  "\r\n",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	{ WEBSOCKET "Sec-WebSocket-Key:\r\n\r\n", "400 Bad Request", POLICY_MALFORMED, false,
	  true },
	{ WEBSOCKET "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ WEBSOCKET "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ!=\r\n\r\n", "400 Bad Request",
	  POLICY_MALFORMED, false, true },
	{ WEBSOCKET WEBSOCKET_KEY WEBSOCKET_KEY "\r\n", "400 Bad Request", POLICY_MALFORMED, false,
	  true },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "\x16\x03\x01\x02\x00\x01", "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 1\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n",
	  "400 Bad Request", POLICY_MALFORMED, false, true },
	{ "CONNECT sallyport.internal:443 HTTP/1.1\r\n\r\n", "400 Bad Request", POLICY_MALFORMED,
	  false, true },
	{ "CONNECT sallyport.internal:443 HTTP/1.1\r\nHost: x\r\n\r\n", "403 Forbidden",
	  POLICY_OWN_LISTENER, false, true },
};

START_TEST(refusal_is_told)
{
	struct rig rig;
	char want[64];
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, rows[_i].ask);
	auto_free char *answer = rig_read(&rig, client, "next: ");
	(void)snprintf(want, sizeof(want), "HTTP/1.1 %s\r\nx-sallyport-reason: %s\r\n",
		       rows[_i].status, policy_reason_code(rows[_i].reason));
	ck_assert_msg(!strncmp(answer, want, strlen(want)), "wanted %s\ngot %s", want, answer);
	ck_assert_ptr_nonnull(strstr(answer, "cache-control: no-store\r\n"));
	ck_assert_int_eq(strstr(answer, "connection: close\r\n") == NULL, rows[_i].stays);
	free(rig_read(&rig, client, "\n"));
	if (rows[_i].stays)
		rig_expect_quiet(&rig, client);
	else
		rig_expect_end(&rig, client, false);
	ck_assert(rig_is_undialled(&rig));
	ck_assert_uint_eq(rig.report_count, rows[_i].is_reported);
	if (rows[_i].is_reported) {
		ck_assert_int_eq(rig.reports[0].verdict.action, POLICY_DENY);
		ck_assert_int_eq(rig.reports[0].verdict.reason, rows[_i].reason);
		ck_assert_uint_eq(rig.submits, 0);
	}
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* A connection that stays open after a refusal serves the next request. */
START_TEST(refused_connection_goes_on)
{
	struct rig rig;
	int client, server;

	if (!rows[_i].stays)
		return;
	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, rows[_i].ask);
	free(rig_read(&rig, client, "next: "));
	free(rig_read(&rig, client, "\n"));
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(&rig, server, "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(json_by_accept)
{
	struct rig rig;
	char port[32];
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "GET http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\nAccept: "
		 "application/json\r\n\r\n");
	auto_free char *answer = rig_read(&rig, client, "}\n");
	(void)snprintf(port, sizeof(port), "\"port\":%u", rig.port);
	ck_assert_ptr_nonnull(strstr(answer, "content-type: application/json\r\n"));
	ck_assert_ptr_nonnull(strstr(answer, "{\"status\":\"denied\",\"reason\":\"rule_deny\","));
	ck_assert_ptr_nonnull(strstr(answer, "\"host\":\"denied.test\""));
	ck_assert_ptr_nonnull(strstr(answer, port));
	ck_assert_ptr_nonnull(strstr(answer, "\"rule\":\"test.policy:3: deny denied.test\""));
	ck_assert_ptr_nonnull(strstr(answer, "\"because\":\"it is \\\"bad\\\"\""));
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(head_gets_no_body)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "HEAD http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\n\r\n");
	free(rig_read(&rig, client, "\r\n\r\n"));
	rig_expect_quiet(&rig, client);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(own_listeners)
{
	char ask[256];
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	(void)snprintf(ask, sizeof(ask), "CONNECT %s:%u HTTP/1.1\r\nHost: x\r\n\r\n",
		       _i & 1 ? "127.0.0.1" : "localhost", rig.ports[_i >> 1]);
	rig_send(&rig, client, ask);
	auto_free char *answer = rig_read(&rig, client, "next: ");
	ck_assert_ptr_nonnull(strstr(answer, "own_listener"));
	ck_assert_uint_eq(rig.submits, 0);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(denials_are_readable_inside)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "GET http://sallyport.internal/denials HTTP/1.1\r\nHost: "
		 "sallyport.internal\r\n\r\n");
	free(rig_read(&rig, client, "Nothing was denied.\n"));
	rig_send(&rig, client, "GET http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\n\r\n");
	free(rig_read(&rig, client, "next: "));
	free(rig_read(&rig, client, "\n"));
	rig_send(&rig, client,
		 "GET http://sallyport.internal/denials HTTP/1.1\r\nHost: sallyport.internal\r\n"
		 "Accept: application/json\r\n\r\n");
	auto_free char *answer = rig_read(&rig, client, "]}\n");
	ck_assert_int_eq(strncmp(answer, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert_ptr_nonnull(strstr(answer, "\"reason\":\"rule_deny\",\"host\":\"denied.test\""));
	rig_send(
		&rig, client,
		"GET http://sallyport.internal/other HTTP/1.1\r\nHost: sallyport.internal\r\n\r\n");
	rig_expect(&rig, client, "HTTP/1.1 404 Not Found\r\n");
	ck_assert_uint_eq(rig.submits, 1);
	rig_close(&rig, client);
	(void)rig.report_count;
	rig_done(&rig);
}
END_TEST

START_TEST(head_that_never_ends)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\n");
	loop_advance(rig.loop, LIMITS_HEAD_MS - 1);
	rig_send(&rig, client, "Slow: yes\r\n");
	rig_expect_quiet(&rig, client);
	loop_advance(rig.loop, 1);
	rig_expect(&rig, client, "HTTP/1.1 408 Request Timeout\r\n");
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_CLIENT_TIMEOUT);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(head_that_is_too_large)
{
	struct rig rig;
	int client;
	auto_free char *field = mem_new(40001);

	memset(field, 'x', 40000);
	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\nX: ");
	rig_send_bytes(&rig, client, field, 40000);
	rig_expect(&rig, client, "HTTP/1.1 431 ");
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_HEAD_TOO_LARGE);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(promise_of_tls_refuses_clear_requests)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	rig.promise = POLICY_HTTPS;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n");
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\nx-sallyport-reason: not_tls\r\n");
	ck_assert(rig_is_undialled(&rig));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_NOT_TLS);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* A verdict that allows, and promises nothing that can be held, allows nothing. */
START_TEST(unknown_promise_is_a_denial)
{
	static const char *const asks[] = { "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
					    "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n" };
	struct rig rig;
	int client;

	rig_init(&rig);
	rig.promise = POLICY_UDP;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, asks[_i]);
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\nx-sallyport-reason: not_enforced\r\n");
	ck_assert(rig_is_undialled(&rig));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_NOT_ENFORCED);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* Nothing but an allow is an allow. */
START_TEST(open_question_is_a_denial)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{held}/ HTTP/1.1\r\nHost: {held}\r\n\r\n");
	rig_settle(&rig);
	rig_answer(&rig, POLICY_ASK, POLICY_RULE_ALLOW);
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\n");
	ck_assert(rig_is_undialled(&rig));
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

TCase *test_refused(void)
{
	TCase *tcase = tcase_create("refused");

	tcase_add_loop_test(tcase, refusal_is_told, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tcase, refused_connection_goes_on, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tcase, json_by_accept);
	tcase_add_test(tcase, head_gets_no_body);
	tcase_add_loop_test(tcase, own_listeners, 0, 4);
	tcase_add_test(tcase, denials_are_readable_inside);
	tcase_add_test(tcase, head_that_never_ends);
	tcase_add_test(tcase, head_that_is_too_large);
	tcase_add_test(tcase, promise_of_tls_refuses_clear_requests);
	tcase_add_loop_test(tcase, unknown_promise_is_a_denial, 0, 2);
	tcase_add_test(tcase, open_question_is_a_denial);
	return tcase;
}
