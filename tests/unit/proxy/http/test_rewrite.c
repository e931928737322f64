#include <string.h>

#include "proxy/http/rewrite.h"
#include "tests/unit/proxy/rig.h"

/* A request as it comes; as it goes. */
static const struct {
	const char *in, *want;
} requests[] = {
	{ "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  "GET /x?y HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ "GET http://A.TEST HTTP/1.1\r\nHost: A.TEST\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ "OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	/* the default port is not said, another is */
	{ "GET http://a.test:80/ HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ "GET http://a.test:81/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test:81\r\n\r\n" },
	{ "GET http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: [::1]:81\r\n\r\n" },
	/* credentials for us, and in the URL, go no further */
	{ "GET http://me:secret@a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	  "Proxy-Authorization: Basic eDp5\r\nAuthorization: Basic eno6\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\nAuthorization: Basic eno6\r\n\r\n" },
	/* hop by hop: the fixed list, and what Connection names */
	{ "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, X-Hop\r\n"
	  "X-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nX-End: "
	  "2\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\nX-End: 2\r\n\r\n" },
	/* nobody inside speaks for a proxy, or for us */
	{ "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nVia: 1.1 x\r\nForwarded: for=1\r\n"
	  "X-Forwarded-For: 1\r\nx-forwarded-host: b\r\nX-Sallyport-Reason: done\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	{ "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n",
	  "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n" },
	{ "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nTrailer: "
	  "x\r\n\r\n",
	  "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" },
	{ "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nExpect: "
	  "100-continue\r\n\r\n",
	  "POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n" },
	/* HTTP/1.0 without Host; the server sees ours */
	{ "GET http://a.test/ HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" },
	/* of upgrades only websocket goes on */
	{ "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: "
	  "websocket\r\n"
	  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	  "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" },
	{ "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
	  "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
	  "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" },
};

START_TEST(request_goes_out_as)
{
	struct policy_destination dst;
	struct http1_head head;
	struct buffer out = { 0 };
	const char *cause = NULL;
	size_t scanned = 0;
	int r = http1_parse_request(requests[_i].in, strlen(requests[_i].in), &scanned, &head,
				    &cause);

	ck_assert_msg(r == 0, "%s", cause ? cause : "incomplete");
	ck_assert_int_eq(policy_destination_set(&dst, head.host.at, head.host.len, head.port, NULL),
			 0);
	ck_assert_int_eq(rewrite_request(&head, &dst, &out), 0);
	ck_assert_int_eq(buffer_append(&out, "", 1, 65536), 0);
	ck_assert_str_eq(buffer_at(&out), requests[_i].want);
	buffer_clear(&out);
}
END_TEST

/* For an upstream proxy. */
static const struct {
	const char *host;
	uint16_t port;
	const char *in, *want;
} absolutes[] = {
	{ "a.test", 80, "GET /x?y HTTP/1.1\r\nHost: a.test\r\nX: 1\r\n\r\n",
	  "GET http://a.test/x?y HTTP/1.1\r\nP: q\r\nHost: a.test\r\nX: 1\r\n\r\n" },
	{ "fd00::1", 8080, "HEAD / HTTP/1.1\r\nHost: [fd00::1]:8080\r\n\r\n",
	  "HEAD http://[fd00::1]:8080/ HTTP/1.1\r\nP: q\r\nHost: [fd00::1]:8080\r\n\r\n" },
	{ "a.test", 80, "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n",
	  "OPTIONS http://a.test HTTP/1.1\r\nP: q\r\nHost: a.test\r\n\r\n" },
};

START_TEST(a_request_gets_its_absolute_form)
{
	struct policy_destination dst;
	struct buffer in = { 0 }, out = { 0 };

	ck_assert_int_eq(policy_destination_set(&dst, absolutes[_i].host,
						strlen(absolutes[_i].host), absolutes[_i].port,
						NULL),
			 0);
	ck_assert_int_eq(buffer_append(&in, absolutes[_i].in, strlen(absolutes[_i].in), 65536), 0);
	ck_assert_int_eq(rewrite_absolute(&in, &dst, "P: q\r\n", &out), 0);
	ck_assert_int_eq(buffer_append(&out, "", 1, 65536), 0);
	ck_assert_str_eq(buffer_at(&out), absolutes[_i].want);
	buffer_clear(&in);
	buffer_clear(&out);
}
END_TEST

static const struct {
	const char *method, *in;
	struct rewrite_framing framing;
	const char *want;
} answers[] = {
	{ "GET",
	  "HTTP/1.1 200 Fine\r\nContent-Length: 3\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
	  "Keep-Alive: 4\r\nProxy-Authenticate: Basic\r\nETag: x\r\n\r\n",
	  { HTTP1_LENGTH, 3, REWRITE_KEEP },
	  "HTTP/1.1 200 Fine\r\nETag: x\r\nContent-Length: 3\r\n\r\n" },
	{ "GET",
	  "HTTP/1.0 404 \r\n\r\n",
	  { HTTP1_CHUNKED, 0, REWRITE_CLOSE },
	  "HTTP/1.1 404 \r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" },
	{ "GET",
	  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	  { HTTP1_UNTIL_CLOSE, 0, REWRITE_CLOSE },
	  "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" },
	{ "HEAD",
	  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
	  { HTTP1_NO_BODY, 0, REWRITE_KEEP },
	  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" },
	{ "GET",
	  "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
	  { HTTP1_NO_BODY, 0, REWRITE_KEEP },
	  "HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n" },
	/* a server cannot pass for the gate */
	{ "GET",
	  "HTTP/1.1 200 OK\r\nx-sallyport-reason: rule_deny\r\nContent-Length: 0\r\n\r\n",
	  { HTTP1_LENGTH, 0, REWRITE_KEEP },
	  "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" },
};

START_TEST(answer_goes_out_as)
{
	struct http1_span method = { answers[_i].method, strlen(answers[_i].method) };
	struct http1_head head;
	struct buffer out = { 0 };
	const char *cause = NULL;
	size_t scanned = 0;
	int r = http1_parse_response(answers[_i].in, strlen(answers[_i].in), &scanned, method,
				     &head, &cause);

	ck_assert_msg(r == 0, "%s", cause ? cause : "incomplete");
	ck_assert_int_eq(rewrite_response(&head, &answers[_i].framing, &out), 0);
	ck_assert_int_eq(buffer_append(&out, "", 1, 65536), 0);
	ck_assert_str_eq(buffer_at(&out), answers[_i].want);
	buffer_clear(&out);
}
END_TEST

TCase *test_rewrite(void)
{
	TCase *tcase = tcase_create("rewrite");

	tcase_add_loop_test(tcase, request_goes_out_as, 0, (int)ARRAY_SIZE(requests));
	tcase_add_loop_test(tcase, a_request_gets_its_absolute_form, 0, (int)ARRAY_SIZE(absolutes));
	tcase_add_loop_test(tcase, answer_goes_out_as, 0, (int)ARRAY_SIZE(answers));
	return tcase;
}
