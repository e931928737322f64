#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_upstream.h"
#include "tests/unit/policies/policies_test.h"

/* @shown: NULL: refused. */
static const struct {
	const char *url, *shown, *user, *password;
} urls[] = {
	{ "http://proxy.test:3128", "http://proxy.test:3128", NULL, NULL },
	{ "HTTP://Proxy.Test:3128/", "http://proxy.test:3128", NULL, NULL },
	{ "proxy.test:3128", "http://proxy.test:3128", NULL, NULL },
	{ "http://proxy.test", "http://proxy.test:80", NULL, NULL },
	{ "socks5h://10.0.0.1", "socks5h://10.0.0.1:1080", NULL, NULL },
	{ "socks5://[fd00::1]:9", "socks5h://[fd00::1]:9", NULL, NULL },
	{ "http://ana:pass@proxy.test:1", "http://proxy.test:1", "ana", "pass" },
	{ "http://ana@proxy.test:1", "http://proxy.test:1", "ana", "" },
	{ "http://a%40b:c%3ad%25@proxy.test:1", "http://proxy.test:1", "a@b", "c:d%" },
	{ "http://ana:p@ss/word@proxy.test:1", "http://proxy.test:1", "ana", "p@ss/word" },
	{ "ana:b:c@proxy.test:1", "http://proxy.test:1", "ana", "b:c" },
	{ "https://proxy.test", "https://proxy.test:443", NULL, NULL },
	{ "https://ana:pass@proxy.test:1", "https://proxy.test:1", "ana", "pass" },
	{ "socks4://proxy.test", NULL, NULL, NULL },
	{ "://proxy.test", NULL, NULL, NULL },
	{ "http://", NULL, NULL, NULL },
	{ "http://:3128", NULL, NULL, NULL },
	{ "http:///", NULL, NULL, NULL },
	{ "http://proxy.test:", NULL, NULL, NULL },
	{ "http://proxy.test:0", NULL, NULL, NULL },
	{ "http://proxy.test:65536", NULL, NULL, NULL },
	{ "http://proxy.test:80:81", NULL, NULL, NULL },
	{ "http://proxy.test/path", NULL, NULL, NULL },
	{ "http://proxy test:80", NULL, NULL, NULL },
	{ "http://[::1:80", NULL, NULL, NULL },
	{ "http://@proxy.test", NULL, NULL, NULL },
	{ "http://:hush@proxy.test", NULL, NULL, NULL },
	{ "http://a%3ab:hush@proxy.test", NULL, NULL, NULL }, /* Basic cannot carry that user */
	{ "http://ana:hush%0d%0aX:y@proxy.test", NULL, NULL, NULL },
	{ "http://ana:hush%00@proxy.test", NULL, NULL, NULL },
	{ "http://ana:hush%4@proxy.test", NULL, NULL, NULL },
	{ "http://ana:hush%zz@proxy.test", NULL, NULL, NULL },
	{ "http://ana:hush@", NULL, NULL, NULL },
	{ "http://ana:hush@proxy.test:x", NULL, NULL, NULL },
	{ "ftp://ana:hush@proxy.test:1", NULL, NULL, NULL },
};

START_TEST(an_url_is_read_or_refused)
{
	struct policy_upstream upstream = { 0 };
	char shown[POLICY_UPSTREAM_TEXT_MAX];
	struct err why = { 0 };
	int r = policy_upstream_parse(urls[_i].url, &upstream, &why);

	if (!urls[_i].shown) {
		ck_assert_msg(r < 0, "%s was read", urls[_i].url);
		ck_assert_int_eq(upstream.kind, POLICY_UPSTREAM_NONE);
		ck_assert_str_ne(why.text, "");
		ck_assert_ptr_null(strstr(why.text, "hush"));
		return;
	}
	ck_assert_msg(r == 0, "%s: %s", urls[_i].url, why.text);
	ck_assert_str_eq(policy_upstream_text(&upstream, shown), urls[_i].shown);
	ck_assert_int_eq(upstream.has_login, urls[_i].user != NULL);
	ck_assert_str_eq(upstream.user, urls[_i].user ? urls[_i].user : "");
	ck_assert_str_eq(upstream.password, urls[_i].password ? urls[_i].password : "");
}
END_TEST

START_TEST(a_login_has_limits)
{
	struct policy_upstream upstream = { 0 };
	char url[400];

	for (size_t len = 254; len <= 257; len++) {
		auto_free char *name = mem_new(len + 1);

		memset(name, 'u', len);
		(void)snprintf(url, sizeof(url), "http://%s@proxy.test", name);
		ck_assert_int_eq(policy_upstream_parse(url, &upstream, NULL) == 0, len <= 255);
	}
}
END_TEST

static const struct {
	const char *list, *host;
	uint16_t port;
	bool is_direct;
} directs[] = {
	{ "", "a.test", 80, false },
	{ " , ,, ", "a.test", 80, false },
	{ "*", "a.test", 80, true },
	{ "a.test", "a.test", 80, true },
	{ "A.Test", "a.test", 80, true },
	{ "a.test", "b.a.test", 80, true },
	{ ".a.test", "b.a.test", 80, true },
	{ "*.a.test", "b.a.test", 80, true },
	{ "a.test", "ba.test", 80, false },
	{ "b.a.test", "a.test", 80, false },
	{ "x.test, a.test", "a.test", 80, true },
	{ "x.test a.test", "a.test", 80, true },
	{ "a.test:80", "a.test", 80, true },
	{ "a.test:80", "a.test", 81, false },
	{ "a.test:x", "a.test", 80, false },
	{ "10.0.0.0/8", "10.1.2.3", 80, true },
	{ "10.0.0.0/8", "11.1.2.3", 80, false },
	{ "10.0.0.0/8", "a.test", 80, false },
	{ "10.1.2.3", "10.1.2.3", 80, true },
	{ "10.1.2.3:81", "10.1.2.3", 80, false },
	{ "fd00::/8", "fd00::1", 80, true },
	{ "fd00::1", "fd00::1", 80, true },
	{ "[fd00::1]:80", "fd00::1", 80, true },
	{ "0.0.0.0/0", "fd00::1", 80, false },
	{ "**,%,.,*.,[,:80", "a.test", 80, false },
	{ "", "localhost", 80, true },
	{ "", "127.0.0.1", 80, true },
	{ "", "::1", 80, true },
};

START_TEST(a_list_names_what_is_dialled_directly)
{
	struct policy_upstreams upstreams = { .direct = directs[_i].list };
	struct policy_destination dst;

	ck_assert_int_eq(policy_upstream_parse("proxy.test:1", &upstreams.http, NULL), 0);
	ck_assert_int_eq(policy_destination_set(&dst, directs[_i].host, strlen(directs[_i].host),
						directs[_i].port, NULL),
			 0);
	dst.protocol = POLICY_HTTP;
	ck_assert_ptr_eq(policy_upstream_for(&upstreams, &dst),
			 directs[_i].is_direct ? NULL : &upstreams.http);
}
END_TEST

static const struct policy_upstream *upstream_for(const struct policy_upstreams *upstreams,
						  enum policy_protocol protocol)
{
	struct policy_destination dst;

	ck_assert_int_eq(policy_destination_set(&dst, "a.test", 6, 80, NULL), 0);
	dst.protocol = protocol;
	return policy_upstream_for(upstreams, &dst);
}

START_TEST(each_protocol_has_its_proxy)
{
	struct policy_upstreams upstreams = { .direct = "" };

	ck_assert_ptr_null(upstream_for(NULL, POLICY_HTTPS));
	ck_assert_ptr_null(upstream_for(&upstreams, POLICY_HTTPS));
	ck_assert_int_eq(policy_upstream_parse("one.test:1", &upstreams.http, NULL), 0);
	ck_assert_ptr_null(upstream_for(&upstreams, POLICY_HTTPS));
	ck_assert_int_eq(policy_upstream_parse("two.test:1", &upstreams.https, NULL), 0);
	ck_assert_int_eq(policy_upstream_parse("three.test:1", &upstreams.other, NULL), 0);
	ck_assert_ptr_eq(upstream_for(&upstreams, POLICY_HTTP), &upstreams.http);
	ck_assert_ptr_eq(upstream_for(&upstreams, POLICY_HTTPS), &upstreams.https);
	ck_assert_ptr_eq(upstream_for(&upstreams, POLICY_TCP), &upstreams.other);
}
END_TEST

TCase *upstreams_cases(void)
{
	TCase *tcase = tcase_create("upstreams");

	tcase_add_loop_test(tcase, an_url_is_read_or_refused, 0, ARRAY_SIZE(urls));
	tcase_add_test(tcase, a_login_has_limits);
	tcase_add_loop_test(tcase, a_list_names_what_is_dialled_directly, 0, ARRAY_SIZE(directs));
	tcase_add_test(tcase, each_protocol_has_its_proxy);
	return tcase;
}
