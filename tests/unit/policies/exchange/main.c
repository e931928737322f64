#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/policies/exchange/exchange_test.h"

#define DEEP     "[[[[[[[[[["
#define DEEP_END "]]]]]]]]]]"

/* @want: the lines that are no comments, behind "version 1"; NULL: refused, and @words are in the
 * message. @words: in the list of what is lost. */
static const struct {
	const char *format, *text, *want, *words;
} imports[] = {
	{ "sandbox-runtime",
	  "{\"network\": {\"allowedDomains\": [\"A.test\", \"*.b.test:8443\"],\n\"deniedDomains\": "
	  "[\"x.b.test\"]}}",
	  "default ask\nallow tcp://A.test:*\nallow tcp://*.b.test:8443\ndeny tcp://x.b.test:*\n",
	  "" },
	{ "claude-settings",
	  "{\"sandbox\": {\"network\": {\"allowedDomains\": [\"a.test\"],\n \"allowLocalBinding\": "
	  "true}}}",
	  "default ask\nallow tcp://a.test:*\n", "f:2: sandbox/network/allowLocalBinding true\n" },
	{ "sandbox-runtime",
	  "{\"network\": {\"allowedDomains\": [\"a*b.test\", \"a.test\\u0000\"]}}", NULL, "NUL" },
	{ "sandbox-runtime", "{\"network\": {\"allowedDomains\": [\"a*b.test\"]}}", "default ask\n",
	  "f:1: allow tcp://a*b.test:*: this is not a destination\n" },
	{ "sandbox-runtime", "{\"network\": {\"deniedDomains\": [\"a*b.test\"]}}", NULL,
	  "would be lost" },
	{ "sandbox-runtime",
	  "{\"network\": {\"allowedDomains\": [\"a.test tcp://b.test\\nallow c.test\"]}}",
	  "default ask\n", "not a destination" },
	{ "sandbox-runtime", "{\"a\": [1,]}", NULL, "f:1: column 10: unexpected token" },
	{ "sandbox-runtime", "{\"a\": 1} 2", NULL, "f:1: column 10: end of file expected" },
	{ "sandbox-runtime", "[]", NULL, "not a mapping" },
	{ "sandbox-runtime", "", NULL, "f:1: column 0: '[' or '{' expected" },
	{ "sandbox-runtime", "{} # x", NULL, "end of file expected" },
	{ "sandbox-runtime", "{'a': 1}", NULL, "f:1: column 2: string or '}' expected" },
	{ "sandbox-runtime", "{\"a\": &b 1}", NULL, "invalid token" },
	{ "sandbox-runtime", "{\"a\": \"\xff\"}", NULL, "unable to decode" },
	{ "sandbox-runtime", "{\"a\": \"b\nc\"}", NULL, "unexpected newline" },
	{ "sandbox-runtime",
	  "{\"network\": {\"deniedDomains\": [\"a.test\"],\n\"deniedDomains\": []}}", NULL,
	  "f:2: column 15: duplicate object key" },
	{ "sandbox-runtime", "{\"network\": {\"deniedDomains\": [443]}}", NULL,
	  "f:1: this is not a host" },
	{ "sandbox-runtime",
	  "{\"a\": " DEEP DEEP DEEP DEEP "1" DEEP_END DEEP_END DEEP_END DEEP_END "}", NULL,
	  "f:1: the values are nested too deeply" },
	{ "sandbox-runtime",
	  "{\t\"network\"\t:\r\n\t{\"allowedDomains\":[\"\\u0061.te\\/st\",\"b\\u00fc.test\","
	  "\"\\\"\\\\\\b\\f\\n\\r\\t\"],\n\t\"deniedDomains\":[\"x.test\"],\"a\":[-1.5e+3,true,{}],"
	  "\"<<\":0}}\n",
	  "default ask\nallow tcp://b\u00fc.test:*\ndeny tcp://x.test:*\n",
	  "f:2: allow tcp://a.te/st:*: this is not a destination\n" },
	{ "codex-config",
	  "model = \"x\" # y\nnotes = "
	  "\"\"\"\n[permissions.z.network]\n\"\"\"\n[permissions.w.network]\nenabled = true\n"
	  "[permissions.w.network.domains]\n\"a.test\" = \"allow\"\n\"**.b.test\" = \"deny\"\n",
	  "default ask\nallow tcp://a.test:*\ndeny tcp://**.b.test:*\n", "" },
	{ "codex-config", "[permissions.w.network]\nenabled = false\n", "default ask\n",
	  "f:2: permissions/w/network/enabled false\n" },
	{ "codex-config",
	  "[permissions.w.network]\nmode = \"limited\"\ndomains = { \"a.test\" = \"allow\", "
	  "'b.test:80' = \"deny\" }\n",
	  "default ask\nallow http://a.test:* method GET HEAD OPTIONS\ndeny tcp://b.test:*\n",
	  "f:3: allow https://a.test: mode limited allows three methods, and the gate cannot see "
	  "the "
	  "method inside TLS\nf:3: b.test:80: the port of the host was ignored\n" },
	{ "codex-config",
	  "[permissions.w.network]\nallowed_domains = [\n \"a.test\",\n \"r*.v2.test\", # x\n]\n"
	  "denied_domains = [\"r*.v3.test\"]\n",
	  "default ask\nallow tcp://a.test:*\ndeny tcp://**.v3.test:*\n", "denied more widely" },
	{ "codex-config", "[permissions.w.network]\ndenied_domains = [\"r*\"]\n", NULL,
	  "would be lost" },
	{ "codex-config",
	  "[permissions.w.network.domains]\n\"a.test\" = "
	  "\"allow\"\n[permissions.v.network.domains]\n\"b.test\" = \"allow\"\n",
	  NULL, "several profiles" },
	{ "codex-config",
	  "default_permissions = \"v\"\n[permissions.w.network.domains]\n\"a.test\" = \"allow\"\n"
	  "[permissions.v.network.domains]\n\"b.test\" = \"allow\"\n",
	  "default ask\nallow tcp://b.test:*\n", "belongs to another profile" },
	{ "codex-config", "a = 1 b = 2\n", NULL, "f:1: unexpected text at the end of the line" },
	{ "codex-config", "[a\n", NULL, "f:1: the table name is not closed" },
	{ "codex-config", "[permissions.w.network.domains]\n\"#\" = \"allow\"\n", "default ask\n",
	  "not a destination" },
	{ "codex-config", "[permissions.w.network]\nallowed_domains = \"a.test\"\n",
	  "default ask\n", "f:2: permissions/w/network/allowed_domains a.test\n" },
	{ "codex-config",
	  "[permissions.w.network]\nallowed_domains = [\"bücher.test\", [\"a.test\"]]\n",
	  "default ask\nallow tcp://bücher.test:*\n", "network/allowed_domains/#/# a.test\n" },
	{ "codex-rules",
	  "# x\nprefix_rule(pattern=[\"git\", [\"status\", \"log\"]], decision=\"prompt\",\n "
	  "justification=\"a \\\"b\\\"\")\n"
	  "prefix_rule(pattern=[\"rm\", \"-rf\", \"a b\"], decision=\"forbidden\")\n"
	  "host_executable(name=\"git\", paths=[\"/usr/bin/git\"])\n",
	  "command ask git (status|log) because \"a \\\"b\\\"\"\ncommand deny rm -rf \"a b\"\n"
	  "program \"git\" /usr/bin/git\n",
	  "" },
	{ "codex-rules",
	  "network_rule(host=\"a.test\", protocol=\"https\", decision=\"allow\")\n"
	  "network_rule(host=\"b.test\", protocol=\"http\", decision=\"deny\", "
	  "justification=\"no\")\n"
	  "network_rule(host=\"c.test\", protocol=\"socks5_udp\")\n",
	  "allow https://a.test:*\ndeny tcp://b.test:* because \"no\"\n",
	  "f:3: allow socks5_udp c.test" },
	{ "codex-rules", "x = [\"git\"]\nprefix_rule(pattern=x)\n", NULL, "f:1: only calls" },
	{ "codex-rules", "prefix_rule(pattern=[\"git\"], decision=\"maybe\")\n", NULL,
	  "unknown decision" },
	{ "codex-rules",
	  "prefix_rule(pattern=['it\\'s', \"\"\"a\"\"\",],decision='''forbidden''',\n"
	  "justification=\"\"\"no\"\nb\"\"\")\nnetwork_rule(host='a.test', protocol='nfs')\n",
	  "command deny \"it's\" a because \"no\\\" b\"\n", "f:4: allow nfs a.test" },
	{ "codex-rules", "prefix_rule(pattern=[\"a\", {\"b\": 1}])\n", NULL, "not supported" },
	{ "codex-rules", "prefix_rule(pattern=[\"a\"], decision='''x)\n", NULL, "is not closed" },
	{ "codex-rules", "prefix_rule(pattern=[\"a\\0\"])\n", NULL,
	  "unknown escape in a string; write the character itself" },
	{ "codex-rules", "prefix_rule(pattern=[\"a\" \"b\"])\n", NULL, "a comma or" },
	{ "codex-rules", "prefix_rule(pattern=[])\n", NULL, "the pattern is empty" },
	{ "codex-rules", "network_rule(host=\"*.a.test\", protocol=\"http\")\n", NULL,
	  "this is not a host" },
	{ "smokescreen",
	  "---\nversion: v1\nservices:\n  - name: s # x\n    project: p\n    action: enforce\n    "
	  "allowed_domains:\n"
	  "      - a.test\n      - '*.b.test'\nglobal_deny_list:\n- c.test\n",
	  "default deny\nallow tcp://a.test:*\nallow tcp://*.b.test:*\ndeny tcp://c.test:*\n",
	  "f:4: services/#/name s\n" },
	{ "smokescreen",
	  "default:\n  action: open\n  allowed_domains: [a.test, \"b.test\"]\nservices:\n  - name: "
	  "s\n"
	  "    allowed_domains:\n    - c.test\n",
	  "default deny\nallow tcp://a.test:*\nallow tcp://b.test:*\n", "default/action open" },
	{ "smokescreen", "services:\n  - name: s\n  - name: t\n", NULL, "several services" },
	{ "smokescreen", "global_deny_list: &x\n", NULL, "anchor" },
	{ "smokescreen", "default: &x\n  allowed_domains: [a.test]\nservices: [*x]\n", NULL,
	  "f:1: column 10: anchors" },
	{ "smokescreen", "services: [*x]\n", NULL, "f:1: column 12: anchors, aliases" },
	{ "smokescreen", "default:\n  <<: {allowed_domains: [a.test]}\n", NULL,
	  "f:2: column 3: merged mappings" },
	{ "smokescreen", "global_deny_list: !!set {a.test: null}\n", NULL, "and tags are" },
	{ "smokescreen", "global_deny_list: ! a.test\n", NULL, "and tags are" },
	{ "smokescreen", "&x global_deny_list: [a.test]\n", NULL, "the key is not plain text" },
	{ "smokescreen", "? [global_deny_list]\n: [a.test]\n", NULL, "the key is not plain text" },
	{ "smokescreen", "global_deny_list: [a.test]\nglobal_deny_list: [b.test]\n", NULL,
	  "f:2: column 1: this key is there twice" },
	{ "smokescreen", "default: {action: enforce, 'action': open}\n", NULL,
	  "f:1: column 28: this key is there twice" },
	{ "smokescreen", "default:\n  action: open\n---\nglobal_deny_list: [a.test]\n", NULL,
	  "f:3: column 1: there is a second document" },
	{ "smokescreen", "- a.test\n", NULL, "f:1: column 1: this is not a mapping" },
	{ "smokescreen", "a.test\n", NULL, "f:1: column 1: this is not a mapping" },
	{ "smokescreen", "a: \"b\\0c\"\n", NULL, "the value has a NUL byte" },
	{ "smokescreen", "\"a\\0b\": c\n", NULL, "the key is not plain text" },
	{ "smokescreen", "a: b\n\xff: c\n", NULL, "f: byte 6: invalid leading UTF-8 octet" },
	{ "smokescreen", "a: b\n\tc: d\n", NULL, "f:2: column 1: found a tab" },
	{ "smokescreen", "a: [b\n", NULL, "f:2: column 1: did not find expected" },
	{ "smokescreen", "a: \"b\n", NULL, "f:2: column 1: found unexpected end" },
	{ "smokescreen", "a: " DEEP DEEP DEEP DEEP "\n", NULL,
	  "f:1: the values are nested too deeply" },
	{ "smokescreen", "global_deny_list:\n- a.test\n  b.test\n", NULL, "would be lost" },
	{ "smokescreen", "global_deny_list:\n  - |\n    a.test\n", NULL, "f:3: deny tcp://a.test" },
	{ "smokescreen", "\xef\xbb\xbf---\n# x\n'global_deny_list': [ 'it''s', ]\n", NULL,
	  "f:3: deny tcp://it's:*" },
	{ "smokescreen",
	  "default:\n  allowed_domains:\n  - \"\\x61.test\"\n  - a\n  -\n  - >-\n    b.test\n"
	  "global_deny_list:\nx/global_deny_list: y\n",
	  "default deny\nallow tcp://a.test:*\nallow tcp://a:*\nallow tcp://b.test:*\n",
	  "f:9: x\\x01global_deny_list y" },
	{ "harden-runner", "a.test:443 *.b.test:80\nc.test\n",
	  "default deny\nallow tcp://a.test:443\nallow tcp://*.b.test:80\nallow tcp://c.test:443\n",
	  "f:2: c.test: it has no port" },
	{ "harden-runner",
	  "jobs:\n  x:\n    steps:\n      - uses: h\n        with:\n          egress-policy: "
	  "audit\n"
	  "          allowed-endpoints: >\n            a.test:443\n            b.test:443\n      - "
	  "run: |\n          echo: x\n",
	  "default deny\nallow tcp://a.test:443\nallow tcp://b.test:443\n", "egress-policy audit" },
	{ "harden-runner", "w:\n  allowed-endpoints: |\n    a.test:443\n    b.test\n",
	  "default deny\nallow tcp://a.test:443\nallow tcp://b.test:443\n",
	  "f:4: b.test: it has no port" },
	{ "harden-runner",
	  "a:\n  allowed-endpoints: a.test:443\nb:\n  allowed-endpoints: b.test:443\n", NULL,
	  "second list" },
};

char *exchange_test_rules(const char *text)
{
	char *out = mem_new(strlen(text) + 1);

	for (size_t used = 0; *text;) {
		size_t len = strcspn(text, "\n") + 1;

		if (text[0] != '#' && strncmp(text, "version 1\n", 10) != 0) {
			memcpy(out + used, text, len);
			used += len;
		}
		text += len;
	}
	return out;
}

START_TEST(import)
{
	auto_free char *text = NULL, *losses = NULL;
	struct err why = { 0 };
	int r = policy_import(imports[_i].format, "f", imports[_i].text, strlen(imports[_i].text),
			      &text, &losses, &why);

	if (!imports[_i].want) {
		ck_assert_int_lt(r, 0);
		ck_assert_ptr_null(text);
		ck_assert_msg(strstr(why.text, imports[_i].words), "%s", why.text);
		return;
	}
	ck_assert_msg(r == 0, "%s", why.text);
	auto_free char *rules = exchange_test_rules(text);

	ck_assert_str_eq(rules, imports[_i].want);
	ck_assert_msg(strstr(losses, imports[_i].words), "%s", losses);
	if (!imports[_i].words[0])
		ck_assert_str_eq(losses, "");
	struct policy *policy = policy_new();

	/* What an import writes is a policy, as a whole. */
	ck_assert_msg(policy_load_text(policy, "<test>", text) == 0, "%s", policy_errors(policy));
	ck_assert_msg(policy_finish(policy) == 0, "%s", policy_errors(policy));
	policy_free(policy);
}
END_TEST

START_TEST(unknown_format)
{
	char *text = NULL, *losses = NULL;

	ck_assert_int_lt(policy_import("ini", "f", "", 0, &text, &losses, NULL), 0);
	ck_assert_ptr_null(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exchange");
	TCase *cases = tcase_create("import");

	tcase_add_loop_test(cases, import, 0, ARRAY_SIZE(imports));
	tcase_add_test(cases, unknown_format);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, export_cases());
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
