/* One request and its answer: what the client sends, what the server sees, what it answers, what
 * the client gets. */
#include <string.h>

#include "tests/unit/proxy/rig.h"

enum end { STAYS, CLOSES, RESETS };

static const struct {
	const char *name, *ask, *asked, *answer, *answered;
	bool server_closes;
	enum end end; /* of the client's connection */
} rows[] = {
	{ "counted", "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET /x HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
	  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", false, STAYS },
	{ "chunked", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x\r\nbc\r\n0\r\nT: "
	  "1\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false,
	  STAYS },
	{ "until close becomes chunked", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nall of it",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nall of it\r\n0\r\n\r\n", true,
	  STAYS },
	{ "an HTTP/1.0 client gets until close", "GET http://{a}/ HTTP/1.0\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhi", false, CLOSES },
	/* RFC 9112 §9.3: not with a proxy */
	{ "an HTTP/1.0 client may not stay",
	  "GET http://{a}/ HTTP/1.0\r\nHost: {a}\r\nConnection: keep-alive\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
	  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", false, CLOSES },
	{ "the client wants to close",
	  "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nConnection: close\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
	  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", false, CLOSES },
	{ "the server closes, the client need not", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi",
	  "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", true, STAYS },
	{ "counted body up",
	  "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 5\r\n\r\nhello",
	  "POST / HTTP/1.1\r\nHost: {a}\r\nContent-Length: 5\r\n\r\nhello",
	  "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n", false, STAYS },
	{ "chunked body up",
	  "POST http://{a}/ HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n"
	  "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
	  "POST / HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: "
	  "chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, STAYS },
	{ "HEAD", "HEAD http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HEAD / HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", false, STAYS },
	{ "304", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n",
	  "HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", false, STAYS },
	{ "interim answers", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	  "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	  false, STAYS },
	{ "no interim answers for HTTP/1.0", "GET http://{a}/ HTTP/1.0\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false, CLOSES },
	{ "secrets and hops stay here",
	  "GET http://me:secret@{a}/ HTTP/1.1\r\nHost: {a}\r\nProxy-Authorization: Basic eDp5\r\n"
	  "Connection: X-Hop\r\nX-Hop: 1\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, STAYS },
	{ "an answer that is cut resets", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
	  "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", true, RESETS },
	{ "a chunked answer that is cut resets", "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", true, RESETS },
};

static void check_end(struct rig *rig, int client, enum end end)
{
	if (end == STAYS)
		rig_expect_quiet(rig, client);
	else
		rig_expect_end(rig, client, end == RESETS);
}

static void play(size_t row, bool in_pieces)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	if (in_pieces) {
		auto_free char *ask = rig_expand(&rig, rows[row].ask);

		for (const char *at = ask; *at; at++)
			rig_send_bytes(&rig, client, at, 1);
	} else {
		rig_send(&rig, client, rows[row].ask);
	}
	server = rig_accept(&rig);
	/* In pieces a chunked body has other chunks: the table's is the one of a single read. */
	if (!in_pieces || !strstr(rows[row].asked, "chunked"))
		rig_expect(&rig, server, rows[row].asked);
	rig_send(&rig, server, rows[row].answer);
	rig_settle(&rig);
	if (rows[row].server_closes)
		rig_close(&rig, server);
	rig_expect(&rig, client, rows[row].answered);
	check_end(&rig, client, rows[row].end);
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(rig.reports[0].closed,
			 rows[row].end == RESETS ? POLICY_UPSTREAM_CLOSED : POLICY_DONE);
	ck_assert_int_eq(rig.reports[0].resolved.family, AF_INET);
	rig_close(&rig, client);
	if (!rows[row].server_closes)
		rig_close(&rig, server);
	rig_done(&rig);
}

START_TEST(request_and_answer)
{
	play((size_t)_i, false);
}
END_TEST

START_TEST(request_byte_by_byte)
{
	play((size_t)_i, true);
}
END_TEST

#define OK_HI "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define GET_A "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\n\r\n"
#define GET_B "GET http://{b}/ HTTP/1.1\r\nHost: {b}\r\n\r\n"
#define AT_A  "GET / HTTP/1.1\r\nHost: {a}\r\n\r\n"
#define AT_B  "GET / HTTP/1.1\r\nHost: {b}\r\n\r\n"

START_TEST(two_hosts_on_one_connection)
{
	struct rig rig;
	int client, first, second;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, GET_A);
	first = rig_accept(&rig);
	rig_expect(&rig, first, AT_A);
	rig_send(&rig, first, OK_HI);
	rig_expect(&rig, client, OK_HI);
	rig_send(&rig, client, GET_B);
	second = rig_accept(&rig); /* never the first's connection */
	rig_expect(&rig, second, AT_B);
	rig_send(&rig, second, OK_HI);
	rig_expect(&rig, client, OK_HI);
	ck_assert_uint_eq(rig.submits, 2);
	rig_expect_quiet(&rig, first);
	rig_close(&rig, client);
	ck_assert_str_eq(rig_report(&rig, 2)->facts.dst.host, "b.test");
	rig_close(&rig, first);
	rig_close(&rig, second);
	rig_done(&rig);
}
END_TEST

START_TEST(denied_in_between)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 GET_A "GET http://{denied}/ HTTP/1.1\r\nHost: {denied}\r\n\r\n" GET_A);
	server = rig_accept(&rig);
	rig_expect(&rig, server, AT_A);
	rig_expect_quiet(&rig, server);
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	auto_free char *denial = rig_read(&rig, client, "next: ");
	ck_assert_ptr_nonnull(strstr(denial, "HTTP/1.1 403 Forbidden\r\n"));
	free(rig_read(&rig, client, "\n"));
	rig_expect(&rig, server, AT_A);
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	ck_assert_uint_eq(rig.submits, 3);
	rig_close(&rig, client);
	(void)rig_report(&rig, 2); /* the denial is the gateway's to write down */
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "POST http://{a}/1 HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nab"
		 "POST http://{a}/2 HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "2\r\ncd\r\n0\r\n\r\n" GET_A);
	server = rig_accept(&rig);
	rig_expect(&rig, server, "POST /1 HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nab");
	rig_expect_quiet(&rig, server);
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, server,
		   "POST /2 HTTP/1.1\r\nHost: {a}\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "2\r\ncd\r\n0\r\n\r\n");
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, server, AT_A);
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI OK_HI OK_HI);
	rig_close(&rig, client);
	(void)rig_report(&rig, 3);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(continue_goes_through)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "PUT http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n"
		 "Expect: 100-continue\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(
		&rig, server,
		"PUT / HTTP/1.1\r\nHost: {a}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	rig_send(&rig, server, "HTTP/1.1 100 Continue\r\n\r\n");
	rig_expect(&rig, client, "HTTP/1.1 100 Continue\r\n\r\n");
	rig_send(&rig, client, "ab");
	rig_expect(&rig, server, "ab");
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	rig_expect_quiet(&rig, client);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* The body is not asked for, so it may or may not come: the connection cannot go on. */
START_TEST(final_answer_instead_of_continue_closes)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "PUT http://{a}/ HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n"
		 "Expect: 100-continue\r\n\r\n");
	server = rig_accept(&rig);
	rig_send(&rig, server, "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
	rig_expect(&rig, client,
		   "HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	rig_expect_end(&rig, client, false);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(websocket_becomes_a_tunnel)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client,
		 "GET http://{a}/ HTTP/1.1\r\nHost: {a}\r\nSec-WebSocket-Key: "
		 "dGhlIHNhbXBsZSBub25jZQ==\r\nConnection: "
		 "Upgrade\r\n"
		 "Upgrade: websocket\r\n\r\nearly");
	server = rig_accept(&rig);
	rig_expect(&rig, server,
		   "GET / HTTP/1.1\r\nHost: {a}\r\nSec-WebSocket-Key: "
		   "dGhlIHNhbXBsZSBub25jZQ==\r\nConnection: Upgrade\r\n"
		   "Upgrade: websocket\r\n\r\n");
	rig_send(&rig, server,
		 "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfrom");
	rig_expect(
		&rig, client,
		"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nfrom");
	rig_expect(&rig, server, "early");
	rig_send(&rig, client, "GET http://{b}/ HTTP/1.1\r\n\r\n"); /* no request any more */
	rig_expect(&rig, server, "GET http://{b}/ HTTP/1.1\r\n\r\n");
	rig_send(&rig, server, "\x81\x02hi");
	rig_expect(&rig, client, "\x81\x02hi");
	rig_close(&rig, client);
	rig_expect_end(&rig, server, false);
	rig_close(&rig, server);
	ck_assert_uint_eq(rig.submits, 1);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	rig_done(&rig);
}
END_TEST

START_TEST(report_counts_what_moved)
{
	struct rig rig;
	int client, server;
	auto_free char *asked = NULL;

	rig_init(&rig);
	asked = rig_expand(&rig, AT_A);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, GET_A);
	server = rig_accept(&rig);
	rig_settle(&rig);
	loop_advance(rig.loop, 250);
	rig_send(&rig, server, OK_HI);
	rig_expect(&rig, client, OK_HI);
	ck_assert_uint_eq(rig_report(&rig, 1)->bytes_up, strlen(asked));
	ck_assert_uint_eq(rig.reports[0].bytes_down, strlen(OK_HI));
	ck_assert_uint_eq(rig.reports[0].duration_ms, 250);
	ck_assert_int_eq(rig.reports[0].facts.way, POLICY_WAY_HTTP);
	ck_assert_int_eq(rig.reports[0].facts.carries, POLICY_HTTP);
	ck_assert_uint_eq(rig.reports[0].facts.exec, RIG_EXEC);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

TCase *test_exchange(void)
{
	TCase *tcase = tcase_create("exchange");

	tcase_add_loop_test(tcase, request_and_answer, 0, (int)ARRAY_SIZE(rows));
	tcase_add_loop_test(tcase, request_byte_by_byte, 0, (int)ARRAY_SIZE(rows));
	tcase_add_test(tcase, two_hosts_on_one_connection);
	tcase_add_test(tcase, denied_in_between);
	tcase_add_test(tcase, pipelined_requests_are_answered_in_order);
	tcase_add_test(tcase, continue_goes_through);
	tcase_add_test(tcase, final_answer_instead_of_continue_closes);
	tcase_add_test(tcase, websocket_becomes_a_tunnel);
	tcase_add_test(tcase, report_counts_what_moved);
	return tcase;
}
