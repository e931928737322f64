#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

#define OK      POLICY_DEFAULT_ALLOW
#define PRIVATE POLICY_PRIVATE_ADDRESS
#define SPECIAL POLICY_SPECIAL_ADDRESS
#define META    POLICY_METADATA_ADDRESS

/* For every block its first and last address, and the neighbours outside where they are of another
 * kind. */
static const struct {
	const char *addr;
	enum policy_reason want;
} edges[] = {
	{ "0.0.0.0", SPECIAL },
	{ "0.0.0.1", PRIVATE },
	{ "0.255.255.255", PRIVATE },
	{ "1.0.0.0", OK },
	{ "9.255.255.255", OK },
	{ "10.0.0.0", PRIVATE },
	{ "10.255.255.255", PRIVATE },
	{ "11.0.0.0", OK },
	{ "100.63.255.255", OK },
	{ "100.64.0.0", PRIVATE },
	{ "100.127.255.255", PRIVATE },
	{ "100.128.0.0", OK },
	{ "100.100.100.199", PRIVATE },
	{ "100.100.100.200", META },
	{ "100.100.100.201", PRIVATE },
	{ "126.255.255.255", OK },
	{ "127.0.0.0", PRIVATE },
	{ "127.255.255.255", PRIVATE },
	{ "128.0.0.0", OK },
	{ "168.63.129.15", OK },
	{ "168.63.129.16", META },
	{ "168.63.129.17", OK },
	{ "169.253.255.255", OK },
	{ "169.254.0.0", PRIVATE },
	{ "169.254.0.23", META },
	{ "169.254.42.42", META },
	{ "169.254.168.255", PRIVATE },
	{ "169.254.169.0", META },
	{ "169.254.169.254", META },
	{ "169.254.170.2", META },
	{ "169.254.170.23", META },
	{ "169.254.171.0", PRIVATE },
	{ "169.254.255.255", PRIVATE },
	{ "169.255.0.0", OK },
	{ "172.15.255.255", OK },
	{ "172.16.0.0", PRIVATE },
	{ "172.31.255.255", PRIVATE },
	{ "172.32.0.0", OK },
	{ "191.255.255.255", OK },
	{ "192.0.0.0", PRIVATE },
	{ "192.0.0.9", PRIVATE },
	{ "192.0.0.192", META },
	{ "192.0.0.255", PRIVATE },
	{ "192.0.1.0", OK },
	{ "192.0.1.255", OK },
	{ "192.0.2.0", PRIVATE },
	{ "192.0.2.255", PRIVATE },
	{ "192.0.3.0", OK },
	{ "192.31.196.0", OK },
	{ "192.52.193.255", OK },
	{ "192.88.98.255", OK },
	{ "192.88.99.0", PRIVATE },
	{ "192.88.99.255", PRIVATE },
	{ "192.88.100.0", OK },
	{ "192.167.255.255", OK },
	{ "192.168.0.0", PRIVATE },
	{ "192.168.255.255", PRIVATE },
	{ "192.169.0.0", OK },
	{ "192.175.48.1", OK },
	{ "198.17.255.255", OK },
	{ "198.18.0.0", PRIVATE },
	{ "198.19.255.255", PRIVATE },
	{ "198.20.0.0", OK },
	{ "198.51.99.255", OK },
	{ "198.51.100.0", PRIVATE },
	{ "198.51.100.255", PRIVATE },
	{ "198.51.101.0", OK },
	{ "203.0.112.255", OK },
	{ "203.0.113.0", PRIVATE },
	{ "203.0.113.255", PRIVATE },
	{ "203.0.114.0", OK },
	{ "223.255.255.255", OK },
	{ "224.0.0.0", SPECIAL },
	{ "239.255.255.255", SPECIAL },
	{ "240.0.0.0", PRIVATE },
	{ "255.255.255.254", PRIVATE },
	{ "255.255.255.255", SPECIAL },
	{ "8.8.8.8", OK },

	{ "::", SPECIAL },
	{ "::1", PRIVATE },
	{ "::2", PRIVATE },
	{ "::8.8.8.8", PRIVATE },
	{ "::127.0.0.1", PRIVATE },
	{ "::169.254.169.254", META },
	{ "::224.0.0.1", SPECIAL },
	{ "::ffff:8.8.8.8", OK },
	{ "::ffff:10.0.0.1", PRIVATE },
	{ "::ffff:127.0.0.1", PRIVATE },
	{ "::ffff:169.254.169.254", META },
	{ "::ffff:0.0.0.0", SPECIAL },
	{ "::ffff:255.255.255.255", SPECIAL },
	{ "::ffff:0:8.8.8.8", PRIVATE },
	{ "::ffff:0:169.254.169.254", META },
	{ "64:ff9b::", SPECIAL },
	{ "64:ff9b::8.8.8.8", OK },
	{ "64:ff9b::10.0.0.1", PRIVATE },
	{ "64:ff9b::127.0.0.1", PRIVATE },
	{ "64:ff9b::169.254.169.254", META },
	{ "64:ff9b::ffff:ffff", SPECIAL },
	{ "64:ff9b::1:0:0", PRIVATE },
	{ "64:ff9b:1::", PRIVATE },
	{ "64:ff9b:1::8.8.8.8", PRIVATE },
	{ "64:ff9b:1::169.254.169.254", META },
	{ "64:ff9b:1:a9fe:a9:fe00::", META },
	{ "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", PRIVATE },
	{ "64:ff9b:2::", PRIVATE },
	{ "100::", PRIVATE },
	{ "100::ffff:ffff:ffff:ffff", PRIVATE },
	{ "100:0:0:1::", PRIVATE },
	{ "1fff:ffff::", PRIVATE },
	{ "2000::", OK },
	{ "2000:ffff::", OK },
	{ "2001::", SPECIAL },                    /* Teredo by server 0.0.0.0 */
	{ "2001:0:808:808::f7f7:f7f7", PRIVATE }, /* server and client 8.8.8.8: still Teredo */
	{ "2001:0:808:808::5601:5601", META },    /* client 169.254.169.254, obfuscated */
	{ "2001:0:a9fe:a9fe::f7f7:f7f7", META },  /* server 169.254.169.254 */
	{ "2001:1::", PRIVATE },
	{ "2001:1::1", PRIVATE },
	{ "2001:2::", PRIVATE },
	{ "2001:3::", OK },
	{ "2001:4:112::", OK },
	{ "2001:4:113::", PRIVATE },
	{ "2001:10::", PRIVATE },
	{ "2001:20::", PRIVATE },
	{ "2001:1ff:ffff::", PRIVATE },
	{ "2001:200::", OK },
	{ "2001:db7:ffff::", OK },
	{ "2001:db8::", PRIVATE },
	{ "2001:db8:ffff:ffff::", PRIVATE },
	{ "2001:db9::", OK },
	{ "2001:ffff::", OK },
	{ "2002::", SPECIAL },
	{ "2002:808:808::1", PRIVATE },
	{ "2002:a9fe:a9fe::1", META },
	{ "2002:a00:1::1", PRIVATE },
	{ "2003::", OK },
	{ "2606:4700::1", OK },
	{ "2620:4f:8000::1", OK },
	{ "3ffe:ffff::", OK },
	{ "3fff::", PRIVATE },
	{ "3fff:fff:ffff::", PRIVATE },
	{ "3fff:1000::", OK },
	{ "3fff:ffff::", OK },
	{ "4000::", PRIVATE },
	{ "5f00::", PRIVATE },
	{ "fbff::", PRIVATE },
	{ "fc00::", PRIVATE },
	{ "fdff:ffff::", PRIVATE },
	{ "fd00:ec2::254", META },
	{ "fd00:ec2::23", META },
	{ "fd00:ec1::254", PRIVATE },
	{ "fd20:ce::254", META },
	{ "fd00:42::42", META },
	{ "fe00::", PRIVATE },
	{ "fe80::1", PRIVATE },
	{ "fe80::a9fe:a9fe", META },
	{ "febf:ffff::", PRIVATE },
	{ "fec0::", PRIVATE },
	{ "feff:ffff::", PRIVATE },
	{ "ff00::", SPECIAL },
	{ "ff02::1", SPECIAL },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SPECIAL },
	/* ISATAP on an ordinary prefix, both interface identifiers */
	{ "2606:4700::5efe:8.8.8.8", OK },
	{ "2606:4700::5efe:10.0.0.1", PRIVATE },
	{ "2606:4700::200:5efe:127.0.0.1", PRIVATE },
	{ "2606:4700::200:5efe:169.254.169.254", META },
	{ "2606:4700::100:5efe:127.0.0.1", OK },
};

static void decide_address(const struct policy *policy, const char *request, const char *text,
			   struct policy_verdict *ret)
{
	struct policy_facts facts;
	struct policy_verdict verdict;
	struct addr addr;

	policies_test_facts(request, &facts);
	policy_decide(policy, &facts, &verdict);
	ck_assert_msg(verdict.action == POLICY_ALLOW, "%s: %s", request,
		      policy_reason_code(verdict.reason));
	ck_assert_msg(addr_parse(text, strlen(text), &addr) == 0, "%s", text);
	policy_decide_address(policy, &facts.dst, &verdict, &addr, ret);
	ck_assert_msg((ret->action == POLICY_ALLOW) == (ret->reason == verdict.reason), "%s", text);
	ck_assert_int_ne(ret->action, POLICY_ASK);
}

START_TEST(edge)
{
	struct policy *policy = policies_test_load("default allow\n");
	struct policy_verdict verdict;

	decide_address(policy, "a.test", edges[_i].addr, &verdict);
	ck_assert_msg(verdict.reason == edges[_i].want, "%s: %s", edges[_i].addr,
		      policy_reason_code(verdict.reason));
	policy_free(policy);
}
END_TEST

/* The same literal asked for by its address must get the same answer, before anything is dialled.
 */
START_TEST(edge_as_literal)
{
	struct policy *policy = policies_test_load("default allow\n");
	struct policy_facts facts = { .carries = POLICY_HTTPS };
	struct policy_verdict verdict;
	const char *addr = edges[_i].addr;

	ck_assert_int_eq(policy_destination_set(&facts.dst, addr, strlen(addr), 443, NULL), 0);
	policy_decide(policy, &facts, &verdict);
	enum policy_reason want = edges[_i].want;

	if (policy_destination_is_loopback(&facts.dst))
		want = POLICY_INSIDE;
	ck_assert_msg(verdict.reason == want, "%s: %s", addr, policy_reason_code(verdict.reason));
	policy_free(policy);
}
END_TEST

/* Metadata, unspecified, broadcast and multicast stay out of reach whatever is written; the rest
 * opens to `private`. */
START_TEST(edge_with_private)
{
	struct policy *policy = policies_test_load(
		"allow * private\nallow 0.0.0.0/0 private\nallow [::]/0 private\n"
		"allow 0.0.0.0/1\nallow 128.0.0.0/1\nallow [::]/1\nallow [8000::]/1\n");
	struct policy_verdict verdict;

	decide_address(policy, "a.test", edges[_i].addr, &verdict);
	enum policy_reason want = edges[_i].want;

	if (want == OK || want == PRIVATE)
		want = POLICY_RULE_ALLOW;
	ck_assert_msg(verdict.reason == want, "%s: %s", edges[_i].addr,
		      policy_reason_code(verdict.reason));
	policy_free(policy);
}
END_TEST

static const struct {
	const char *policy, *request, *addr;
	enum policy_reason want;
} resolved[] = {
	{ "allow a.test", "a.test", "93.184.216.34", POLICY_RULE_ALLOW },
	{ "allow a.test", "a.test", "10.0.0.1", PRIVATE },
	{ "allow a.test private", "a.test", "10.0.0.1", POLICY_RULE_ALLOW },
	{ "allow a.test private", "a.test", "169.254.169.254", META },
	{ "allow a.test private", "a.test", "127.0.0.1", POLICY_RULE_ALLOW },
	{ "allow a.test private", "a.test", "0.0.0.0", SPECIAL },
	/* a rule that names the address, for that port and protocol */
	{ "allow a.test\nallow 10.0.0.0/8", "a.test", "10.0.0.1", POLICY_RULE_ALLOW },
	{ "allow a.test\nallow 10.0.0.0/8:5432", "a.test", "10.0.0.1", PRIVATE },
	{ "allow a.test\nallow 10.0.0.2", "a.test", "10.0.0.1", PRIVATE },
	{ "allow tcp://a.test:443\nallow 10.0.0.0/8", "tcp://a.test:443", "10.0.0.1", PRIVATE },
	{ "allow tcp://a.test:443\nallow tcp://10.0.0.0/8", "tcp://a.test:443", "10.0.0.1",
	  POLICY_RULE_ALLOW },
	{ "allow a.test\nallow 10.0.0.0/8 except 10.0.0.1", "a.test", "10.0.0.1", PRIVATE },
	{ "allow a.test\nallow [fd00::]/8", "a.test", "fd12::1", POLICY_RULE_ALLOW },
	{ "allow a.test\nallow 0.0.0.0/0", "a.test", "10.0.0.1", PRIVATE }, /* /0 names nothing */
	{ "allow a.test\nallow 10.0.0.0/8", "a.test", "64:ff9b::10.0.0.1", PRIVATE },
	/* deny by address holds for whatever allowed */
	{ "allow a.test\ndeny 93.184.216.0/24", "a.test", "93.184.216.34", POLICY_RULE_DENY },
	{ "allow a.test private\ndeny 10.0.0.0/8", "a.test", "10.0.0.1", POLICY_RULE_DENY },
	{ "allow a.test\ndeny 93.184.216.0/24:22", "a.test", "93.184.216.34", POLICY_RULE_ALLOW },
	{ "default allow\ndeny 93.184.216.34", "a.test", "93.184.216.34", POLICY_RULE_DENY },
	{ "default allow\ndeny 93.184.216.34", "a.test", "::ffff:93.184.216.34", POLICY_RULE_DENY },
	{ "default allow\ndeny 93.184.216.34", "a.test", "64:ff9b::93.184.216.34",
	  POLICY_RULE_DENY },
	{ "default allow\ndeny 93.184.216.34", "a.test", "93.184.216.35", OK },
	{ "default ask\nanswer allow a.test\ndeny 93.184.216.0/24", "a.test", "93.184.216.34",
	  POLICY_RULE_DENY },
	{ "default ask\nanswer allow a.test private", "a.test", "10.0.0.1", POLICY_ANSWER_ALLOW },
	{ "default ask\nanswer allow a.test", "a.test", "10.0.0.1", PRIVATE },
	{ "default allow\ndeny 93.184.216.0/24 except 93.184.216.34", "a.test", "93.184.216.34",
	  OK },
	{ "default allow\ndeny 93.184.216.0/24 except a.test", "a.test", "93.184.216.34", OK },
	{ "default allow\ndeny 93.184.216.0/24 except a.test", "b.test", "93.184.216.34",
	  POLICY_RULE_DENY },
	/* an exception by address on a rule for names */
	{ "allow * except 93.184.0.0/16", "a.test", "93.184.216.34", POLICY_RULE_DENY },
	{ "allow * except 93.184.0.0/16", "a.test", "94.184.216.34", POLICY_RULE_ALLOW },
	{ "allow * except 93.184.0.0/16", "a.test", "64:ff9b::93.184.216.34", POLICY_RULE_DENY },
	{ "allow **.test except 93.184.0.0/16\nallow a.test", "a.test", "93.184.216.34",
	  POLICY_RULE_ALLOW },
	{ "default ask\nanswer allow * except 93.184.0.0/16", "a.test", "93.184.216.34",
	  POLICY_RULE_DENY },
	/* loopback: inside it stays, outside it must be loopback */
	{ "default deny", "127.0.0.1:80", "127.0.0.1", POLICY_INSIDE },
	{ "default deny", "localhost:80", "::1", POLICY_INSIDE },
	{ "default deny", "localhost:80", "10.0.0.1", PRIVATE },
	{ "allow localhost:80", "localhost:80", "127.0.0.1", POLICY_RULE_ALLOW },
	{ "allow localhost:80", "localhost:80", "10.0.0.1", PRIVATE },
	{ "allow localhost:80 private", "localhost:80", "93.184.216.34", PRIVATE },
};

START_TEST(resolved_address)
{
	struct policy *policy = policies_test_load(resolved[_i].policy);
	struct policy_verdict verdict;

	decide_address(policy, resolved[_i].request, resolved[_i].addr, &verdict);
	ck_assert_msg(verdict.reason == resolved[_i].want, "%s | %s | %s: %s", resolved[_i].policy,
		      resolved[_i].request, resolved[_i].addr, policy_reason_code(verdict.reason));
	policy_free(policy);
}
END_TEST

START_TEST(a_denial_shows_the_rule)
{
	struct policy *policy =
		policies_test_load("allow a.test\n\ndeny 93.184.0.0/16 because \"not there\"\n");
	struct policy_verdict verdict;

	decide_address(policy, "a.test", "93.184.216.34", &verdict);
	ck_assert_str_eq(verdict.rule, "<test>:3: deny 93.184.0.0/16 because \"not there\"");
	ck_assert_str_eq(verdict.because, "not there");
	ck_assert_int_eq(verdict.promise, POLICY_NO_PROTOCOL);
	policy_free(policy);
}
END_TEST

START_TEST(only_an_allow_can_stay_one)
{
	struct policy *policy = policies_test_load("default ask\n");
	struct policy_facts facts;
	struct policy_verdict verdict, result;
	struct addr addr, none = { 0 };

	policies_test_facts("a.test", &facts);
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ASK);
	ck_assert_int_eq(addr_parse("8.8.8.8", 7, &addr), 0);
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &result);
	ck_assert_int_eq(result.action, POLICY_DENY);
	verdict.action = POLICY_ALLOW;
	policy_decide_address(policy, &facts.dst, &verdict, &none, &result);
	ck_assert_int_eq(result.reason, SPECIAL);
	/* In place: @ret may be @verdict. */
	policy_decide_address(policy, &facts.dst, &verdict, &addr, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	policy_free(policy);
}
END_TEST

TCase *addresses_cases(void)
{
	TCase *cases = tcase_create("addresses");

	tcase_add_loop_test(cases, edge, 0, ARRAY_SIZE(edges));
	tcase_add_loop_test(cases, edge_as_literal, 0, ARRAY_SIZE(edges));
	tcase_add_loop_test(cases, edge_with_private, 0, ARRAY_SIZE(edges));
	tcase_add_loop_test(cases, resolved_address, 0, ARRAY_SIZE(resolved));
	tcase_add_test(cases, a_denial_shows_the_rule);
	tcase_add_test(cases, only_an_allow_can_stay_one);
	return cases;
}
