#include "tests/unit/base/http1/http1_test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* NULL: refused. Otherwise the start of the head in words. */
static const struct {
	const char *method, *target, *want;
} targets[] = {
	{ "GET", "http://a.test", "GET absolute http:// |a.test|80| path|/|" },
	{ "GET", "HTTP://A.Test:81/", "GET absolute HTTP:// |A.Test|81| path|/|" },
	{ "GET", "https://a.test/x", "GET absolute https:// |a.test|443| path|/x|" },
	{ "GET", "http://a.test./", "GET absolute http:// |a.test.|80| path|/|" },
	{ "GET", "http://user:p%40ss@a.test/",
	  "GET absolute http:// user|user:p%40ss| |a.test|80| path|/|" },
	{ "GET", "http://[::1]/", "GET absolute http:// |::1|80| path|/|" },
	{ "GET", "http://[::ffff:127.0.0.1]:8080/x",
	  "GET absolute http:// |::ffff:127.0.0.1|8080| path|/x|" },
	{ "GET", "http://127.1/", "GET absolute http:// |127.1|80| path|/|" },
	{ "GET", "http://_x.a-b.test:65535/", "GET absolute http:// |_x.a-b.test|65535| path|/|" },
	/* What browsers and curl send raw. */
	{ "GET", "http://a.test/\"<>\\^`{|}[]?a=\"|\"",
	  "GET absolute http:// |a.test|80| path|/\"<>\\^`{|}[]?a=\"|\"|" },
	{ "GET", "http://a.test/x@evil.test",
	  "GET absolute http:// |a.test|80| path|/x@evil.test|" },
	{ "GET", "http://a.test/http://b.test/",
	  "GET absolute http:// |a.test|80| path|/http://b.test/|" },
	{ "GET", "//b.test/", "GET origin path|//b.test/|" },
	/* dot segments that stay below the root; escapes of a query are the application's own */
	{ "GET", "/./x", "GET origin path|/./x|" },
	{ "GET", "/a/../x", "GET origin path|/a/../x|" },
	{ "GET", "/a/b/../..", "GET origin path|/a/b/../..|" },
	{ "GET", "/a..b/..c/...", "GET origin path|/a..b/..c/...|" },
	{ "GET", "/@a%2fb%2Ec", "GET origin path|/@a%2fb%2Ec|" },
	{ "GET", "/a?b=%00%zz%&c=/../..", "GET origin path|/a?b=%00%zz%&c=/../..|" },
	{ "GET", "http://a.test/./x", "GET absolute http:// |a.test|80| path|/./x|" },
	{ "GET", "/%", NULL },
	{ "GET", "/%2", NULL },
	{ "GET", "/%zz", NULL },
	{ "GET", "/a%2gb", NULL },
	{ "GET", "/%?a", NULL },
	{ "GET", "/a%00", NULL },
	{ "GET", "http://a.test/%00", NULL },
	{ "GET", "http://a.test/%%30%30", NULL },
	{ "GET", "/..", NULL },
	{ "GET", "/../x", NULL },
	{ "GET", "/..?x", NULL },
	{ "GET", "/a/../../x", NULL },
	{ "GET", "/./../x", NULL },
	{ "GET", "//../x", NULL },
	{ "GET", "/.../../x", NULL },
	{ "GET", "/%2e%2E/x", NULL },
	{ "GET", "/.%2e", NULL },
	{ "GET", "/a/..%2f../x", NULL },
	{ "GET", "/a/..%5C..", NULL },
	{ "GET", "/..\\x", NULL },
	{ "GET", "/..;a/x", NULL },
	{ "GET", "/a%2fb/../../x", NULL },
	{ "GET", "http://a.test/../x", NULL },
	{ "OPTIONS", "/../x", NULL },
	{ "CONNECT", "a.test:1", "CONNECT authority |a.test|1|" },
	{ "CONNECT", "10.0.0.1:65535", "CONNECT authority |10.0.0.1|65535|" },
	/* N02, N09: authorities that two readers could read in two ways */
	{ "GET", "http:///x", NULL },
	{ "GET", "http://", NULL },
	{ "GET", "http://:80/", NULL },
	{ "GET", "http://a.test:/", NULL },
	{ "GET", "http://a.test:0/", NULL },
	{ "GET", "http://a.test:080/", NULL },
	{ "GET", "http://a.test:65536/", NULL },
	{ "GET", "http://a.test:99999999999999999999/", NULL },
	{ "GET", "http://a.test:+80/", NULL },
	{ "GET", "http://a.test:80:80/", NULL },
	{ "GET", "http://a.test:80x/", NULL },
	{ "GET", "http://a.test\\@evil.test/", NULL },
	{ "GET", "http://a.test\\.evil.test/", NULL },
	{ "GET", "http://a.test@b.test@evil.test/", NULL },
	{ "GET", "http://@a.test/", NULL },
	{ "GET", "http://a.test%2eevil.test/", NULL },
	{ "GET", "http://a.test%00.evil.test/", NULL },
	{ "GET", "http://a.test;b/", NULL },
	{ "GET", "http://a,b/", NULL },
	{ "GET", "http://a*b/", NULL },
	{ "GET", "http://a.test\x80/", NULL },
	{ "GET", "http://\xc3\xa9.test/", NULL },
	{ "GET", "http://::1/", NULL },
	{ "GET", "http://[::1/", NULL },
	{ "GET", "http://::1]/", NULL },
	{ "GET", "http://[::1]x/", NULL },
	{ "GET", "http://[::1]:/", NULL },
	{ "GET", "http://[]/", NULL },
	{ "GET", "http://[127.0.0.1]/", NULL },
	{ "GET", "http://[fe80::1%25lo]/", NULL },
	{ "GET", "http://[fe80::1%lo]/", NULL },
	{ "GET", "http://[v1.x]/", NULL },
	{ "GET", "http://[[::1]]/", NULL },
	{ "GET", "http://a.test?x=1", NULL },
	{ "GET", "http://a.test/#x", NULL },
	{ "GET", "/x#y", NULL },
	{ "GET", "/\x7f", NULL },
	{ "GET", "/\xc3\xa9", NULL },
	{ "GET", "/a\tb", NULL },
	/* other schemes and no scheme */
	{ "GET", "ftp://a.test/x", "GET absolute ftp:// |a.test|21| path|/x|" },
	{ "GET", "ftp://a.test:0/", NULL },
	{ "GET", "gopher://a.test/", NULL },
	{ "GET", "http:a.test/", NULL },
	{ "GET", "http:/a.test/", NULL },
	{ "GET", "://a.test/", NULL },
	{ "GET", " http://a.test/", NULL },
	{ "GET", "a.test:80", NULL },
	{ "GET", "a.test", NULL },
	{ "GET", "x/", NULL },
	{ "GET", "\\x", NULL },
	{ "GET", "*", NULL },
	{ "OPTIONS", "**", NULL },
	{ "OPTIONS", "*/", NULL },
	/* H12 */
	{ "CONNECT", "a.test", NULL },
	{ "CONNECT", "a.test:", NULL },
	{ "CONNECT", "a.test:0", NULL },
	{ "CONNECT", "a.test:65536", NULL },
	{ "CONNECT", "a.test:443extra", NULL },
	{ "CONNECT", "a.test:443/", NULL },
	{ "CONNECT", "a.test:443/x", NULL },
	{ "CONNECT", "a.test:443?x", NULL },
	{ "CONNECT", ":443", NULL },
	{ "CONNECT", "/", NULL },
	{ "CONNECT", "*", NULL },
	{ "CONNECT", "http://a.test:443", NULL },
	{ "CONNECT", "http://a.test/", NULL },
	{ "CONNECT", "user@a.test:443", NULL },
	{ "CONNECT", "::1:443", NULL },
	{ "CONNECT", "[::1]", NULL },
	{ "CONNECT", "[::1]443", NULL },
	{ "CONNECT", "a.test%0d%0a:443", NULL },
};

START_TEST(target_forms)
{
	char input[1024], text[HEAD_TEXT_MAX];
	int len = snprintf(input, sizeof(input), "%s %s HTTP/1.1\r\nHost:\r\n\r\n",
			   targets[_i].method, targets[_i].target);
	int r = head_parse_every_way((struct bytes){ input, (size_t)len }, NULL, text);

	if (targets[_i].want == NULL) {
		ck_assert_int_eq(r, -EBADMSG);
		return;
	}
	ck_assert_msg(r == 0, "%s: %s", targets[_i].target, text);
	/* Behind the target comes the version. */
	ck_assert_msg(strncmp(text, targets[_i].want, strlen(targets[_i].want)) == 0, "%s", text);
	ck_assert_int_eq(strncmp(text + strlen(targets[_i].want), " 1.1 ", 5), 0);
}
END_TEST

/* The Host field: its value, or NULL for no field at all; the port, -1 when refused. */
static const struct {
	const char *value;
	int want_port;
	const char *want_name;
} hosts[] = {
	{ "", 0, "" },
	{ "a.test", 0, "a.test" },
	{ "a.test:80", 80, "a.test" },
	{ "[::1]:80", 80, "::1" },
	{ "[::1]", 0, "::1" },
	{ "10.0.0.1", 0, "10.0.0.1" },
	{ "a.test:", -1, NULL },
	{ "a.test:x", -1, NULL },
	{ ":80", -1, NULL },
	{ "a.test, b.test", -1, NULL },
	{ "a.test b.test", -1, NULL },
	{ "a.test/", -1, NULL },
	{ "http://a.test", -1, NULL },
	{ "user@a.test", -1, NULL },
	{ "a.test\\b", -1, NULL },
	{ "a.test?x", -1, NULL },
	{ "a.test#x", -1, NULL },
	{ "::1", -1, NULL },
	{ "\xc3\xa9.test", -1, NULL },
};

START_TEST(host_fields)
{
	char input[1024];
	int len = snprintf(input, sizeof(input), "GET / HTTP/1.1\r\nHost: %s\r\n\r\n",
			   hosts[_i].value);
	struct http1_head head;
	const char *cause = NULL;
	size_t scanned = 0;
	int r = http1_parse_request(input, (size_t)len, &scanned, &head, &cause);

	if (hosts[_i].want_port < 0) {
		ck_assert_int_eq(r, -EBADMSG);
		return;
	}
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(head.host_field_port, hosts[_i].want_port);
	ck_assert_uint_eq(head.host_field.len, strlen(hosts[_i].value));
	ck_assert_uint_eq(head.host_field_name.len, strlen(hosts[_i].want_name));
	ck_assert(head.host_field_name.len == 0 ||
		  memcmp(head.host_field_name.at, hosts[_i].want_name, head.host_field_name.len) ==
			  0);
}
END_TEST

/* A name of 255 bytes passes, one of 256 does not. */
START_TEST(long_hosts)
{
	for (int bytes = 255; bytes <= 256; bytes++) {
		char name[257] = { 0 }, input[512], text[HEAD_TEXT_MAX];

		memset(name, 'a', (size_t)bytes);

		int len = snprintf(input, sizeof(input), "CONNECT %s:443 HTTP/1.0\r\n\r\n", name);
		int r = head_parse_every_way((struct bytes){ input, (size_t)len }, NULL, text);

		ck_assert_int_eq(r, bytes == 255 ? 0 : -EBADMSG);
	}
}
END_TEST

TCase *target_cases(void)
{
	TCase *tcase = tcase_create("target");

	tcase_add_loop_test(tcase, target_forms, 0, ARRAY_SIZE(targets));
	tcase_add_loop_test(tcase, host_fields, 0, ARRAY_SIZE(hosts));
	tcase_add_test(tcase, long_hosts);
	return tcase;
}
