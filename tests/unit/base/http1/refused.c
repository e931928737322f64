#include "tests/unit/base/http1/http1_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Requests that must not be passed on, and a part of the sentence that says why. */
static const struct {
	struct bytes input;
	const char *cause;
} refusals[] = {
#define GET "GET / HTTP/1.1\r\nHost: a.test\r\n"
	/* H01 */
	{ BYTES(GET "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), "both" },
	{ BYTES(GET "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"), "both" },
	{ BYTES(GET "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"), "both" },
	{ BYTES(GET "Content-Length: 5\r\nContent-Length: 6\r\n\r\n"),
	  "more than one Content-Length" },
	{ BYTES(GET "Content-Length: 5\r\ncontent-length: 5\r\n\r\n"),
	  "more than one Content-Length" },
	{ BYTES(GET "Content-Length: 5, 5\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 5,\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: +5\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: -5\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 5 5\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 0x5\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 5.0\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: \"5\"\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: five\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length:\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 9223372036854775808\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 18446744073709551616\r\n\r\n"), "not a single number" },
	{ BYTES(GET "Content-Length: 99999999999999999999999999\r\n\r\n"), "not a single number" },
	/* H02 */
	{ BYTES(GET "Transfer-Encoding: chunked,\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: ,chunked\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: chunked, gzip\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: gzip, chunked\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: chunked, chunked\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: chunked;q=1\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: \"chunked\"\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: xchunked\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: chunkedx\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: identity\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding:\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding: chunked\x0b\r\n\r\n"), "control" },
	{ BYTES(GET "Transfer-Encoding: chunked\xa0\r\n\r\n"), "not just \"chunked\"" },
	{ BYTES(GET "Transfer-Encoding : chunked\r\n\r\n"),
	  "between a field's name and its colon" },
	{ BYTES(GET "Transfer-Encoding\t: chunked\r\n\r\n"),
	  "between a field's name and its colon" },
	{ BYTES(GET "Transfer-Encoding\r\n : chunked\r\n\r\n"), "no colon" },
	{ BYTES(GET "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  "more than one Transfer" },
	{ BYTES(GET "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  "more than one Transfer" },
	{ BYTES("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), "HTTP/1.0" },
	{ BYTES("POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	  "both" },
	/* a tab is not valid where a message is split or routed */
	{ BYTES(GET "Content-Length:\t5\r\n\r\n"), "a tab" },
	{ BYTES(GET "Content-Length: 5\t\r\n\r\n"), "a tab" },
	{ BYTES(GET "content-length: \t 5\r\n\r\n"), "a tab" },
	{ BYTES(GET "Transfer-Encoding:\tchunked\r\n\r\n"), "a tab" },
	{ BYTES(GET "Transfer-Encoding: chunked\t\r\n\r\n"), "a tab" },
	{ BYTES("GET / HTTP/1.1\r\nHost:\ta.test\r\n\r\n"), "a tab" },
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\t\r\n\r\n"), "a tab" },
	/* H04 */
	{ BYTES(GET "X: a\r\n b\r\n\r\n"), "folding" },
	{ BYTES(GET "X: a\r\n\tb\r\n\r\n"), "folding" },
	{ BYTES("GET / HTTP/1.1\r\n Host: a.test\r\n\r\n"), "folding" },
	{ BYTES(GET "X: a\r\n \r\n\r\n"), "folding" },
	{ BYTES("GET / HTTP/1.1\nHost: a.test\n\n"), "LF is not preceded by CR" },
	{ BYTES(GET "X: a\nY: b\r\n\r\n"), "LF is not preceded by CR" },
	{ BYTES(GET "X: a\r\n\n"), "LF is not preceded by CR" },
	{ BYTES(GET "X: a\rY: b\r\n\r\n"), "CR is not followed by LF" },
	{ BYTES(GET "X: a\r\r\n\r\n"), "CR is not followed by LF" },
	{ BYTES(GET "X: a\r\n\r\r\n"), "CR is not followed by LF" },
	{ BYTES("GET /\r HTTP/1.1\r\nHost: a.test\r\n\r\n"), "CR is not followed by LF" },
	{ BYTES(GET "X: a\0b\r\n\r\n"), "NUL" },
	{ BYTES("GET /\0 HTTP/1.1\r\nHost: a.test\r\n\r\n"), "NUL" },
	{ BYTES("GET http://a.test\0.b.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"), "NUL" },
	{ BYTES("CONNECT evil.test\0.a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"), "NUL" },
	{ BYTES(GET "X: \x1b[2J\r\n\r\n"), "control" },
	{ BYTES(GET "X: \x7f\r\n\r\n"), "control" },
	{ BYTES(GET "X\x01: a\r\n\r\n"), "control" },
	{ BYTES(GET "X Y: a\r\n\r\n"), "an invalid byte" },
	{ BYTES(GET "X(: a\r\n\r\n"), "an invalid byte" },
	{ BYTES(GET "X\x80: a\r\n\r\n"), "an invalid byte" },
	{ BYTES(GET "\"X\": a\r\n\r\n"), "an invalid byte" },
	{ BYTES(GET ": a\r\n\r\n"), "empty name" },
	{ BYTES(GET "X\r\n\r\n"), "no colon" },
	{ BYTES(GET "GET /x HTTP/1.1\r\n\r\n"), "no colon" },
	/* the Host field */
	{ BYTES("GET / HTTP/1.1\r\n\r\n"), "Host field is missing" },
	{ BYTES("GET http://a.test/ HTTP/1.1\r\nX: y\r\n\r\n"), "Host field is missing" },
	{ BYTES(GET "host: a.test\r\n\r\n"), "more than one Host" },
	{ BYTES("GET / HTTP/1.0\r\nHost: a.test\r\nHost: a.test\r\n\r\n"), "more than one Host" },
	{ BYTES(GET "Host:\r\n\r\n"), "more than one Host" },
	/* H08, H11, H12: the request line */
	{ BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "HTTP/2" },
	{ BYTES("GET / HTTP/2\r\nHost: a.test\r\n\r\n"), "HTTP/2" },
	{ BYTES("GET / HTTP/1.2\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / HTTP/0.9\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / HTTP/1.10\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / HTTP/01.1\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / HTTP/1.1 \r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / http/1.1\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / HTTP/1,1\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET / x HTTP/1.1\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET /\r\n\r\n"), "request line" },
	{ BYTES("GET\r\n\r\n"), "request line" },
	{ BYTES("\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "request line" },
	{ BYTES("\r\n\r\n"), "request line" },
	{ BYTES("\r\n\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "request line" },
	{ BYTES("GET  / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET /  HTTP/1.1\r\nHost: a.test\r\n\r\n"), "version" },
	{ BYTES("GET\t/ HTTP/1.1\r\nHost: a.test\r\n\r\n"), "request line" },
	{ BYTES(" GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "method" },
	{ BYTES("get / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "method" },
	{ BYTES("Get / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "method" },
	{ BYTES("connect a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n"), "method" },
	{ BYTES("G@T / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "method" },
	{ BYTES("-GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "method" },
	{ BYTES("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
	  "32 bytes" },
	{ BYTES("TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "TRACE" },
	{ BYTES("TRACK / HTTP/1.1\r\nHost: a.test\r\n\r\n"), "TRACE" },
	{ BYTES("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\n"),
	  "no body" },
	{ BYTES("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: "
		"chunked\r\n\r\n"),
	  "no body" },
	/* other protocols on our port, refused at their first bytes */
	{ BYTES("\x16\x03\x01\x02"), "control" },
	{ BYTES("\x05\x01"), "control" },
	{ BYTES("SSH-2.0-OpenSSH_9.2\n"), "LF is not preceded by CR" },
#undef GET
};

START_TEST(refused_requests)
{
	char text[HEAD_TEXT_MAX];

	ck_assert_int_eq(head_parse_every_way(refusals[_i].input, NULL, text), -EBADMSG);
	ck_assert_msg(strstr(text, refusals[_i].cause) != NULL, "said \"%s\", not \"%s\"", text,
		      refusals[_i].cause);
}
END_TEST

/* Any byte below space but tab, CR and LF, and DEL, at every place of a head. */
START_TEST(control_bytes_anywhere)
{
	static const char good[] = "GET / HTTP/1.1\r\nHost: a.test\r\nX: y\r\n\r\n";

	for (int byte = 0; byte < 256; byte++) {
		if ((byte >= 32 && byte != 127) || byte == '\t' || byte == '\r' || byte == '\n')
			continue;
		for (size_t at = 0; at < sizeof(good) - 1; at++) {
			char input[sizeof(good)];
			struct http1_head head;
			const char *cause = NULL;
			size_t scanned = 0;

			memcpy(input, good, sizeof(good));
			input[at] = (char)byte;
			ck_assert_int_eq(http1_parse_request(input, sizeof(good) - 1, &scanned,
							     &head, &cause),
					 -EBADMSG);
			ck_assert_ptr_nonnull(cause);
		}
	}
}
END_TEST

/* A head of @fields fields "X: y", after Host. Returned owned. */
static char *head_of_fields(size_t fields, size_t *ret_len)
{
	char *head = mem_strdup("GET / HTTP/1.1\r\nHost: a.test\r\n");

	for (size_t i = 0; i < fields; i++) {
		char *longer = mem_printf("%sX: y\r\n", head);

		free(head);
		head = longer;
	}

	char *whole = mem_printf("%s\r\n", head);

	free(head);
	*ret_len = strlen(whole);
	return whole;
}

START_TEST(too_many_fields)
{
	static const struct {
		size_t more;
		int want;
	} cases[] = { { HTTP1_FIELDS_MAX - 1, 0 }, { HTTP1_FIELDS_MAX, -E2BIG } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[HEAD_TEXT_MAX];
		size_t len = 0;
		auto_free char *head = head_of_fields(cases[i].more, &len);

		ck_assert_int_eq(head_parse_every_way((struct bytes){ head, len }, NULL, text),
				 cases[i].want);
	}
}
END_TEST

/* @before, then as much filler as makes the whole @len bytes, then @after. */
static char *padded(const char *before, const char *after, size_t len)
{
	size_t fill = len - strlen(before) - strlen(after);
	auto_free char *filler = mem_new(fill + 1);

	memset(filler, 'x', fill);
	return mem_printf("%s%s%s", before, filler, after);
}

/* Exactly at the limits, and one byte over them. */
static const struct {
	const char *before, *after;
	size_t len;
	int want;
} sizes[] = {
	{ "GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "\r\n\r\n", HTTP1_HEAD_MAX, 0 },
	{ "GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "\r\n\r\n", HTTP1_HEAD_MAX + 1, -E2BIG },
	{ "GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "", HTTP1_HEAD_MAX - 1, -EAGAIN },
	{ "GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "", HTTP1_HEAD_MAX, -E2BIG },
	{ "GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "", 2 * HTTP1_HEAD_MAX, -E2BIG },
	{ "GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "\r", HTTP1_HEAD_MAX, -E2BIG },
	{ "GET /", " HTTP/1.0\r\n\r\n", HTTP1_TARGET_MAX + 17, 0 },
	{ "GET /", " HTTP/1.0\r\n\r\n", HTTP1_TARGET_MAX + 18, -E2BIG },
};

START_TEST(sizes_at_the_limit)
{
	auto_free char *input = padded(sizes[_i].before, sizes[_i].after, sizes[_i].len);
	char text[HEAD_TEXT_MAX];

	ck_assert_uint_eq(strlen(input), sizes[_i].len);
	ck_assert_int_eq(head_parse_every_way((struct bytes){ input, sizes[_i].len }, NULL, text),
			 sizes[_i].want);
}
END_TEST

TCase *refused_cases(void)
{
	TCase *tcase = tcase_create("refused");

	tcase_set_timeout(tcase, 30);
	tcase_add_loop_test(tcase, refused_requests, 0, ARRAY_SIZE(refusals));
	tcase_add_test(tcase, control_bytes_anywhere);
	tcase_add_test(tcase, too_many_fields);
	tcase_add_loop_test(tcase, sizes_at_the_limit, 0, ARRAY_SIZE(sizes));
	return tcase;
}
