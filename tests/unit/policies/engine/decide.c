#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

#define NONE  POLICY_NO_PROTOCOL
#define HTTP  POLICY_HTTP
#define HTTPS POLICY_HTTPS
#define TCP   POLICY_TCP

/* @promise and @may_private matter only where the verdict is not a denial. */
static const struct {
	const char *policy, *request;
	enum policy_reason want;
	enum policy_protocol promise;
	bool may_private;
} verdicts[] = {
	/* hosts */
	{ "allow a.test", "a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow a.test", "A.TEST.", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow A.test.", "a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow a.test", "b.a.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test", "xa.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test", "a.test.evil.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow *.a.test", "b.a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow *.a.test", "c.b.a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow *.a.test", "a.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow *.a.test", "evila.test", POLICY_DEFAULT_DENY, NONE, false }, /* N05 */
	{ "allow **.a.test", "a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow **.a.test", "c.b.a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow **.a.test", "evila.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow *", "a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow *", "8.8.8.8", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow *", "10.0.0.1", POLICY_PRIVATE_ADDRESS, NONE, false },
	{ "allow * private", "10.0.0.1", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow 0.0.0.0/0", "10.0.0.1", POLICY_PRIVATE_ADDRESS, NONE, false },
	{ "allow b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow xn--bcher-kva.example",
	  "b\xc3\xbc"
	  "cher.example",
	  POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow github.com", "g\xd1\x96thub.com", POLICY_DEFAULT_DENY, NONE, false },
	/* addresses, in whatever spelling they are asked for */
	{ "allow 10.0.0.1", "10.0.0.1", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow 10.0.0.1", "0x0a000001", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow 10.0.0.1", "[::ffff:10.0.0.1]", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow [::ffff:10.0.0.1]", "10.0.0.1", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow [::ffff:10.0.0.0]/104", "10.9.9.9", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow 10.0.0.1", "10.0.0.2", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow 10.2.0.0/16:8000-8100", "http+10.2.9.9:8050", POLICY_RULE_ALLOW, HTTP, true },
	{ "allow 10.2.0.0/16:8000-8100", "10.3.0.0:8050", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow 10.2.0.0/16", "64:ff9b::10.2.0.1", POLICY_DEFAULT_DENY, NONE, false },
	{ "deny 10.0.0.0/8\ndefault allow", "64:ff9b::10.2.0.1", POLICY_RULE_DENY, NONE, false },
	{ "deny 10.0.0.0/8\ndefault allow", "2002:a02:1::1", POLICY_RULE_DENY, NONE, false },
	{ "deny 127.0.0.0/8\ndefault allow", "2130706433", POLICY_RULE_DENY, NONE, false },
	{ "allow [2001:470::]/32", "[2001:470:0:0::9]", POLICY_RULE_ALLOW, HTTPS, true },
	{ "deny **.a.test\nallow *", "a.test.", POLICY_RULE_DENY, NONE, false }, /* N03 */
	/* ports */
	{ "allow a.test", "a.test:80", POLICY_RULE_ALLOW, HTTP, false },
	{ "allow a.test", "a.test:8080", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test:8000", "a.test:443", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test:8000-8002,9000", "a.test:8002", POLICY_RULE_ALLOW, TCP, false },
	{ "allow a.test:8000-8002,9000", "a.test:9000", POLICY_RULE_ALLOW, TCP, false },
	{ "allow a.test:8000-8002,9000", "a.test:8003", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test:*", "a.test:65535", POLICY_RULE_ALLOW, TCP, false },
	{ "allow a.test:*", "a.test:1", POLICY_RULE_ALLOW, TCP, false },
	{ "allow https://a.test", "a.test:80", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow http://a.test", "a.test:443", POLICY_DEFAULT_DENY, NONE, false },
	/* protocols: what loosens must cover the promise */
	{ "allow a.test", "tcp://a.test:443", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test", "http+a.test:443", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test:8000", "http+a.test:8000", POLICY_RULE_ALLOW, HTTP, false },
	{ "allow a.test:8000", "https://a.test:8000", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow http://a.test:8000", "http+a.test:8000", POLICY_RULE_ALLOW, HTTP, false },
	{ "allow http://a.test:8000", "a.test:8000", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow https://a.test:8443", "https://a.test:8443", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow https://a.test:8443", "a.test:8443", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow tcp://a.test:443", "a.test", POLICY_RULE_ALLOW, TCP, false },
	{ "allow tcp://a.test", "a.test:80", POLICY_RULE_ALLOW, TCP, false },
	{ "allow a.test\nallow tcp://a.test:443", "a.test", POLICY_RULE_ALLOW, TCP, false },
	/* any bytes, but for those that are denied or asked about */
	{ "allow tcp://a.test:443\ndeny http://a.test:443", "a.test", POLICY_RULE_ALLOW, HTTPS,
	  false },
	{ "allow tcp://a.test:443\ndeny http://a.test:443", "tcp://a.test:443", POLICY_RULE_DENY,
	  NONE, false },
	{ "allow tcp://a.test:443\nask http://a.test:443", "a.test", POLICY_RULE_ALLOW, HTTPS,
	  false },
	{ "allow tcp://8.8.8.8:443\ndeny http://8.8.0.0/16:443", "8.8.8.8", POLICY_RULE_ALLOW,
	  HTTPS, true },
	{ "default ask\nanswer allow tcp://a.test:443\nanswer deny http://a.test:443", "a.test",
	  POLICY_ANSWER_ALLOW, HTTPS, false },
	{ "ask a.test\nanswer allow tcp://a.test:443", "a.test", POLICY_ANSWER_ALLOW, TCP, false },
	{ "default allow", "a.test", POLICY_DEFAULT_ALLOW, HTTPS, false },
	{ "default allow", "tcp://a.test:443", POLICY_DEFAULT_ALLOW, TCP, false },
	{ "default allow", "a.test:22", POLICY_DEFAULT_ALLOW, TCP, false },
	/* what tightens holds wherever the flow may carry it */
	{ "default allow\ndeny https://a.test", "tcp://a.test:443", POLICY_RULE_DENY, NONE, false },
	{ "default allow\ndeny http://a.test:8000", "a.test:8000", POLICY_RULE_DENY, NONE, false },
	{ "default allow\ndeny http://a.test:8000", "https://a.test:8000", POLICY_DEFAULT_ALLOW,
	  HTTPS, false },
	{ "default allow\ndeny tcp://a.test:443", "a.test", POLICY_RULE_DENY, NONE, false },
	{ "default allow\ndeny a.test", "http+a.test:443", POLICY_RULE_DENY, NONE, false },
	{ "default allow\ndeny a.test", "tcp://a.test:443", POLICY_RULE_DENY, NONE, false },
	{ "default allow\nask https://a.test:8000", "a.test:8000", POLICY_ASKED, TCP, false },
	/* strength, wherever it stands */
	{ "deny a.test\nask a.test\nallow a.test", "a.test", POLICY_RULE_DENY, NONE, false },
	{ "allow a.test\nask a.test\ndeny a.test", "a.test", POLICY_RULE_DENY, NONE, false },
	{ "allow a.test\nask a.test", "a.test", POLICY_ASKED, HTTPS, false },
	{ "deny **.test\nallow a.test", "a.test", POLICY_RULE_DENY, NONE, false },
	{ "deny *\nallow a.test", "a.test", POLICY_RULE_DENY, NONE, false },
	{ "deny *:443\nallow a.test", "a.test:80", POLICY_RULE_ALLOW, HTTP, false },
	/* exceptions carve out of their own rule alone */
	{ "allow **.a.test except b.a.test", "b.a.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow **.a.test except b.a.test", "c.a.test", POLICY_RULE_ALLOW, HTTPS, false },
	{ "allow **.a.test except b.a.test\nallow b.a.test", "b.a.test", POLICY_RULE_ALLOW, HTTPS,
	  false },
	{ "allow **.a.test except *.b.a.test", "c.b.a.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow **.a.test:* except b.a.test", "b.a.test:8080", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow **.a.test:* except b.a.test:22", "b.a.test:8080", POLICY_RULE_ALLOW, TCP, false },
	{ "allow **.a.test:* except b.a.test:22", "b.a.test:22", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow tcp://a.test:* except https://a.test", "tcp://a.test:443", POLICY_DEFAULT_DENY,
	  NONE, false },
	{ "default allow\ndeny **.a.test except b.a.test", "b.a.test", POLICY_DEFAULT_ALLOW, HTTPS,
	  false },
	{ "default allow\ndeny **.a.test except b.a.test", "c.a.test", POLICY_RULE_DENY, NONE,
	  false },
	{ "default allow\ndeny * except https://b.a.test", "b.a.test", POLICY_DEFAULT_ALLOW, HTTPS,
	  false },
	{ "default allow\ndeny * except https://b.a.test", "tcp://b.a.test:443", POLICY_RULE_DENY,
	  NONE, false },
	{ "default allow\ndeny 8.0.0.0/8 except 8.8.0.0/16", "8.8.8.8", POLICY_DEFAULT_ALLOW, HTTPS,
	  false },
	{ "default allow\ndeny 8.0.0.0/8 except 8.8.0.0/16", "8.9.8.8", POLICY_RULE_DENY, NONE,
	  false },
	{ "allow * except 8.8.0.0/16", "8.8.8.8", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow * except 8.8.0.0/16", "64:ff9b::8.8.8.8", POLICY_DEFAULT_DENY, NONE, false },
	{ "allow a.test:* except a.test:22", "a.test:22", POLICY_DEFAULT_DENY, NONE, false },
	/* answers settle questions, and nothing else */
	{ "default ask\nanswer allow https://a.test:443", "a.test", POLICY_ANSWER_ALLOW, HTTPS,
	  false },
	{ "default ask\nanswer deny https://a.test:443", "a.test", POLICY_ANSWER_DENY, NONE,
	  false },
	{ "default ask\nanswer allow a.test\nanswer deny a.test", "a.test", POLICY_ANSWER_DENY,
	  NONE, false },
	{ "ask a.test\nanswer allow a.test", "a.test", POLICY_ANSWER_ALLOW, HTTPS, false },
	{ "default deny\nanswer allow a.test", "a.test", POLICY_DEFAULT_DENY, NONE, false },
	{ "deny a.test\nanswer allow a.test", "a.test", POLICY_RULE_DENY, NONE, false },
	{ "default ask\nallow a.test\nanswer deny a.test", "a.test", POLICY_RULE_ALLOW, HTTPS,
	  false },
	{ "default allow\nanswer deny a.test", "a.test", POLICY_DEFAULT_ALLOW, HTTPS, false },
	{ "default ask\nanswer allow https://a.test:443", "tcp://a.test:443", POLICY_ASKED, TCP,
	  false },
	{ "default ask\nanswer deny https://a.test:443", "tcp://a.test:443", POLICY_ANSWER_DENY,
	  NONE, false },
	{ "default ask\nanswer allow tcp://a.test:8000", "http+a.test:8000", POLICY_ANSWER_ALLOW,
	  TCP, false },
	{ "default ask\nanswer allow tcp://10.0.0.1:22", "10.0.0.1:22", POLICY_ANSWER_ALLOW, TCP,
	  true },
	{ "ask a.test private\nanswer allow a.test", "a.test", POLICY_ANSWER_ALLOW, HTTPS, true },
	/* what may be private */
	{ "allow a.test private", "a.test", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow a.test\nallow a.test private", "a.test", POLICY_RULE_ALLOW, HTTPS, true },
	{ "default ask", "a.test", POLICY_ASKED, HTTPS, false },
	{ "ask a.test private", "a.test", POLICY_ASKED, HTTPS, true },
	{ "default ask", "10.0.0.1", POLICY_ASKED, HTTPS,
	  true }, /* a literal: the rule that allows it has named it */
	{ "default ask", "8.8.8.8", POLICY_ASKED, HTTPS, true },
	{ "default allow", "10.0.0.1", POLICY_PRIVATE_ADDRESS, NONE, false },
	/* never, and never asked */
	{ "default ask", "169.254.169.254", POLICY_METADATA_ADDRESS, NONE, false },
	{ "allow 169.254.169.254:*", "169.254.169.254:80", POLICY_METADATA_ADDRESS, NONE, false },
	{ "allow * private", "[::ffff:169.254.169.254]", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "169.254.169.254.", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "2852039166", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "[64:ff9b::a9fe:a9fe]", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "100.100.100.200", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "168.63.129.16", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "[fd00:ec2::254]", POLICY_METADATA_ADDRESS, NONE, false },
	{ "allow **.internal private", "metadata.google.internal", POLICY_METADATA_ADDRESS, NONE,
	  false },
	{ "allow * private", "METADATA.google.internal.", POLICY_METADATA_ADDRESS, NONE, false },
	{ "allow * private", "x.metadata.google.internal", POLICY_METADATA_ADDRESS, NONE, false },
	{ "allow * private", "notmetadata.google.internal", POLICY_RULE_ALLOW, HTTPS, true },
	{ "allow * private", "metadata:80", POLICY_METADATA_ADDRESS, NONE, false },
	{ "default ask", "0.0.0.0", POLICY_SPECIAL_ADDRESS, NONE, false },
	{ "default ask", "[::]", POLICY_SPECIAL_ADDRESS, NONE, false },
	{ "allow 255.255.255.255", "255.255.255.255", POLICY_SPECIAL_ADDRESS, NONE, false },
	{ "default ask", "224.0.0.1", POLICY_SPECIAL_ADDRESS, NONE, false },
	{ "default ask", "[ff02::1]", POLICY_SPECIAL_ADDRESS, NONE, false },
	/* the command's own loopback */
	{ "default deny", "127.0.0.1:8000", POLICY_INSIDE, TCP, false },
	{ "default ask", "localhost:80", POLICY_INSIDE, HTTP, false },
	{ "default deny", "a.localhost:443", POLICY_INSIDE, HTTPS, false },
	{ "default deny", "[::1]:80", POLICY_INSIDE, HTTP, false },
	{ "allow *:*", "127.0.0.1:8000", POLICY_INSIDE, TCP, false },
	{ "ask *:*", "127.0.0.1:8000", POLICY_INSIDE, TCP, false },
	{ "allow 0.0.0.0/0:*", "127.0.0.1:8000", POLICY_INSIDE, TCP, false },
	{ "deny *:*", "127.0.0.1:8000", POLICY_RULE_DENY, NONE, false },
	{ "deny localhost:8000", "localhost:8000", POLICY_RULE_DENY, NONE, false },
	{ "allow 127.0.0.1:8000", "127.0.0.1:8000", POLICY_RULE_ALLOW, TCP, true },
	{ "allow 127.0.0.0/8:8000", "127.0.0.1:8000", POLICY_RULE_ALLOW, TCP, true },
	{ "allow 127.0.0.1:8000", "127.0.0.1:8001", POLICY_INSIDE, TCP, false },
	{ "allow localhost:8000", "localhost:8000", POLICY_RULE_ALLOW, TCP, true },
	{ "allow **.localhost:8000", "a.localhost:8000", POLICY_RULE_ALLOW, TCP, true },
	{ "ask localhost:8000", "localhost:8000", POLICY_ASKED, TCP, true },
	{ "ask localhost:8000\nanswer allow localhost:8000", "localhost:8000", POLICY_ANSWER_ALLOW,
	  TCP, true },
};

static enum policy_action action_of(enum policy_reason reason)
{
	if (reason == POLICY_ASKED)
		return POLICY_ASK;
	return policy_reason_status(reason) == 200 ? POLICY_ALLOW : POLICY_DENY;
}

START_TEST(one_verdict)
{
	struct policy *policy = policies_test_load(verdicts[_i].policy);
	struct policy_verdict verdict;

	memset(&verdict, 0xa5, sizeof(verdict));
	policies_test_decide(policy, verdicts[_i].request, &verdict);
	ck_assert_msg(verdict.reason == verdicts[_i].want, "%s | %s: %s", verdicts[_i].policy,
		      verdicts[_i].request, policy_reason_code(verdict.reason));
	ck_assert_int_eq(verdict.action, action_of(verdicts[_i].want));
	ck_assert_msg(verdict.promise == verdicts[_i].promise, "%s | %s: %s", verdicts[_i].policy,
		      verdicts[_i].request, policy_protocol_name(verdict.promise));
	ck_assert_msg(verdict.may_private == verdicts[_i].may_private, "%s | %s",
		      verdicts[_i].policy, verdicts[_i].request);
	policy_free(policy);
}
END_TEST

START_TEST(nonsense_is_denied)
{
	struct policy *policy = policies_test_load("default allow\nallow * private\n");
	struct policy_facts facts = { .dst = { .host = "a.test", .port = 443 },
				      .carries = POLICY_HTTPS };
	struct policy_verdict verdict;

	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	facts.carries = POLICY_NO_PROTOCOL;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_UNSUPPORTED);
	facts.carries = POLICY_UDP;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_DEFAULT_DENY);
	facts.carries = (enum policy_protocol)200;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_UNSUPPORTED);
	facts.carries = POLICY_HTTPS;
	facts.dst.port = 0;
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_BAD_HOST);
	facts.dst.port = 443;
	facts.dst.host[0] = '\0';
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_BAD_HOST);
	memset(facts.dst.host, 'a', sizeof(facts.dst.host));
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_BAD_HOST);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	policy_free(policy);
}
END_TEST

/* A connection into the sandbox: a rule that names a loopback address means the host's. */
static const char *const about_loopback[] = {
	"default deny",
	"deny *:*",
	"deny localhost:8000",
	"allow localhost:8000",
	"ask localhost:8000",
	"allow 127.0.0.1:8000",
	"ask localhost:8000\nanswer deny localhost:8000",
};

START_TEST(no_rule_is_about_a_published_port)
{
	auto_free char *text = mem_printf("version 1\n%s\n", about_loopback[_i]);
	struct policy *policy = policies_test_load(text);
	struct policy_facts facts = { .carries = POLICY_TCP, .way = POLICY_WAY_PUBLISHED };
	struct policy_verdict verdict;

	ck_assert_int_eq(policy_destination_set(&facts.dst, "localhost", 9, 8000, NULL), 0);
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	ck_assert_int_eq(verdict.reason, POLICY_INSIDE);
	ck_assert_int_eq(verdict.promise, POLICY_TCP);
	ck_assert(!verdict.may_private);
	/* It leads nowhere else. */
	ck_assert_int_eq(policy_destination_set(&facts.dst, "a.test", 6, 8000, NULL), 0);
	policy_decide(policy, &facts, &verdict);
	ck_assert_int_eq(verdict.action, POLICY_DENY);
	ck_assert_int_eq(verdict.reason, POLICY_UNSUPPORTED);
	policy_free(policy);
}
END_TEST

START_TEST(the_rule_is_shown)
{
	struct policy *policy = policies_test_load(
		"version 1\n  deny\ta.test because \"b\xc3\xbc\\\"\\\\\"   # x\t\n");
	struct policy_verdict verdict;

	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_str_eq(verdict.rule,
			 "<test>:2: deny\\x09a.test because \"b\\xc3\\xbc\\\\\"\\\\\\\\\"   # x");
	ck_assert_str_eq(verdict.because, "b\xc3\xbc\"\\");
	ck_assert_str_eq(verdict.by, "");
	policy_free(policy);
}
END_TEST

START_TEST(a_long_rule_is_cut)
{
	char text[2100];
	struct policy_verdict verdict;

	memset(text, '#', sizeof(text) - 1);
	memcpy(text, "allow a.test ", 13);
	text[sizeof(text) - 1] = '\0';
	struct policy *policy = policies_test_load(text);

	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.action, POLICY_ALLOW);
	ck_assert_uint_eq(strlen(verdict.rule), POLICY_TEXT_MAX - 1);
	ck_assert_str_eq(verdict.rule + POLICY_TEXT_MAX - 4, "...");
	policy_free(policy);
}
END_TEST

static const struct {
	const char *comment, *want;
} provenances[] = {
	{ "# by ana on tty, 2026-11-20T20:13Z, run 7f3a", "ana on tty" },
	{ "# by ana", "ana" },
	{ "# by ", "" },
	{ "#by ana", "" },
	{ "# yesterday", "" },
	{ "", "" },
	{ "# by 0123456789012345678901234567890123456789012345678901234567890123456789, x",
	  "012345678901234567890123456789012345678901234567890123456789..." },
};

START_TEST(who_answered)
{
	auto_free char *text =
		mem_printf("default ask\nanswer allow a.test   %s\n", provenances[_i].comment);
	struct policy *policy = policies_test_load(text);
	struct policy_verdict verdict;

	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_int_eq(verdict.reason, POLICY_ANSWER_ALLOW);
	ck_assert_str_eq(verdict.by, provenances[_i].want);
	policy_free(policy);
}
END_TEST

/* Of several allows the one that gives the most is shown, so that the record explains the promise.
 */
START_TEST(the_widest_rule_is_shown)
{
	struct policy *policy = policies_test_load(
		"allow a.test\nallow *\nallow tcp://a.test:443\nallow tcp://a.test\n");
	struct policy_verdict verdict;

	policies_test_decide(policy, "a.test", &verdict);
	ck_assert_str_eq(verdict.rule, "<test>:3: allow tcp://a.test:443");
	policies_test_decide(policy, "http+a.test:443", &verdict);
	ck_assert_str_eq(verdict.rule, "<test>:3: allow tcp://a.test:443");
	policies_test_decide(policy, "b.test", &verdict);
	ck_assert_str_eq(verdict.rule, "<test>:2: allow *");
	policy_free(policy);
}
END_TEST

TCase *decide_cases(void)
{
	TCase *cases = tcase_create("decide");

	tcase_add_loop_test(cases, one_verdict, 0, ARRAY_SIZE(verdicts));
	tcase_add_test(cases, nonsense_is_denied);
	tcase_add_loop_test(cases, no_rule_is_about_a_published_port, 0,
			    ARRAY_SIZE(about_loopback));
	tcase_add_test(cases, the_rule_is_shown);
	tcase_add_test(cases, a_long_rule_is_cut);
	tcase_add_loop_test(cases, who_answered, 0, ARRAY_SIZE(provenances));
	tcase_add_test(cases, the_widest_rule_is_shown);
	return cases;
}
