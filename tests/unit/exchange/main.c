#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/exchange/exchange_test.h"

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
	  "f:1: allow tcp://a*b.test:*: not a destination\n" },
	{ "sandbox-runtime", "{\"network\": {\"deniedDomains\": [\"a*b.test\"]}}", NULL,
	  "would be missing" },
	{ "sandbox-runtime",
	  "{\"network\": {\"allowedDomains\": [\"a.test tcp://b.test\\nallow c.test\"]}}",
	  "default ask\n", "not a destination" },
	{ "sandbox-runtime", "{\"a\": [1,]}", NULL, "f:1: something that is not read" },
	{ "sandbox-runtime", "{\"a\": 1} 2", NULL, "behind the end" },
	{ "sandbox-runtime", "[]", NULL, "not a JSON object" },
	{ "codex-config",
	  "model = \"x\" # y\nnotes = "
	  "\"\"\"\n[permissions.z.network]\n\"\"\"\n[permissions.w.network]\nenabled = true\n"
	  "[permissions.w.network.domains]\n\"a.test\" = \"allow\"\n\"**.b.test\" = \"deny\"\n",
	  "default ask\nallow tcp://a.test:*\ndeny tcp://**.b.test:*\n",
	  "f:6: permissions/w/network/enabled true\n" },
	{ "codex-config",
	  "[permissions.w.network]\nmode = \"limited\"\ndomains = { \"a.test\" = \"allow\", "
	  "'b.test:80' = \"deny\" }\n",
	  "default ask\nallow http://a.test:* method GET HEAD OPTIONS\n"
	  "allow https://a.test:443 method GET HEAD OPTIONS\ndeny tcp://b.test:*\n",
	  "a port in a host was not looked at" },
	{ "codex-config",
	  "[permissions.w.network]\nallowed_domains = [\n \"a.test\",\n \"r*.v2.test\", # x\n]\n"
	  "denied_domains = [\"r*.v3.test\"]\n",
	  "default ask\nallow tcp://a.test:*\ndeny tcp://**.v3.test:*\n", "denied more widely" },
	{ "codex-config", "[permissions.w.network]\ndenied_domains = [\"r*\"]\n", NULL,
	  "would be missing" },
	{ "codex-config",
	  "[permissions.w.network.domains]\n\"a.test\" = "
	  "\"allow\"\n[permissions.v.network.domains]\n\"b.test\" = \"allow\"\n",
	  NULL, "several profiles" },
	{ "codex-config",
	  "default_permissions = \"v\"\n[permissions.w.network.domains]\n\"a.test\" = \"allow\"\n"
	  "[permissions.v.network.domains]\n\"b.test\" = \"allow\"\n",
	  "default ask\nallow tcp://b.test:*\n", "of another profile" },
	{ "codex-config", "a = 1 b = 2\n", NULL, "f:1: something is left over" },
	{ "codex-config", "[a\n", NULL, "f:1: a table's name that is not closed" },
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
	{ "codex-rules", "prefix_rule(pattern=[])\n", NULL, "empty pattern" },
	{ "codex-rules", "network_rule(host=\"*.a.test\", protocol=\"http\")\n", NULL,
	  "not a host" },
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
	{ "harden-runner", "a.test:443 *.b.test:80\nc.test\n",
	  "default deny\nallow tcp://a.test:443\nallow tcp://*.b.test:80\nallow tcp://c.test:443\n",
	  "f:2: c.test: without a port" },
	{ "harden-runner",
	  "jobs:\n  x:\n    steps:\n      - uses: h\n        with:\n          egress-policy: "
	  "audit\n"
	  "          allowed-endpoints: >\n            a.test:443\n            b.test:443\n      - "
	  "run: |\n          echo: x\n",
	  "default deny\nallow tcp://a.test:443\nallow tcp://b.test:443\n", "egress-policy audit" },
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
