#include "tests/unit/base/http1/http1_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define NOTHING "(nothing)"

static const char *const forms[] = { "origin", "absolute", "authority", "asterisk" };
static const char *const bodies[] = { "no body", "length", "chunked", "until close" };

/* Which parts are spans is part of what is compared, so each stands between bars. */
static void describe(const struct http1_head *head, bool is_request, char text[HEAD_TEXT_MAX])
{
	char *at = text;
	size_t left = HEAD_TEXT_MAX;

#define ADD(...)                                                                                   \
	do {                                                                                       \
		size_t more = (size_t)snprintf(at, left, __VA_ARGS__);                             \
		ck_assert_uint_lt(more, left);                                                     \
		at += more;                                                                        \
		left -= more;                                                                      \
	} while (0)
#define SPAN(span) (int)(span).len, (span).at != NULL ? (span).at : ""

	if (is_request) {
		ADD("%.*s %s", SPAN(head->method), forms[head->form]);
		if (head->scheme.len > 0)
			ADD(" %.*s://", SPAN(head->scheme));
		if (head->userinfo.len > 0)
			ADD(" user|%.*s|", SPAN(head->userinfo));
		if (head->host.len > 0)
			ADD(" |%.*s|%u|", SPAN(head->host), head->port);
		if (head->path.len > 40)
			ADD(" path of %zu bytes", head->path.len);
		else if (head->path.len > 0)
			ADD(" path|%.*s|", SPAN(head->path));
		if (head->host_field.len > 0)
			ADD(" host|%.*s|%u|", SPAN(head->host_field_name), head->host_field_port);
	} else {
		ADD("%d |%.*s|", head->status, SPAN(head->reason));
	}
	ADD(" 1.%d %s", head->minor, bodies[head->body]);
	if (head->body == HTTP1_LENGTH)
		ADD(" %llu", (unsigned long long)head->length);
	ADD("%s%s%s", head->keep_alive ? " keep" : "", head->has_upgrade ? " upgrade" : "",
	    head->expects_continue ? " continue" : "");
	ADD(" %zu fields %zu bytes", head->field_count, head->bytes);
#undef SPAN
#undef ADD
}

/* One call on a copy of exactly @len bytes. */
static int parse_once(struct bytes input, size_t len, size_t *scanned, const char *method,
		      char text[HEAD_TEXT_MAX])
{
	auto_free char *exact = malloc(len > 0 ? len : 1);
	struct http1_head head;
	const char *cause = NOTHING;
	int r;

	ck_assert_ptr_nonnull(exact);
	memcpy(exact, input.at, len);
	if (method == NULL)
		r = http1_parse_request(exact, len, scanned, &head, &cause);
	else
		r = http1_parse_response(exact, len, scanned,
					 (struct http1_span){ method, strlen(method) }, &head,
					 &cause);
	if (r == 0)
		describe(&head, method == NULL, text);
	else
		snprintf(text, HEAD_TEXT_MAX, "%s", cause);
	return r;
}

static void must_match(int r, const char *text, int want, const char *want_text)
{
	ck_assert_int_eq(r, want);
	ck_assert_str_eq(text, want_text);
}

int head_parse_every_way(struct bytes input, const char *method, char text[HEAD_TEXT_MAX])
{
	/* Quadratic: long inputs are cut in fewer places. */
	size_t stride = input.len > 2048 ? input.len / 97 : 1;
	size_t scanned = 0, steps = 0;
	char again[HEAD_TEXT_MAX];
	int want = parse_once(input, input.len, &scanned, method, text);
	int r = -EAGAIN;

	scanned = 0;
	for (size_t len = 0; r == -EAGAIN && len <= input.len;
	     len = len < input.len && len + stride > input.len ? input.len : len + stride) {
		r = parse_once(input, len, &scanned, method, again);
		ck_assert_uint_le(scanned, len);
		steps++;
	}
	ck_assert_uint_ge(steps, 1);
	must_match(r, again, want, text);

	for (size_t cut = 0; cut <= input.len; cut += stride) {
		scanned = 0;
		r = parse_once(input, cut, &scanned, method, again);
		if (r == -EAGAIN)
			r = parse_once(input, input.len, &scanned, method, again);
		must_match(r, again, want, text);
	}
	return want;
}

/* Heads that real programs send. */
static const struct {
	struct bytes input;
	const char *want;
} heads[] = {
	{ BYTES("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nUser-Agent: curl/7.88.1\r\n"
		"Accept: */*\r\nProxy-Connection: Keep-Alive\r\n\r\n"),
	  "GET absolute http:// |a.test|80| path|/| host|a.test|0| 1.1 no body keep 4 fields 113 "
	  "bytes" },
	{ BYTES("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"),
	  "CONNECT authority |a.test|443| host|a.test|443| 1.1 no body keep 1 fields 49 bytes" },
	{ BYTES("CONNECT a.test:443 HTTP/1.0\r\n\r\n"),
	  "CONNECT authority |a.test|443| 1.0 no body 0 fields 31 bytes" },
	{ BYTES("CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n\r\n"),
	  "CONNECT authority |2001:db8::1|22| host|2001:db8::1|22| 1.1 no body keep 1 fields 61 "
	  "bytes" },
	{ BYTES("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"),
	  "CONNECT authority |a.test|443| host|a.test|0| 1.1 no body keep 2 fields 64 bytes" },
	{ BYTES("POST http://a.test:8080/x?y=z HTTP/1.1\r\nHost: a.test:8080\r\n"
		"Content-Length: 12\r\nExpect: 100-continue\r\n\r\nhello, world"),
	  "POST absolute http:// |a.test|8080| path|/x?y=z| host|a.test|8080| 1.1 length 12 keep "
	  "continue "
	  "3 fields 103 bytes" },
	{ BYTES("PUT /x HTTP/1.1\r\nhost:a.test\r\ntransfer-encoding: Chunked \r\n\r\n"),
	  "PUT origin path|/x| host|a.test|0| 1.1 chunked keep 2 fields 61 bytes" },
	{ BYTES("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n"),
	  "OPTIONS asterisk host|a.test|0| 1.1 no body keep 1 fields 36 bytes" },
	{ BYTES("OPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\n\r\n"),
	  "OPTIONS absolute http:// |a.test|80| path|*| host|a.test|0| 1.1 no body keep 1 fields "
	  "48 bytes" },
	{ BYTES("M-SEARCH / HTTP/1.1\r\nHost:\r\n\r\n"),
	  "M-SEARCH origin path|/| 1.1 no body keep 1 fields 30 bytes" },
	/* What follows the head is not looked at. */
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n\0\n\x01 GET"),
	  "GET origin path|/| host|a.test|0| 1.1 no body keep 1 fields 32 bytes" },
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nConnection: a, CLOSE ,b\r\n\r\n"),
	  "GET origin path|/| host|a.test|0| 1.1 no body 2 fields 57 bytes" },
	{ BYTES("GET / HTTP/1.0\r\nConnection: keep-alive\r\nUpgrade: x\r\nExpect: "
		"100-continue\r\n\r\n"),
	  "GET origin path|/| 1.0 no body 3 fields 76 bytes" },
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\nConnection: keep-alive\r\n"
		"Connection: \t,Upgrade\r\n\r\n"),
	  "GET origin path|/| host|a.test|0| 1.1 no body keep upgrade 4 fields 99 bytes" },
	/* Upgrade that Connection does not name is not for us. */
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n\r\n"),
	  "GET origin path|/| host|a.test|0| 1.1 no body keep 2 fields 52 bytes" },
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nX-Empty:\r\nX: \xc3\xa9 \"\\\t;\r\n\r\n"),
	  "GET origin path|/| host|a.test|0| 1.1 no body keep 3 fields 54 bytes" },
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9223372036854775807\r\n\r\n"),
	  "GET origin path|/| host|a.test|0| 1.1 length 9223372036854775807 keep 2 fields 69 "
	  "bytes" },
	{ BYTES("GET / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n"),
	  "GET origin path|/| host|a.test|0| 1.1 length 0 keep 2 fields 51 bytes" },
};

START_TEST(real_heads)
{
	char text[HEAD_TEXT_MAX];

	ck_assert_int_eq(head_parse_every_way(heads[_i].input, NULL, text), 0);
	ck_assert_str_eq(text, heads[_i].want);
}
END_TEST

/* -EAGAIN and nothing else, until the last byte. */
START_TEST(waits_for_the_end)
{
	static const char input[] = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
	struct http1_head head;
	const char *cause = NOTHING;

	for (size_t len = 0; len < sizeof(input) - 1; len++) {
		size_t scanned = 0;

		ck_assert_int_eq(http1_parse_request(input, len, &scanned, &head, &cause), -EAGAIN);
	}
	ck_assert_str_eq(cause, NOTHING);
}
END_TEST

START_TEST(fields_are_trimmed_spans)
{
	static const char input[] = "GET / HTTP/1.1\r\nHost: a.test\r\nA-b:  \t x y \t\r\n\r\n";
	struct http1_head head;
	const char *cause = NOTHING;
	size_t scanned = 0;

	ck_assert_int_eq(http1_parse_request(input, sizeof(input) - 1, &scanned, &head, &cause), 0);

	const struct http1_field *field = http1_head_find(&head, "a-b");

	ck_assert_ptr_nonnull(field);
	ck_assert_int_eq(memcmp(field->value.at, "x y", 3), 0);
	ck_assert_uint_eq(field->value.len, 3);
	ck_assert_ptr_null(http1_head_find(&head, "a"));
	ck_assert_ptr_null(http1_head_find(&head, "a-bc"));
}
END_TEST

/* H13: which fields end here. */
static const struct {
	const char *name;
	bool want;
} hops[] = {
	{ "Connection", true },
	{ "Keep-Alive", true },
	{ "Proxy-Connection", true },
	{ "PROXY-AUTHORIZATION", true },
	{ "Proxy-X", true },
	{ "TE", true },
	{ "Trailer", true },
	{ "Transfer-Encoding", true },
	{ "Upgrade", true },
	{ "X-Named", true },
	{ "x-named-too", true },
	{ "Content-Length", false },
	{ "Host", false },
	{ "X-Other", false },
	{ "X-Name", false },
	{ "Accept", false },
};

START_TEST(hop_by_hop)
{
	static const char input[] =
		"GET / HTTP/1.1\r\nConnection: x-named , content-length,, Host\r\n"
		"Host: a.test\r\nConnection: ,X-NAMED-TOO\r\n\r\n";
	struct http1_head head;
	const char *cause = NOTHING;
	size_t scanned = 0;
	struct http1_field field = { .name = { hops[_i].name, strlen(hops[_i].name) } };

	ck_assert_int_eq(http1_parse_request(input, sizeof(input) - 1, &scanned, &head, &cause), 0);
	ck_assert_int_eq(http1_connection_ends_field(&head, &field), hops[_i].want);
}
END_TEST

TCase *head_cases(void)
{
	TCase *tcase = tcase_create("head");

	tcase_add_loop_test(tcase, real_heads, 0, ARRAY_SIZE(heads));
	tcase_add_test(tcase, waits_for_the_end);
	tcase_add_test(tcase, fields_are_trimmed_spans);
	tcase_add_loop_test(tcase, hop_by_hop, 0, ARRAY_SIZE(hops));
	return tcase;
}
