#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/page/page_head.h"
#include "tests/unit/base/test_base.h"

#define H "Host: a\r\n"

static const struct {
	const char *text;
	int want;
} heads[] = {
	{ "GET / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "POST /api/enter HTTP/1.1\r\nhost:a\r\ncontent-length: 12 \r\n\r\n", 0 },
	{ "OPTIONS / HTTP/1.1\r\n" H "\r\n", 0 },
	{ "", -EAGAIN },
	{ "GET / HTTP/1.1\r\n" H "\r", -EAGAIN },
	{ "GET / HTTP/1.1\r\n" H, -EAGAIN },
	{ "GET / HTTP/1.0\r\n" H "\r\n", -EPROTONOSUPPORT },
	{ "GET / HTTP/2.0\r\n" H "\r\n", -EBADMSG },
	{ "GET /\r\n" H "\r\n", -EBADMSG },
	{ "GET  / HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "GET / HTTP/1.1 \r\n" H "\r\n", -EBADMSG },
	{ "GET http://a/ HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "GET * HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "GET /\x80 HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "G(T / HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "get / HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "TRACE / HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "CONNECT a:1 HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "OPTIONS * HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "GET /#a HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "GET /%2e%2e/a HTTP/1.1\r\n" H "\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\nHost:\ta\r\n\r\n", -EBADMSG },   /* a tab next to a host */
	{ "GET / HTTP/1.1\n" H "\n", -EBADMSG },              /* bare LF */
	{ "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", -EBADMSG }, /* bare CR */
	{ "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n\r\n", -EBADMSG }, /* no Host */
	{ "GET / HTTP/1.1\r\n" H H "\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n" H "host: b\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n" H " folded\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n" H "no colon\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n" H ": empty\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: +1\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 1, 1\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 8193\r\n\r\n", -EMSGSIZE },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 9223372036854775807\r\n\r\n", -EMSGSIZE },
	{ "POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n", -EBADMSG },
	{ "POST / HTTP/1.1\r\n" H "Expect: 100-continue\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n" H "Origin: a\r\nOrigin: a\r\n\r\n", -EBADMSG },
	{ "GET / HTTP/1.1\r\n" H "Cookie: a=1\r\nCookie: b=2\r\n\r\n", -EBADMSG },
};

START_TEST(heads_are_read_strictly)
{
	struct page_head head = { 0 };

	ck_assert_int_eq(page_head_parse(heads[_i].text, strlen(heads[_i].text), &head),
			 heads[_i].want);
	if (heads[_i].want < 0)
		ck_assert_ptr_null(head.path.at); /* untouched on failure */
}
END_TEST

START_TEST(fields_are_trimmed_and_found)
{
	static const char text[] = "POST /x HTTP/1.1\r\nHOST:   a:1  \r\ncookie: \t a=1; b=2 \t\r\n"
				   "Content-Length: 3\r\nX-Other: x\r\n\r\nabc";
	struct page_head head;

	ck_assert_int_eq(page_head_parse(text, strlen(text), &head), 0);
	ck_assert_int_eq(head.method, PAGE_POST);
	ck_assert(page_head_is(&head.path, "/x"));
	ck_assert(page_head_is(&head.host, "a:1"));
	ck_assert(page_head_is(&head.cookie, "a=1; b=2"));
	ck_assert_uint_eq(head.body_len, 3);
	ck_assert_uint_eq(head.len, strlen(text) - 3);
	ck_assert_ptr_null(head.origin.at);
}
END_TEST

/* However it is cut, it is not whole before its end. */
START_TEST(every_prefix_waits)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nCookie: b\r\n\r\n";
	struct page_head head;

	for (size_t len = 0; len < sizeof(text) - 1; len++)
		ck_assert_int_eq(page_head_parse(text, len, &head), -EAGAIN);
	ck_assert_int_eq(page_head_parse(text, sizeof(text) - 1, &head), 0);
}
END_TEST

START_TEST(large_heads)
{
	char text[PAGE_HEAD_MAX_BYTES + 64] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
	struct page_head head;

	memset(text + strlen(text), 'x', sizeof(text) - 1 - strlen(text));
	ck_assert_int_eq(page_head_parse(text, PAGE_HEAD_MAX_BYTES - 1, &head), -EAGAIN);
	ck_assert_int_eq(page_head_parse(text, PAGE_HEAD_MAX_BYTES, &head), -E2BIG);
	(void)strncpy(text, "GET / HTTP/1.1\r\nHost: a\r\n", sizeof(text));
	for (int i = 0; i < PAGE_HEAD_FIELDS; i++)
		(void)strncat(text, "a:b\r\n", sizeof(text) - strlen(text) - 1);
	(void)strncat(text, "\r\n", sizeof(text) - strlen(text) - 1);
	ck_assert_int_eq(page_head_parse(text, strlen(text), &head), -E2BIG);
}
END_TEST

static const struct {
	const char *cookies, *want; /* NULL: none */
} cookies[] = {
	{ "s=1", "1" },       { "a=2; s=1", "1" }, { "s=1; a=2", "1" }, { "s=", "" },
	{ "a=2;s=1", "1" },   { "xs=1", NULL },    { "s", NULL },       { "s2=1", NULL },
	{ "s=1; s=1", NULL }, /* twice: nobody can say which is ours */
	{ "", NULL },         { ";;;", NULL },
};

START_TEST(cookie_is_found)
{
	struct page_head head = { .cookie = { cookies[_i].cookies, strlen(cookies[_i].cookies) } };
	struct http1_span found = page_head_cookie(&head, "s");

	if (cookies[_i].want)
		ck_assert(page_head_is(&found, cookies[_i].want));
	else
		ck_assert_ptr_null(found.at);
}
END_TEST

TCase *test_page_head(void)
{
	TCase *tcase = tcase_create("page head");

	tcase_add_loop_test(tcase, heads_are_read_strictly, 0, ARRAY_SIZE(heads));
	tcase_add_test(tcase, fields_are_trimmed_and_found);
	tcase_add_test(tcase, every_prefix_waits);
	tcase_add_test(tcase, large_heads);
	tcase_add_loop_test(tcase, cookie_is_found, 0, ARRAY_SIZE(cookies));
	return tcase;
}
