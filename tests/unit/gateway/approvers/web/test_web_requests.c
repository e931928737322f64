#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/gateway/approvers/web/test_web.h"

/* @P the port, @C the cookie, @K the key, @A the capability. */
#define HOST       "Host: 127.0.0.1:@P\r\n"
#define ORIGIN     "Origin: http://127.0.0.1:@P\r\n"
#define SITE       "Sec-Fetch-Site: same-origin\r\n"
#define JSON       "Content-Type: application/json\r\n"
#define COOKIE     "Cookie: sallyport-@P=@C\r\n"
#define KEY        "Sallyport-Key: @K\r\n"
#define ALL        HOST ORIGIN SITE JSON COOKIE KEY
#define DENY       "Content-Length: 34\r\n\r\n{\"question\":\"q-1\",\"action\":\"deny\"}"
#define ENTER      "Content-Length: 81\r\n\r\n{\"capability\":\"@A\"}"
#define NOTHING    "Content-Length: 2\r\n\r\n{}"
#define POST(path) "POST " path " HTTP/1.1\r\n"
#define GET(path)  "GET " path " HTTP/1.1\r\n"

static char *fill(const char *template)
{
	static const char names[] = "CKAP";
	char *text = mem_new(16384), port[8];
	const char *const values[] = { stage.approver->page.cookie, stage.approver->page.key,
				       stage.approver->page.capability, port };
	size_t at = 0;

	(void)snprintf(port, sizeof(port), "%u", stage.web.port);
	for (; *template != '\0'; template ++) {
		const char *which = *template == '@' ? strchr(names, template[1]) : NULL;

		if (!which) {
			text[at++] = *template;
			continue;
		}
		at += (size_t)snprintf(text + at, PAGE_SECRET_MAX, "%s", values[which - names]);
		template ++;
	}
	return text;
}

static const struct {
	const char *request;
	int status;
} requests[] = {
	/* the page itself: anybody may load it, and it shows nothing */
	{ GET("/") HOST "\r\n", 200 },
	{ GET("/") "Host: localhost:@P\r\n\r\n", 200 },
	{ GET("/") HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 200 },
	{ GET("/app.js") HOST SITE "\r\n", 200 },
	{ GET("/app.css") HOST "Sec-Fetch-Site: none\r\n\r\n", 200 },
	{ GET("/app.js") HOST "Sec-Fetch-Site: cross-site\r\n\r\n", 403 },
	{ GET("/app.js") HOST "Sec-Fetch-Site: same-site\r\n\r\n", 403 },
	{ GET("/nothing") HOST "\r\n", 404 },
	{ GET("/?x") HOST "\r\n", 404 },
	{ GET("/../app.js") HOST "\r\n", 400 },
	{ GET("//app.js") HOST "\r\n", 404 },
	{ GET("/api/") HOST "\r\n", 404 },
	{ GET("/api/nothing") HOST "\r\n", 401 },
	{ "HEAD / HTTP/1.1\r\n" HOST "\r\n", 403 }, /* no Origin, and not GET */
	{ "HEAD / HTTP/1.1\r\n" HOST ORIGIN "\r\n", 405 },
	{ "PUT / HTTP/1.1\r\n" ALL NOTHING, 405 },
	{ POST("/") ALL NOTHING, 405 },
	{ "OPTIONS /api/answer HTTP/1.1\r\n" HOST "Origin: http://evil.test\r\n"
	  "Access-Control-Request-Method: POST\r\n\r\n",
	  403 },
	{ "OPTIONS /api/answer HTTP/1.1\r\n" ALL "\r\n", 405 },
	/* the name: another that turns to loopback, or none */
	{ GET("/") "Host: evil.test:@P\r\n\r\n", 421 },
	{ GET("/") "Host: evil.test\r\n\r\n", 421 },
	{ GET("/") "Host: 127.0.0.1\r\n\r\n", 421 },
	{ GET("/") "Host: 127.0.0.1:1\r\n\r\n", 421 },
	{ GET("/") "Host: 127.1:@P\r\n\r\n", 421 },
	{ GET("/") "Host: [::1]:@P\r\n\r\n", 421 },
	{ GET("/") "Host: localhost.:@P\r\n\r\n", 421 },
	{ GET("/") "Host: x.localhost:@P\r\n\r\n", 421 },
	{ GET("/") "Host: 127.0.0.1:@P0\r\n\r\n", 400 }, /* no port is so large */
	{ GET("/") "Host: \r\n\r\n", 421 },
	{ POST("/api/answer") "Host: evil.test:@P\r\n" ORIGIN SITE JSON COOKIE KEY DENY, 421 },
	{ POST("/api/enter") "Host: evil.test:@P\r\nOrigin: http://evil.test:@P\r\n" JSON ENTER,
	  421 },
	{ GET("/") "\r\n", 400 },
	{ GET("/") HOST HOST "\r\n", 400 },
	{ "GET / HTTP/1.0\r\n" HOST "\r\n", 505 },
	{ "GET http://127.0.0.1:@P/ HTTP/1.1\r\n" HOST "\r\n", 400 },
	{ "\x16\x03\x01\x02\r\n\r\n", 400 },
	/* entering */
	{ POST("/api/enter") HOST ORIGIN SITE JSON ENTER, 200 },
	{ POST("/api/enter") HOST ORIGIN JSON ENTER, 200 },
	{ POST("/api/enter") HOST SITE JSON ENTER, 403 }, /* no Origin */
	{ POST("/api/enter") HOST "Origin: null\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST "Origin: http://evil.test\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST "Origin: https://127.0.0.1:@P\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST "Origin: http://127.0.0.1\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST "Origin: http://localhost:@P\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST ORIGIN "Sec-Fetch-Site: same-site\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST ORIGIN "Sec-Fetch-Site: none\r\n" JSON ENTER, 403 },
	{ POST("/api/enter") HOST ORIGIN SITE ENTER, 415 },
	{ POST("/api/enter") HOST ORIGIN SITE "Content-Type: text/plain\r\n" ENTER, 415 },
	{ POST("/api/enter") HOST ORIGIN SITE "Content-Type: application/jsonp\r\n" ENTER, 415 },
	{ POST("/api/enter") HOST ORIGIN SITE
	  "Content-Type: application/json; charset=utf-8\r\n" ENTER,
	  200 },
	{ GET("/api/enter") HOST "\r\n", 405 },
	{ POST("/api/enter") HOST ORIGIN JSON NOTHING, 401 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 17\r\n\r\n{\"capability\":\"\"}",
	  401 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 16\r\n\r\n{\"capability\":1}", 401 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 81\r\n\r\n{\"capability\":\"@K\"}",
	  401 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 81\r\n\r\n{\"capability\":\"@C\"}",
	  401 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 3\r\n\r\n[1]", 400 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 1\r\n\r\n{", 400 },
	{ POST("/api/enter") HOST ORIGIN JSON "\r\n", 400 },
	{ POST("/api/enter") HOST ORIGIN JSON "Content-Length: 9000\r\n\r\n", 413 },
	/* answering: each part is missing once, and each is wrong once */
	{ POST("/api/answer") ALL DENY, 200 },
	{ POST("/api/answer") HOST ORIGIN JSON COOKIE KEY DENY, 200 }, /* an older browser */
	{ POST("/api/answer") ORIGIN SITE JSON COOKIE KEY DENY, 400 },
	{ POST("/api/answer") HOST SITE JSON COOKIE KEY DENY, 403 },
	{ POST("/api/answer") HOST "Origin: http://evil.test\r\n" SITE JSON COOKIE KEY DENY, 403 },
	{ POST("/api/answer") HOST "Origin: null\r\n" SITE JSON COOKIE KEY DENY, 403 },
	{ POST("/api/answer") HOST ORIGIN "Sec-Fetch-Site: cross-site\r\n" JSON COOKIE KEY DENY,
	  403 },
	{ POST("/api/answer") HOST ORIGIN "Sec-Fetch-Site: none\r\n" JSON COOKIE KEY DENY, 403 },
	{ POST("/api/answer") HOST ORIGIN SITE COOKIE KEY DENY, 415 },
	{ POST("/api/answer") HOST ORIGIN SITE
	  "Content-Type: application/x-www-form-urlencoded\r\n" COOKIE KEY DENY,
	  415 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON KEY DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON COOKIE DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON "Cookie: sallyport-@P=@K\r\n" KEY DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON COOKIE "Sallyport-Key: @C\r\n" DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON COOKIE "Sallyport-Key: @A\r\n" DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON COOKIE "Sallyport-Key: @Kx\r\n" DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON COOKIE "Sallyport-Key:\r\n" DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON "Cookie: sallyport-1=@C\r\n" KEY DENY, 401 },
	{ POST("/api/answer") HOST ORIGIN SITE JSON
	  "Cookie: sallyport-@P=@C; sallyport-@P=@C\r\n" KEY DENY,
	  401 },
	{ GET("/api/answer") ALL "\r\n", 405 },
	{ GET("/api/answer?question=q-1&action=deny") ALL "\r\n", 404 },
	{ GET("/api/revoke") ALL "\r\n", 405 },
	{ GET("/api/text") ALL "\r\n", 405 },
	/* the stream */
	{ GET("/api/events") ALL "\r\n", 200 },
	{ GET("/api/events") HOST COOKIE KEY "\r\n", 200 },
	{ GET("/api/events") HOST KEY "\r\n", 401 },
	{ GET("/api/events") HOST COOKIE "\r\n", 401 },
	{ GET("/api/events") HOST "Origin: http://evil.test\r\n" COOKIE KEY "\r\n", 403 },
	{ GET("/api/events") HOST "Sec-Fetch-Site: same-site\r\n" COOKIE KEY "\r\n", 403 },
	{ GET("/api/events") "Host: evil.test\r\n" COOKIE KEY "\r\n", 421 },
	{ POST("/api/events") ALL NOTHING, 405 },
};

START_TEST(request)
{
	auto_free char *text = fill(requests[_i].request);
	bool is_answer = requests[_i].status == 200 && strstr(text, "POST /api/answer");
	struct visitor visitor;

	stage_ask("q-1", "a.test");
	ck_assert_int_eq(visitor_ask(&visitor, text), requests[_i].status);
	ck_assert_uint_eq(stage.answer_count, is_answer);
	ck_assert_uint_eq(stage.question_count, !is_answer);
	/* whatever it was, no other origin is let in, and nobody frames or keeps it */
	ck_assert_ptr_null(strcasestr(visitor.text, "access-control"));
	ck_assert_ptr_nonnull(strstr(visitor.text, "frame-ancestors 'none'"));
	ck_assert_ptr_nonnull(strstr(visitor.text, "default-src 'none'; script-src 'self'"));
	ck_assert_ptr_nonnull(strstr(visitor.text, "Cache-Control: no-store\r\n"));
	ck_assert_ptr_nonnull(strstr(visitor.text, "X-Content-Type-Options: nosniff\r\n"));
	ck_assert_ptr_nonnull(strstr(visitor.text, "Referrer-Policy: no-referrer\r\n"));
	visitor_close(&visitor);
}
END_TEST

/* The capability is in the address only, never in what is sent; the cookie in one field, the key in
 * one body. */
START_TEST(secrets_are_handed_out_once_each)
{
	auto_free char *text = fill(POST("/api/enter") HOST ORIGIN JSON ENTER);
	const struct approver *server = stage.approver;
	struct visitor visitor;
	char *cookie;

	ck_assert_uint_eq(strlen(server->page.capability), 2 * PAGE_SECRET_BYTES);
	ck_assert_str_ne(server->page.capability, server->page.cookie);
	ck_assert_str_ne(server->page.capability, server->page.key);
	ck_assert_str_ne(server->page.cookie, server->page.key);
	ck_assert_ptr_nonnull(strstr(stage.web.url, "/#"));
	ck_assert_str_eq(strstr(stage.web.url, "/#") + 2, server->page.capability);

	ck_assert_int_eq(visitor_ask(&visitor, text), 200);
	cookie = strstr(visitor.text, "Set-Cookie: ");
	ck_assert_ptr_nonnull(cookie);
	ck_assert_ptr_nonnull(strstr(cookie, "; Path=/api/; HttpOnly; SameSite=Strict\r\n"));
	ck_assert_ptr_null(strstr(visitor.text, server->page.capability));
	ck_assert_ptr_null(strstr(strstr(cookie, server->page.cookie) + 1, server->page.cookie));
	ck_assert_ptr_nonnull(strstr(strstr(visitor.text, "\r\n\r\n"), server->page.key));
	visitor_close(&visitor);
}
END_TEST

START_TEST(wrong_capability_of_the_right_length)
{
	for (size_t i = 0; i < 2 * PAGE_SECRET_BYTES; i += 9) {
		auto_free char *text = fill(POST("/api/enter") HOST ORIGIN JSON ENTER);
		char *given = strstr(text, stage.approver->page.capability);
		struct visitor visitor;

		given[i] = given[i] == '0' ? '1' : '0';
		ck_assert_int_eq(visitor_ask(&visitor, text), 401);
		ck_assert_ptr_null(strstr(visitor.text, "Set-Cookie"));
		ck_assert_ptr_null(strstr(visitor.text, stage.approver->page.key));
		visitor_close(&visitor);
	}
}
END_TEST

START_TEST(two_starts_share_no_secret)
{
	struct gateway first = stage;
	char capability[PAGE_SECRET_MAX], cookie[PAGE_SECRET_MAX], key[PAGE_SECRET_MAX];

	memcpy(capability, first.approver->page.capability, sizeof(capability));
	memcpy(cookie, first.approver->page.cookie, sizeof(cookie));
	memcpy(key, first.approver->page.key, sizeof(key));
	stage_close();
	stage_open();
	ck_assert_str_ne(stage.approver->page.capability, capability);
	ck_assert_str_ne(stage.approver->page.cookie, cookie);
	ck_assert_str_ne(stage.approver->page.key, key);
}
END_TEST

/* A byte at a time it is the same request; what comes behind it is not looked at. */
START_TEST(slow_and_long_requests)
{
	auto_free char *text = fill(POST("/api/answer") ALL DENY);
	struct visitor visitor;

	stage_ask("q-1", "a.test");
	visitor_open(&visitor);
	for (size_t i = 0; i < strlen(text); i++) {
		ck_assert_uint_eq(stage.answer_count, 0);
		visitor_send(&visitor, text + i, 1);
	}
	ck_assert_uint_eq(stage.answer_count, 1);
	visitor_close(&visitor);

	auto_free char *twice = mem_printf("%s%s", text, text);
	stage_ask("q-1", "a.test");
	ck_assert_int_eq(visitor_ask(&visitor, twice), 200);
	ck_assert_uint_eq(stage.answer_count, 2);
	visitor_close(&visitor);
}
END_TEST

START_TEST(large_head_is_refused)
{
	auto_free char *value = mem_new(10001), *text = NULL;
	struct visitor visitor;

	memset(value, 'x', 10000);
	text = mem_printf("GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX: %s\r\n\r\n", stage.web.port,
			  value);
	ck_assert_int_eq(visitor_ask(&visitor, text), 431);
	visitor_close(&visitor);
}
END_TEST

START_TEST(half_a_request_is_not_waited_for)
{
	auto_free char *text = fill(POST("/api/answer") ALL DENY);
	struct visitor visitor;

	stage_ask("q-1", "a.test");
	visitor_open(&visitor);
	visitor_send(&visitor, text, strlen(text) - 1);
	loop_advance(stage.loop, SERVED_REQUEST_MS - 1);
	visitor_read(&visitor);
	ck_assert(!visitor.is_over);
	loop_advance(stage.loop, 1);
	visitor_read(&visitor);
	ck_assert(visitor.is_over);
	ck_assert_uint_eq(visitor.len, 0);
	ck_assert_uint_eq(stage.answer_count, 0);
	visitor_close(&visitor);
}
END_TEST

Suite *suite_web_requests(void)
{
	Suite *suite = suite_create("web-requests");
	TCase *tcase = tcase_create("requests");

	tcase_add_checked_fixture(tcase, stage_open, stage_close);
	tcase_add_loop_test(tcase, request, 0, ARRAY_SIZE(requests));
	tcase_add_test(tcase, secrets_are_handed_out_once_each);
	tcase_add_test(tcase, wrong_capability_of_the_right_length);
	tcase_add_test(tcase, two_starts_share_no_secret);
	tcase_add_test(tcase, slow_and_long_requests);
	tcase_add_test(tcase, large_head_is_refused);
	tcase_add_test(tcase, half_a_request_is_not_waited_for);
	suite_add_tcase(suite, tcase);
	return suite;
}
