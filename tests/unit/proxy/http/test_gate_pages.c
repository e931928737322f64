#include "proxy/http/gate_pages.h"
#include "proxy/relay/quota.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/proxy/rig.h"

#define OWN "http://sallyport.internal"

static const struct {
	const char *method, *path;
	const char *status, *says;
} pages[] = {
	{ "GET", "", "200 OK", "pages for the command" },
	{ "GET", "/", "200 OK", "pages for the command" },
	{ "HEAD", "/denials", "200 OK", "" },
	{ "GET", "/other", "404 Not Found", "pages for the command" },
	{ "POST", "/denials", "405 Method Not Allowed", "GET or HEAD" },
	{ "GET", "/propose?destination=https://a.test&reason=x", "405 Method Not Allowed", "POST" },
	{ "GET", "/why?destination=https://a.test", "200 OK", "https://a.test:443" },
	{ "GET", "/why?destination=https%3A%2F%2Fa.test%3A8443", "200 OK", "https://a.test:8443" },
	{ "GET", "/why?x=1&destination=a.test&y", "200 OK", "https://a.test:443" },
	{ "GET", "/why", "400 Bad Request", "destination= is missing" },
	{ "GET", "/why?destination=", "400 Bad Request", "the host is empty" },
	{ "GET", "/why?destination=a.test&destination=b.test", "400 Bad Request", "once" },
	{ "GET", "/why?destination=%00a.test", "400 Bad Request", "is not valid" },
	{ "GET", "/why?destination=a.test%4", "400 Bad Request", "is not valid" },
	{ "GET", "/why?destination=a.test%zz", "400 Bad Request", "is not valid" },
	{ "GET", "/why?destination=*.test", "400 Bad Request", "wildcard" },
	{ "GET", "/why?destination=a%20b", "400 Bad Request", "cannot be a host" },
	{ "GET", "/why?destination=http://sallyport.internal", "400 Bad Request", "itself" },
	{ "POST", "/propose?destination=*.test&reason=x", "400 Bad Request", "wildcard" },
	{ "POST", "/propose?destination=**.test&reason=x", "400 Bad Request", "cannot be a host" },
	{ "POST", "/propose?destination=10.0.0.0/8&reason=x", "400 Bad Request", "be a host" },
	{ "POST", "/propose?destination=a.test:1-65535&reason=x", "400 Bad Request", "the port" },
	{ "POST", "/propose?destination=a.test", "400 Bad Request", "reason=" },
	{ "POST", "/propose?destination=a.test&reason=", "400 Bad Request", "reason=" },
	{ "POST", "/propose?reason=x", "400 Bad Request", "destination= is missing" },
	{ "POST", "/propose?destination=sallyport.internal:80&reason=x", "400 Bad Request",
	  "itself" },
	{ "POST", "/propose?destination=denied.test&reason=x", "403 Forbidden", "rule_deny" },
	{ "POST", "/propose?destination=a.test&reason=x", "200 OK", "allowed: https://a.test:443" },
};

static void own_send(struct rig *rig, int client, const char *method, const char *path,
		     const char *fields)
{
	auto_free char *head =
		mem_printf("%s " OWN "%s HTTP/1.1\r\nHost: sallyport.internal\r\n%s\r\n", method,
			   path, fields);

	rig_send_bytes(rig, client, head, strlen(head));
}

START_TEST(pages_say)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	own_send(&rig, client, pages[_i].method, pages[_i].path, "Connection: close\r\n");
	auto_free char *answer = rig_read(&rig, client, NULL);

	ck_assert_msg(strncmp(answer, "HTTP/1.1 ", 9) == 0 &&
			      strncmp(answer + 9, pages[_i].status, strlen(pages[_i].status)) == 0,
		      "%s %s: %s", pages[_i].method, pages[_i].path, answer);
	ck_assert_msg(strstr(answer, pages[_i].says), "%s %s: %s", pages[_i].method, pages[_i].path,
		      answer);
	ck_assert(rig_is_undialled(&rig));
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(a_proposal_waits_for_its_answer)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	own_send(&rig, client, "POST",
		 "/propose?destination=https://held.test:8443&reason=a+%22b%22%0a",
		 "Accept: application/json\r\n");
	rig_expect_quiet(&rig, client);
	ck_assert_str_eq(rig.asked.dst.host, "held.test");
	ck_assert_int_eq(rig.asked.dst.protocol, POLICY_HTTPS); /* what it says, not the port */
	ck_assert_int_eq(rig.asked.carries, POLICY_HTTPS);
	rig_answer(&rig, POLICY_ALLOW, POLICY_GRANTED_EXEC);
	auto_free char *answer = rig_read(&rig, client, "}\n");
	ck_assert_int_eq(strncmp(answer, "HTTP/1.1 200 OK\r\n", 17), 0);
	ck_assert_ptr_nonnull(strstr(answer, "\"status\":\"allowed\",\"reason\":\"granted_exec\""));
	ck_assert(rig_is_undialled(&rig));
	ck_assert_int_eq(rig_report(&rig, 1)->closed, POLICY_DONE);
	own_send(&rig, client, "POST", "/propose?destination=https://held.test&reason=x", "");
	rig_expect_quiet(&rig, client);
	rig_answer(&rig, POLICY_DENY, POLICY_DENIED_ONCE);
	rig_expect(&rig, client, "HTTP/1.1 403 Forbidden\r\nx-sallyport-reason: denied_once\r\n");
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

START_TEST(whoever_proposed_may_leave)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	own_send(&rig, client, "POST", "/propose?destination=https://held.test&reason=x", "");
	rig_expect_quiet(&rig, client);
	rig_close(&rig, client);
	loop_advance(rig.loop, 3000);
	rig_settle(&rig);
	ck_assert_uint_eq(rig.withdrawals, 1);
	rig_done(&rig);
}
END_TEST

START_TEST(a_command_proposes_so_often)
{
	struct quota quota = { 0 };
	int64_t now = 1000000;

	for (int i = 0; i < QUOTA_PROPOSALS; i++)
		ck_assert(quota_take(&quota, now));
	ck_assert(!quota_take(&quota, now));
	ck_assert(!quota_take(&quota, now + QUOTA_PROPOSAL_MS - 1));
	ck_assert(quota_take(&quota, now + QUOTA_PROPOSAL_MS));
	ck_assert(!quota_take(&quota, now + QUOTA_PROPOSAL_MS + 1));
	now += (int64_t)QUOTA_PROPOSAL_MS * QUOTA_PROPOSALS * 10;
	for (int i = 0; i < QUOTA_PROPOSALS; i++)
		ck_assert(quota_take(&quota, now));
	ck_assert(!quota_take(&quota, now));
}
END_TEST

START_TEST(too_many_proposals_are_told_so)
{
	struct rig rig;
	int client;

	rig_init(&rig);
	client = rig_connect(&rig, RIG_HTTP);
	for (int i = 0; i < QUOTA_PROPOSALS; i++) {
		own_send(&rig, client, "POST", "/propose?destination=denied.test&reason=x", "");
		auto_free char *answer = rig_read(&rig, client, "named here.\n");

		ck_assert_int_eq(strncmp(answer, "HTTP/1.1 403 ", 13), 0);
	}
	rig_close(&rig, client);
	client = rig_connect(&rig, RIG_HTTP);
	own_send(&rig, client, "POST", "/propose?destination=denied.test&reason=x", "");
	rig_expect(&rig, client, "HTTP/1.1 429 Too Many Requests\r\n");
	rig_close(&rig, client);
	rig_done(&rig);
}
END_TEST

TCase *test_own(void)
{
	TCase *tcase = tcase_create("own");

	tcase_add_loop_test(tcase, pages_say, 0, ARRAY_SIZE(pages));
	tcase_add_test(tcase, a_proposal_waits_for_its_answer);
	tcase_add_test(tcase, whoever_proposed_may_leave);
	tcase_add_test(tcase, a_command_proposes_so_often);
	tcase_add_test(tcase, too_many_proposals_are_told_so);
	return tcase;
}
