/* Servers that fail, and the idle connections to those that do not. */
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/limits.h"
#include "tests/unit/proxy/rig.h"

#define OK_HI  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define GET_A  "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"
#define POST_A "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nab"

/* Before the first byte of the answer has gone to the client, a failure is an answer of ours. */
static const struct {
	const char *ask, *answer; /* then the server closes; NULL: it sends nothing */
	const char *status;
	enum policy_reason reason;
} failures[] = {
	{ GET_A, NULL, "HTTP/1.1 502 ", POLICY_UPSTREAM_CLOSED },
	{ POST_A, NULL, "HTTP/1.1 502 ", POLICY_UPSTREAM_CLOSED },
	{ GET_A, "HTTP/1.1 200 OK\r\nContent-", "HTTP/1.1 502 ", POLICY_UPSTREAM_CLOSED },
	{ GET_A, "SSH-2.0-x\r\n", "HTTP/1.1 502 ", POLICY_UPSTREAM_MALFORMED },
	{ GET_A, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
	  "HTTP/1.1 502 ", POLICY_UPSTREAM_MALFORMED },
	/* a wrong first chunk that comes with the head, or with what was before it */
	{ GET_A, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 502 ",
	  POLICY_UPSTREAM_MALFORMED },
	{ GET_A,
	  "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	  "2\r\nabc\r\n",
	  "HTTP/1.1 502 ", POLICY_UPSTREAM_MALFORMED },
	/* a switch to a protocol that was not requested */
	{ GET_A, "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
	  "HTTP/1.1 502 ", POLICY_UPSTREAM_MALFORMED },
	{ "GET http://{gone}/ HTTP/1.1\r\nHost: {gone}\r\n\r\n", NULL, "HTTP/1.1 502 ",
	  POLICY_CONNECT_REFUSED },
};

START_TEST(failure_is_told)
{
	struct rig rig;
	int client, server = -1;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, failures[_i].ask);
	if (failures[_i].reason != POLICY_CONNECT_REFUSED) {
		server = rig_accept(&rig);
		free(rig_read(&rig, server, "\r\n\r\n"));
		if (failures[_i].answer)
			rig_send(&rig, server, failures[_i].answer);
		rig_settle(&rig);
		rig_close(&rig, server);
	}
	auto_free char *answer = rig_read(&rig, client, "next: ");
	ck_assert_int_eq(strncmp(answer, failures[_i].status, strlen(failures[_i].status)), 0);
	ck_assert_ptr_nonnull(strstr(answer, "sallyport: failed: "));
	ck_assert_ptr_nonnull(strstr(answer, policy_reason_code(failures[_i].reason)));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.action, POLICY_DENY);
	ck_assert_int_eq(rig.reports[0].verdict.reason, failures[_i].reason);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(silent_server_times_out)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, GET_A);
	server = rig_accept(&rig);
	loop_advance(rig.loop, LIMITS_EXCHANGE_MS - 1);
	rig_expect_quiet(&rig, client);
	loop_advance(rig.loop, 1);
	rig_expect(&rig, client,
		   "HTTP/1.1 504 Gateway Timeout\r\nx-sallyport-reason: upstream_timeout\r\n");
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.reason, POLICY_UPSTREAM_TIMEOUT);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* One exchange, after which the server's connection is idle. */
static int exchange_once(struct rig *rig, int client)
{
	int server;

	rig_send(rig, client, GET_A);
	server = rig_accept(rig);
	free(rig_read(rig, server, "\r\n\r\n"));
	rig_send(rig, server, OK_HI);
	rig_expect(rig, client, OK_HI);
	return server;
}

START_TEST(idle_connection_serves_the_next_client)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	rig_close(&rig, client);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, GET_A);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	ck_assert(rig_is_undialled(&rig));
	ck_assert_uint_eq(rig.submits, 2);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(idle_connection_is_let_go)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	rig_close(&rig, client);
	loop_advance(rig.loop, LIMITS_POOL_IDLE_MS - 1);
	rig_expect_quiet(&rig, server);
	loop_advance(rig.loop, 1);
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(other_promise_gets_no_pooled_connection)
{
	struct rig rig;
	int client, server, second;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	rig.promise = POLICY_TCP;
	second = exchange_once(&rig, client);
	rig_expect_quiet(&rig, server);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_close(&rig, second);
	rig_done(&rig);
}
END_TEST

START_TEST(stale_connection_is_retried_once)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	rig_send(&rig, client, GET_A);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_close(&rig, server); /* after it has the request, before a byte of the answer */
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_close(&rig, server);
	rig_expect(&rig, client,
		   "HTTP/1.1 502 Bad Gateway\r\nx-sallyport-reason: upstream_closed\r\n");
	ck_assert(rig_is_undialled(&rig));
	ck_assert_uint_eq(rig.submits, 2);
	rig_close(&rig, client);
	(void)rig_report(&rig, 2);
	rig_done(&rig);
}
END_TEST

/* What cannot be sent twice does not go to a connection that has ended, however lately. */
START_TEST(request_with_a_body_finds_a_live_connection)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	auto_free char *post = rig_expand(&rig, POST_A);
	ck_assert_int_gt(send(client, post, strlen(post), 0), 0);
	for (int i = 0; i < _i; i++)
		loop_step(rig.loop);
	fd_close(server);
	server = rig_accept(&rig);
	rig_expect(&rig, server, "POST / HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nab");
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(request_with_a_body_is_never_sent_twice)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	rig_send(&rig, client, POST_A);
	free(rig_read(&rig, server, "ab"));
	rig_close(&rig, server);
	rig_expect(&rig, client, "HTTP/1.1 502 ");
	ck_assert(rig_is_undialled(&rig));
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(unasked_bytes_spoil_a_connection)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	server = exchange_once(&rig, client);
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	rig_expect_end(&rig, server, true);
	rig_close(&rig, server);
	server = exchange_once(&rig, client);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(bytes_behind_an_answer_spoil_a_connection)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, GET_A);
	server = rig_accept(&rig);
	rig_send(&rig, server, OK_HI "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
	rig_expect(&rig, client, OK_HI);
	rig_expect_quiet(&rig, client);
	rig_close(&rig, server);
	server = exchange_once(&rig, client);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* The answer before the end of the request: the client gets it, and then an end. */
START_TEST(early_answer)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 1000\r\n\r\nab");
	server = rig_accept(&rig);
	rig_send(&rig, server, "HTTP/1.1 413 Much\r\nContent-Length: 2\r\n\r\nno");
	rig_expect(&rig, client,
		   "HTTP/1.1 413 Much\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	rig_done(&rig);
}
END_TEST

START_TEST(client_that_cuts_its_body)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 1000\r\n\r\nab");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "ab"));
	rig_close(&rig, client);
	rig_expect_end(&rig, server, true);
	rig_close(&rig, server);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_CLIENT_CLOSED);
	rig_done(&rig);
}
END_TEST

TCase *test_upstream(void)
{
	TCase *tcase = tcase_create("upstream");

	tcase_add_loop_test(tcase, failure_is_told, 0, (int)ARRAY_SIZE(failures));
	tcase_add_test(tcase, silent_server_times_out);
	tcase_add_test(tcase, idle_connection_serves_the_next_client);
	tcase_add_test(tcase, idle_connection_is_let_go);
	tcase_add_test(tcase, other_promise_gets_no_pooled_connection);
	tcase_add_test(tcase, stale_connection_is_retried_once);
	tcase_add_loop_test(tcase, request_with_a_body_finds_a_live_connection, 0, 1);
	tcase_add_test(tcase, request_with_a_body_is_never_sent_twice);
	tcase_add_test(tcase, unasked_bytes_spoil_a_connection);
	tcase_add_test(tcase, bytes_behind_an_answer_spoil_a_connection);
	tcase_add_test(tcase, early_answer);
	tcase_add_test(tcase, client_that_cuts_its_body);
	return tcase;
}
