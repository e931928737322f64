#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

/* The bypass catalogue, N01 to N16, as a whole request: a spelling that somebody hopes will be read
 * in two ways, against a policy that allows one reading or denies the other. hosts.c has every
 * spelling, addresses.c every block; here is what is decided. What needs a resolver or a listener
 * (N12, N13, N15 and N16 at run time) is in tests/unit/proxy and tests/flow. */
#define BAD     POLICY_BAD_HOST /* refused before any rule */
#define ALLOW   POLICY_RULE_ALLOW
#define DENY    POLICY_RULE_DENY
#define DEFAULT POLICY_DEFAULT_DENY

static const struct {
	const char *id, *policy, *host;
	size_t len;           /* 0: strlen */
	const char *resolved; /* the address is looked at too; NULL: not */
	enum policy_reason want;
} requests[] = {
	{ "N01", "allow **.good.test", "evil.test\0.good.test", 20, NULL, BAD },
	{ "N01", "allow good.test", "good.test\0", 10, NULL, BAD },
	{ "N02", "allow good.test", "good.test%00.evil.test", 0, NULL, BAD },
	{ "N02", "allow **.good.test", "evil.test%2e.good.test", 0, NULL, BAD },
	{ "N02", "allow **.good.test", "evil.test\\.good.test", 0, NULL, BAD },
	{ "N02", "allow **.good.test", "evil.test/.good.test", 0, NULL, BAD },
	{ "N02", "allow **.good.test", "evil.test#.good.test", 0, NULL, BAD },
	{ "N02", "allow **.good.test", "evil.test?.good.test", 0, NULL, BAD },
	{ "N02", "allow **.good.test", "evil.test;.good.test", 0, NULL, BAD },
	{ "N02", "allow good.test", "good.test@evil.test", 0, NULL, BAD },
	{ "N02", "allow good.test", "good.test\r\nx: y", 0, NULL, BAD },
	{ "N03", "allow *\ndeny bad.test", "bad.test.", 0, NULL, DENY },
	{ "N03", "allow *\ndeny bad.test.", "bad.test", 0, NULL, DENY },
	{ "N03", "allow *\ndeny bad.test", "bad.test..", 0, NULL, BAD },
	{ "N03", "allow *", "169.254.169.254.", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N03", "allow *", "metadata.google.internal.", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N04", "allow *\ndeny bad.test", "BAD.Test", 0, NULL, DENY },
	{ "N04", "allow *\ndeny BAD.test", "bad.test", 0, NULL, DENY },
	{ "N04", "allow *\ndeny bad.test", ".bad.test", 0, NULL, BAD },
	{ "N04", "allow *\ndeny bad.test", "bad..test", 0, NULL, BAD },
	{ "N04", "allow *", "", 0, NULL, BAD },
	{ "N04", "allow *", ".", 0, NULL, BAD },
	{ "N05", "allow good.test", "evilgood.test", 0, NULL, DEFAULT },
	{ "N05", "allow *.good.test", "evilgood.test", 0, NULL, DEFAULT },
	{ "N05", "allow **.good.test", "evilgood.test", 0, NULL, DEFAULT },
	{ "N05", "allow *.good.test", "good.test", 0, NULL, DEFAULT },
	{ "N05", "allow **.good.test", "good.test.evil.test", 0, NULL, DEFAULT },
	{ "N06", "allow a.good.test", "axgood.test", 0, NULL, DEFAULT }, /* a dot is a dot */
	{ "N06", "allow *.good.test", "*.good.test", 0, NULL, BAD },
	{ "N07", "allow github.test", "gіthub.test", 0, NULL, DEFAULT }, /* Cyrillic i */
	{ "N07", "allow *\ndeny bücher.test", "xn--bcher-kva.test", 0, NULL, DENY },
	{ "N07", "allow *\ndeny xn--bcher-kva.test", "BÜCHER.test", 0, NULL, DENY },
	{ "N07", "allow *\ndeny bad.test", "bad。test", 0, NULL, DENY },    /* U+3002 */
	{ "N07", "allow *\ndeny bad.test", "ｂａｄ．test", 0, NULL, DENY }, /* full width */
	{ "N07", "allow *\ndeny bad.test",
	  "b\xc2\xad"
	  "ad.test",
	  0, NULL, DENY },                                                   /* soft hyphen */
	{ "N07", "allow good.test", "good.test／.evil.test", 0, NULL, BAD }, /* U+FF0F */
	{ "N07", "allow *", "bad\xe2\x80\x8b.test\xff", 0, NULL, BAD },
	{ "N08", "allow *", "2852039166", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N08", "allow *", "0251.0376.0251.0376", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N08", "allow *", "0xa9fe.43518", 0, NULL, BAD },
	{ "N08", "allow *", "0xa9.0xfe.43518", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N08", "allow *\ndeny 10.0.0.0/8", "10.1", 0, NULL, DENY },
	{ "N08", "allow *\ndeny 8.8.8.8", "0x08080808", 0, NULL, DENY },
	{ "N08", "allow *", "10.1", 0, NULL, POLICY_PRIVATE_ADDRESS },
	{ "N08", "allow *", "300.1.1.1", 0, NULL, BAD },
	{ "N09", "allow *\ndeny [2001:470::1]", "2001:0470:0:0::1", 0, NULL, DENY },
	{ "N09", "allow *\ndeny [2001:470::1]", "[2001:470:0::1]", 0, NULL, DENY },
	{ "N09", "allow *\ndeny 8.8.8.8", "::FFFF:8.8.8.8", 0, NULL, DENY },
	{ "N09", "allow *\ndeny 8.8.8.8", "[::ffff:808:808]", 0, NULL, DENY },
	{ "N09", "allow *", "::ffff:169.254.169.254", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N09", "allow *", "fe80::1%25eth0", 0, NULL, BAD },
	{ "N10", "allow *", "64:ff9b::a9fe:a9fe", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N10", "allow *", "64:ff9b:1::a9fe:a9fe", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N10", "allow *", "2002:a9fe:a9fe::1", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N10", "allow *", "2001:0:808:808::5601:5601", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N10", "allow *", "2606:4700::5efe:169.254.169.254", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N10", "allow *\ndeny 8.8.8.8", "64:ff9b::808:808", 0, NULL, DENY },
	{ "N10", "allow *", "2002:a00:1::1", 0, NULL, POLICY_PRIVATE_ADDRESS },
	{ "N11", "allow *", "0.0.0.0", 0, NULL, POLICY_SPECIAL_ADDRESS },
	{ "N11", "allow 0.0.0.0", "0", 0, NULL, POLICY_SPECIAL_ADDRESS },
	{ "N11", "allow *", "100.64.0.1", 0, NULL, POLICY_PRIVATE_ADDRESS },
	{ "N11", "allow 100.64.0.0/10", "100.64.0.1", 0, NULL, ALLOW },
	{ "N11", "allow 100.100.100.200", "100.100.100.200", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N11", "allow 168.63.129.16", "168.63.129.16", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N11", "allow [fd00:ec2::254]", "fd00:ec2::254", 0, NULL, POLICY_METADATA_ADDRESS },
	{ "N11", "default ask\nanswer allow 169.254.169.254", "169.254.169.254", 0, NULL,
	  POLICY_METADATA_ADDRESS },
	/* Each address of an answer is looked at: one that is private does not hide behind one that
	 * is not. */
	{ "N12", "allow good.test", "good.test", 0, "93.184.216.34", ALLOW },
	{ "N12", "allow good.test", "good.test", 0, "127.0.0.1", POLICY_PRIVATE_ADDRESS },
	{ "N12", "allow good.test", "good.test", 0, "::1", POLICY_PRIVATE_ADDRESS },
	{ "N12", "allow good.test private", "good.test", 0, "169.254.169.254",
	  POLICY_METADATA_ADDRESS },
	{ "N14", "allow **.nip.io", "127.0.0.1.nip.io", 0, "127.0.0.1", POLICY_PRIVATE_ADDRESS },
	{ "N14", "allow **.nip.io", "169.254.169.254.nip.io", 0, "169.254.169.254",
	  POLICY_METADATA_ADDRESS },
	/* A name is absolute: no search domain makes another one of it. */
	{ "N15", "allow good.corp.test", "good", 0, NULL, DEFAULT },
	{ "N15", "allow *.corp.test", "good", 0, NULL, DEFAULT },
	{ "N15", "allow good", "good.corp.test", 0, NULL, DEFAULT },
	/* The way to our own listeners leads over loopback and the host's addresses. */
	{ "N16", "allow *", "localhost.", 0, "10.0.0.1", POLICY_PRIVATE_ADDRESS },
	{ "N16", "allow *", "good.test", 0, "127.0.0.53", POLICY_PRIVATE_ADDRESS },
};

START_TEST(request)
{
	auto_free char *text = strstr(requests[_i].policy, "default")
				       ? mem_strdup(requests[_i].policy)
				       : mem_printf("default deny\n%s\n", requests[_i].policy);
	const char *host = requests[_i].host;
	size_t len = requests[_i].len ? requests[_i].len : strlen(host);
	struct policy *policy = policies_test_load(text);
	struct policy_facts facts = { .carries = POLICY_HTTPS };
	struct policy_verdict verdict = { .reason = BAD };

	if (policy_destination_set(&facts.dst, host, len, 443, NULL) == 0)
		policy_decide(policy, &facts, &verdict);
	if (requests[_i].resolved) {
		struct addr addr;

		ck_assert_int_eq(
			addr_parse(requests[_i].resolved, strlen(requests[_i].resolved), &addr), 0);
		policy_decide_address(policy, &facts.dst, &verdict, &addr, &verdict);
	}
	ck_assert_msg(verdict.reason == requests[_i].want, "%s %s: %s", requests[_i].id, host,
		      policy_reason_code(verdict.reason));
	ck_assert((verdict.action == POLICY_ALLOW) == (requests[_i].want == ALLOW));
	policy_free(policy);
}
END_TEST

/* What must not be read as a rule at all. */
static const struct {
	const char *id, *line;
} lines[] = {
	{ "N01", "allow good.test\\0" },
	{ "N02", "allow good%2etest" },
	{ "N02", "allow user@good.test" },
	{ "N03", "allow good.test.." },
	{ "N04", "allow \"\"" },
	{ "N04", "allow ." },
	{ "N04", "allow .good.test" },
	{ "N04", "allow *." },
	{ "N06", "allow go*d.test" },
	{ "N06", "allow good.*" },
	{ "N06", "allow ^good\\.test$" },
	{ "N06", "allow *.com" },
	{ "N07", "allow b\xff"
		 "cher.test" },
	{ "N08", "allow 300.1.1.1" },
	{ "N09", "allow [fe80::1%eth0]" },
	{ "N09", "allow [::1" },
	{ "N11", "allow 10.0.0.1/8" }, /* which of the two is meant? */
};

START_TEST(not_a_rule)
{
	struct policy *policy = policy_new();
	auto_free char *text = mem_printf("%s\n", lines[_i].line);

	ck_assert_msg(policy_load_text(policy, "<test>", text) < 0, "%s %s", lines[_i].id, text);
	ck_assert_msg(strstr(policy_errors(policy), "<test>:1:"), "%s", policy_errors(policy));
	policy_free(policy);
}
END_TEST

TCase *catalogue_cases(void)
{
	TCase *tests = tcase_create("catalogue");

	tcase_add_loop_test(tests, request, 0, ARRAY_SIZE(requests));
	tcase_add_loop_test(tests, not_a_rule, 0, ARRAY_SIZE(lines));
	return tests;
}
