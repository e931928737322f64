#include "tests/unit/base/http1/http1_test.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static const struct {
	const char *method;
	struct bytes input;
	int want;
	const char *text; /* the head, or a part of the cause */
} responses[] = {
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 0,
	  "200 |OK| 1.1 length 5 keep 1 fields 38 bytes" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 0,
	  "200 |OK| 1.1 chunked keep 1 fields 47 bytes" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\n\r\n"), 0,
	  "200 |OK| 1.1 until close 0 fields 19 bytes" },
	{ "GET", BYTES("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"), 0,
	  "200 |OK| 1.0 length 0 keep 2 fields 62 bytes" },
	{ "GET", BYTES("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n"), 0,
	  "200 |OK| 1.0 until close 1 fields 43 bytes" },
	{ "GET", BYTES("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), 0,
	  "200 |OK| 1.0 length 0 1 fields 38 bytes" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"), 0,
	  "200 |OK| 1.1 length 0 2 fields 57 bytes" },
	{ "GET", BYTES("HTTP/1.1 404 Not  Found\t\r\nContent-Length: 0\r\n\r\n"), 0,
	  "404 |Not  Found\t| 1.1 length 0 keep 1 fields 47 bytes" },
	{ "GET", BYTES("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"), 0,
	  "200 || 1.1 length 0 keep 1 fields 36 bytes" },
	{ "GET", BYTES("HTTP/1.1 599\r\nContent-Length: 0\r\n\r\n"), 0,
	  "599 || 1.1 length 0 keep 1 fields 35 bytes" },
	{ "GET", BYTES("HTTP/1.1 200 \xc3\xa9\r\nContent-Length: 0\r\n\r\n"), 0,
	  "200 |\xc3\xa9| 1.1 length 0 keep 1 fields 38 bytes" },
	/* RFC 9112 §6.3, rules 1 and 2 */
	{ "HEAD", BYTES("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), 0,
	  "200 |OK| 1.1 no body keep 1 fields 38 bytes" },
	{ "HEAD", BYTES("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 0,
	  "200 |OK| 1.1 no body keep 1 fields 47 bytes" },
	{ "HEAD", BYTES("HTTP/1.1 200 OK\r\n\r\n"), 0,
	  "200 |OK| 1.1 no body keep 0 fields 19 bytes" },
	{ "GET", BYTES("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), 0,
	  "304 |Not Modified| 1.1 no body keep 1 fields 48 bytes" },
	{ "GET", BYTES("HTTP/1.1 204 No Content\r\n\r\n"), 0,
	  "204 |No Content| 1.1 no body keep 0 fields 27 bytes" },
	{ "GET", BYTES("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"), 0,
	  "204 |No Content| 1.1 no body keep 1 fields 46 bytes" },
	{ "GET", BYTES("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), 0,
	  "100 |Continue| 1.1 no body keep 0 fields 25 bytes" },
	{ "GET",
	  BYTES("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
		"Upgrade\r\n\r\n"),
	  0, "101 |Switching Protocols| 1.1 no body keep upgrade 2 fields 77 bytes" },
	{ "CONNECT", BYTES("HTTP/1.1 200 Fine\r\nContent-Length: 5\r\n\r\n"), 0,
	  "200 |Fine| 1.1 no body keep 1 fields 40 bytes" },
	{ "CONNECT", BYTES("HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n"), 0,
	  "403 |No| 1.1 length 5 keep 1 fields 38 bytes" },
	/* A request's Expect means nothing here. */
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n"), 0,
	  "200 |OK| 1.1 length 0 keep 2 fields 60 bytes" },
	/* refused */
	{ "GET",
	  BYTES("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, "both" },
	{ "HEAD",
	  BYTES("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  -EBADMSG, "both" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
	  -EBADMSG, "more than one" },
	{ "GET", BYTES("HTTP/1.1 304 OK\r\nContent-Length: 5, 6\r\n\r\n"), -EBADMSG,
	  "not a single number" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), -EBADMSG,
	  "just" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), -EBADMSG, "just" },
	{ "GET", BYTES("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), -EBADMSG,
	  "HTTP/1.0" },
	{ "GET", BYTES("HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n"), -EBADMSG,
	  "announces a body" },
	{ "GET", BYTES("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"), -EBADMSG,
	  "announces a body" },
	{ "GET", BYTES("HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n"), -EBADMSG,
	  "announces a body" },
	{ "GET", BYTES("HTTP/1.1 099 OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1 600 OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1 20 OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1 2000 OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1 2x0 OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1 20x OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1  200 OK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1 200\tOK\r\n\r\n"), -EBADMSG, "status" },
	{ "GET", BYTES("HTTP/1.1\r\n\r\n"), -EBADMSG, "status line" },
	{ "GET", BYTES("\r\nHTTP/1.1 200 OK\r\n\r\n"), -EBADMSG, "status line" },
	{ "GET", BYTES("\r\n\r\n"), -EBADMSG, "status line" },
	{ "GET", BYTES("HTTP/2 200 OK\r\n\r\n"), -EBADMSG, "HTTP/2" },
	{ "GET", BYTES("ICY 200 OK\r\n\r\n"), -EBADMSG, "version" },
	{ "GET", BYTES("http/1.1 200 OK\r\n\r\n"), -EBADMSG, "version" },
	{ "GET", BYTES("HTTP/1.1 200 OK\nX: y\n\n"), -EBADMSG, "LF is not preceded by CR" },
	{ "GET", BYTES("HTTP/1.1 200 O\rK\r\n\r\n"), -EBADMSG, "CR is not followed by LF" },
	{ "GET", BYTES("HTTP/1.1 200 O\0K\r\n\r\n"), -EBADMSG, "NUL" },
	{ "GET", BYTES("HTTP/1.1 200 \x1b]0;x\x07\r\n\r\n"), -EBADMSG, "control" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"), -EBADMSG, "folding" },
	{ "GET", BYTES("HTTP/1.1 200 OK\r\nX : a\r\n\r\n"), -EBADMSG, "colon" },
};

START_TEST(response_heads)
{
	char text[HEAD_TEXT_MAX];
	int r = head_parse_every_way(responses[_i].input, responses[_i].method, text);

	ck_assert_msg(r == responses[_i].want, "returned %d: %s", r, text);
	if (r == 0)
		ck_assert_str_eq(text, responses[_i].text);
	else
		ck_assert_msg(strstr(text, responses[_i].text) != NULL, "said \"%s\"", text);
}
END_TEST

TCase *response_cases(void)
{
	TCase *tcase = tcase_create("response");

	tcase_add_loop_test(tcase, response_heads, 0, ARRAY_SIZE(responses));
	return tcase;
}
