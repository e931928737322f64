/* A permission is revoked: clients that can still get a response get one, the others are reset, and
 * the record has the transferred bytes. */
#include <string.h>

#include "tests/unit/proxy/rig.h"

#define ESTABLISHED "HTTP/1.1 200 Connection established\r\n\r\n"

static void expect_told(struct rig *rig, int client)
{
	auto_free char *answer = rig_read(rig, client, "x-sallyport-reason: policy_changed");

	free(rig_read(rig, client, "test.policy:9: deny a.test"));
	ck_assert_ptr_nonnull(strstr(answer, "HTTP/1.1 403 "));
}

START_TEST(a_tunnel_is_reset)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(&rig, client, ESTABLISHED);
	rig_send(&rig, client, "12345");
	rig_expect(&rig, server, "12345");
	rig_cut(&rig);
	rig_expect_end(&rig, client, true);
	rig_expect_end(&rig, server, true);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DENIED_SINCE);
	ck_assert_int_eq(rig.reports[0].verdict.action, POLICY_ALLOW);
	ck_assert_uint_eq(rig.reports[0].bytes_up, 5);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* Its hello has not come: nothing has gone upstream, and nothing does. */
START_TEST(a_tunnel_without_its_hello_is_reset)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_HTTPS;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(&rig, client, ESTABLISHED);
	rig_cut(&rig);
	rig_expect_end(&rig, client, true);
	rig_expect_end(&rig, server, true);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DENIED_SINCE);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(a_request_without_an_answer_is_told)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_cut(&rig);
	expect_told(&rig, client);
	rig_expect_end(&rig, server, false);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DENIED_SINCE);
	ck_assert_int_eq(rig.reports[0].verdict.action, POLICY_ALLOW);
	ck_assert_uint_gt(rig.reports[0].bytes_up, 0);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

START_TEST(half_an_answer_is_reset)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	rig_send(&rig, server, "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345");
	free(rig_read(&rig, client, "12345"));
	rig_cut(&rig);
	rig_expect_end(&rig, client, true);
	rig_expect_end(&rig, server, true);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DENIED_SINCE);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

/* Between the verdict and the upstream leg. */
START_TEST(a_dial_is_given_up)
{
	static const char hello[] = "\x05\x01\x00", request[] = "\x05\x01\x00\x03\x06"
								"a.test\x00\x50";
	struct rig rig;
	int client;

	rig_init(&rig);
	rig.cuts_at_once = true;
	client = rig_connect(&rig, _i ? RIG_SOCKS : RIG_HTTP);
	if (_i == 0) {
		rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
		expect_told(&rig, client);
	} else {
		rig_send_bytes(&rig, client, hello, sizeof(hello) - 1);
		rig_expect_bytes(&rig, client, "\x05\x00", 2);
		rig_send_bytes(&rig, client, request, sizeof(request) - 1);
		rig_expect_bytes(&rig, client, "\x05\x02", 2);
	}
	ck_assert(rig_is_undialled(&rig));
	ck_assert_int_eq(rig_report(&rig, 1)->verdict.action, POLICY_DENY);
	ck_assert_int_eq(rig.reports[0].verdict.reason, POLICY_DENIED_SINCE);
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

/* The gateway cannot know it: the name is allowed as ever, its address is denied now. */
START_TEST(an_address_that_is_denied_now_is_cut)
{
	struct rig rig;
	struct policy *policy = policy_new();
	int client, server;

	rig_init(&rig);
	rig.promise = POLICY_TCP;
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "CONNECT {a} HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	rig_expect(&rig, client, ESTABLISHED);
	proxy_policy_changed(rig.proxy);
	rig_expect_quiet(&rig, client);
	ck_assert_int_eq(
		policy_load_text(policy, "<new>", "version 1\nallow **.test\ndeny 127.0.0.0/8:*\n"),
		0);
	ck_assert_int_eq(policy_finish(policy), 0);
	rig.config.policy = policy;
	proxy_policy_changed(rig.proxy);
	rig_expect_end(&rig, client, true);
	rig_expect_end(&rig, server, true);
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DENIED_SINCE);
	ck_assert_str_eq(rig.reports[0].cause, "<new>:3: deny 127.0.0.0/8:*");
	rig_close(&rig, client);
	rig_close(&rig, server);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	free(rig_read(&rig, client, "rule_deny"));
	rig_close(&rig, client);
	rig_done(&rig);
	policy_free(policy);
}
END_TEST

/* The next request on a kept connection has a ticket of its own; the end of the first one's left
 * nothing to cut. */
START_TEST(between_two_requests_there_is_nothing_to_cut)
{
	struct rig rig;
	int client, server;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	rig_send(&rig, client, "GET http://{a}/x HTTP/1.1\r\nHost: {a}\r\n\r\n");
	server = rig_accept(&rig);
	free(rig_read(&rig, server, "\r\n\r\n"));
	ck_assert_uint_eq(rig.live_count, 1);
	rig_send(&rig, server, "HTTP/1.1 204 No Content\r\n\r\n");
	free(rig_read(&rig, client, "\r\n\r\n"));
	rig_settle(&rig);
	ck_assert_uint_eq(rig.live_count, 0);
	rig_close(&rig, client);
	rig_close(&rig, server);
	rig_done(&rig);
}
END_TEST

TCase *test_cut(void)
{
	TCase *tcase = tcase_create("cut");

	tcase_add_test(tcase, a_tunnel_is_reset);
	tcase_add_test(tcase, a_tunnel_without_its_hello_is_reset);
	tcase_add_test(tcase, a_request_without_an_answer_is_told);
	tcase_add_test(tcase, half_an_answer_is_reset);
	tcase_add_loop_test(tcase, a_dial_is_given_up, 0, 2);
	tcase_add_test(tcase, an_address_that_is_denied_now_is_cut);
	tcase_add_test(tcase, between_two_requests_there_is_nothing_to_cut);
	return tcase;
}
