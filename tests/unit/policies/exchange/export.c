#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/policies_tools.h"
#include "tests/unit/policies/exchange/exchange_test.h"

#define ROUNDS    24
#define RULES_MAX 8

static struct policy *load(const char *text)
{
	struct policy *policy = policy_new();

	ck_assert_msg(policy_load_text(policy, "p", text) == 0, "%s\n%s", text,
		      policy_errors(policy));
	ck_assert_msg(policy_finish(policy) == 0, "%s\n%s", text, policy_errors(policy));
	return policy;
}

/* @want: all of the text, without the lines that begin with '#'; NULL: refused, with @words in the
 * message. @words: in the list. */
static const struct {
	const char *format, *text;
	bool may_widen;
	const char *want, *words;
} exports[] = {
	{ "harden-runner", "default deny\nallow tcp://a.test:443\nallow tcp://**.b.test:80,81\n",
	  false, "a.test:443\nb.test:80\nb.test:81\n*.b.test:80\n*.b.test:81\n", "" },
	{ "harden-runner", "default deny\nallow a.test\n", false, "", "p:2: a.test left out: " },
	{ "harden-runner", "default deny\nallow a.test\n", true, "a.test:80\na.test:443\n",
	  "p:2: wider: a.test for any bytes\n" },
	/* What reaches over a denial or a question is left out, asked for or not. */
	{ "harden-runner", "default deny\nallow *.a.test\ndeny b.a.test\n", true, "",
	  "p:2: *.a.test left out: it would also allow tcp://b.a.test:80\n" },
	{ "harden-runner", "default ask\nallow tcp://*.a.test:443\nask c.b.a.test\n", false, "",
	  "p:3: ask: denied there\n" },
	{ "harden-runner", "default deny\nallow tcp://a.test:1-100\nallow tcp://8.8.8.8:53\n",
	  false, "", "the format cannot express it" },
	{ "harden-runner", "default deny\nallow tcp://a.test:443 for 1h\n", true, "",
	  "p:2: allow tcp://a.test:443 left out: its clauses" },
	{ "smokescreen", "default deny\nallow tcp://a.test:*\nallow tcp://b.test:1-99\n", false,
	  "---\nversion: v1\nservices: []\ndefault:\n  project: sallyport\n  action: enforce\n"
	  "  allowed_domains:\n    - \"a.test\"\n",
	  "p:3: b.test left out: it would also allow tcp://b.test:100\n" },
	/* A service's own allow beats the global denial there. */
	{ "smokescreen", "default deny\nallow tcp://a.test:*\ndeny tcp://a.test:22\n", true,
	  "---\nversion: v1\nservices: []\ndefault:\n  project: sallyport\n  action: enforce\n"
	  "  allowed_domains: []\n",
	  "p:2: a.test left out" },
	{ "sandbox-runtime",
	  "default ask\nallow tcp://a.test:*\nallow tcp://a.test:22 because \"x\"\n"
	  "deny tcp://*.b.test:*\n",
	  false,
	  "{\n  \"network\": {\n    \"allowedDomains\": [\n      \"a.test\",\n      "
	  "\"a.test:22\"\n    ],\n    \"deniedDomains\": [\n      \"*.b.test\"\n    ]\n  }\n}\n",
	  "p:3: because\n" },
	{ "claude-settings", "default deny\nallow tcp://a:*\nallow tcp://10.0.0.1:*\n", false,
	  "{\n  \"sandbox\": {\n    \"network\": {\n      \"allowedDomains\": [\n      ],\n"
	  "      \"deniedDomains\": [\n      ]\n    }\n  }\n}\n",
	  "p: default: there it is ask\n" },
	{ "sandbox-runtime", "default ask\nallow tcp://a.test:*\ndeny 8.8.8.0/24\n", false, NULL,
	  "p:3: deny 8.8.8.0/24 cannot be expressed" },
	{ "sandbox-runtime", "default ask\ndeny 8.8.8.0/24\n", true,
	  "{\n  \"network\": {\n    \"allowedDomains\": [\n    ],\n    \"deniedDomains\": [\n    "
	  "]\n  }\n}\n",
	  "p:2: wider: deny 8.8.8.0/24" },
	{ "codex-config",
	  "default ask\nallow tcp://**.a.test:* except b.a.test\nallow tcp://c.test:*\n"
	  "deny tcp://c.test:22\n",
	  false,
	  "default_permissions = \"sallyport\"\n\n[permissions.sallyport.network.domains]\n"
	  "\"**.a.test\" = \"allow\"\n\"b.a.test\" = \"deny\"\n\"c.test\" = \"deny\"\n",
	  "p:3: c.test left out: it is denied" },
	{ "codex-config", "default ask\ndeny *\n", false, NULL, "p:2: deny * cannot be expressed" },
	/* A denial of what a name resolves to holds there for no name. */
	{ "codex-config", "default ask\nallow tcp://a.test:*\ndeny 8.8.8.8\n", false,
	  "default_permissions = \"sallyport\"\n\n[permissions.sallyport.network.domains]\n"
	  "\"8.8.8.8\" = \"deny\"\n",
	  "p:2: a.test left out: it would also allow tcp://a.test:80 at 8.8.8.8\n" },
	{ "codex-config", "default ask\nallow tcp://8.8.8.8:*\ndeny 8.8.8.0/24\n", true,
	  "default_permissions = \"sallyport\"\n\n[permissions.sallyport.network.domains]\n",
	  "8.8.8.8 left out: it would also allow" },
	{ "codex-rules",
	  "default ask\nallow https://a.test because \"it's \\\"ours\\\"\"\n"
	  "allow tcp://b.test:*\ndeny tcp://c.test:*\n",
	  true,
	  "network_rule(host=\"a.test\", protocol=\"https\", decision=\"allow\", "
	  "justification=\"it's \\\"ours\\\"\")\n"
	  "network_rule(host=\"b.test\", protocol=\"http\", decision=\"allow\")\n"
	  "network_rule(host=\"b.test\", protocol=\"https\", decision=\"allow\")\n"
	  "network_rule(host=\"b.test\", protocol=\"socks5_tcp\", decision=\"allow\")\n"
	  "network_rule(host=\"c.test\", protocol=\"http\", decision=\"forbidden\")\n"
	  "network_rule(host=\"c.test\", protocol=\"https\", decision=\"forbidden\")\n"
	  "network_rule(host=\"c.test\", protocol=\"socks5_tcp\", decision=\"forbidden\")\n",
	  "p:2: wider: https://a.test for any bytes and on all ports\n" },
	{ "codex-rules", "default ask\ndeny *.a.test\n", false, NULL, "would be lost" },
	{ "harden-runner", "default deny\ncommand deny rm -rf\nallow tcp://a.test:443\n", false,
	  "a.test:443\n", "p:2: command deny rm -rf\n" },
	{ "harden-runner", "default deny\nsocket $SSH_AUTH_SOCK\nallow tcp://a.test:443\n", false,
	  "a.test:443\n", "p:2: socket\n" },
	{ "harden-runner", "default deny\napprovers-needed 2\nallow tcp://a.test:443\n", false,
	  "a.test:443\n", "p:2: approvers-needed\n" },
	{ "harden-runner", "default ask\nallow a.test\n", false, "",
	  "harden-runner: the result allows nothing: no rule can be expressed; --lossy lets a host "
	  "stand for all its ports and protocols\n" },
	{ "ini", "", false, NULL, "unknown format: ini; use one of codex-config, codex-rules, " },
};

START_TEST(export)
{
	auto_free char *text = NULL, *losses = NULL;
	struct policy *policy = load(exports[_i].text);
	struct err why = { 0 };
	int r = policy_export(exports[_i].format, policy, exports[_i].may_widen, &text, &losses,
			      &why);

	policy_free(policy);
	if (!exports[_i].want) {
		ck_assert_int_lt(r, 0);
		ck_assert_ptr_null(text);
		ck_assert_msg(strstr(why.text, exports[_i].words), "%s", why.text);
		return;
	}
	ck_assert_msg(r == 0, "%s", why.text);
	auto_free char *rest = exchange_test_rules(text);

	ck_assert_str_eq(rest, exports[_i].want);
	ck_assert_msg(strstr(losses, exports[_i].words), "%s", losses);
	if (!exports[_i].words[0])
		ck_assert_str_eq(losses, "");
}
END_TEST

static uint32_t below(uint32_t *state, uint32_t bound)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % bound;
}

static char *make_policy(uint32_t *state)
{
	static const char *const defaults[] = { "ask", "deny", "allow" };
	static const char *const actions[] = { "allow", "allow", "allow",
					       "deny",  "ask",   "answer allow" };
	static const char *const protocols[] = { "tcp://", "tcp://", "", "https://", "http://" };
	static const char *const hosts[] = { "a.test",  "*.a.test",   "**.a.test", "b.a.test", "*",
					     "8.8.8.8", "8.8.8.0/24", "c.test",    "**.c.test" };
	static const char *const ports[] = { ":*", ":*", "", ":443", ":22,8000", ":1-30" };
	char *out = mem_printf("default %s\n", defaults[below(state, ARRAY_SIZE(defaults))]);
	uint32_t count = 1 + below(state, RULES_MAX);

	for (uint32_t i = 0; i < count; i++) {
		auto_free char *before = out;
		uint32_t host = below(state, ARRAY_SIZE(hosts));
		bool has_except = below(state, 4) == 0 && host != 0 && host != 3;

		out = mem_printf("%s%s %s%s%s%s%s\n", before,
				 actions[below(state, ARRAY_SIZE(actions))],
				 protocols[below(state, ARRAY_SIZE(protocols))], hosts[host],
				 ports[below(state, ARRAY_SIZE(ports))],
				 has_except ? " except " : "", has_except ? hosts[host] : "");
	}
	return out;
}

struct widest {
	const struct policy *policy;
	const char *text, *exported;
	bool may_widen;
};

static void check_change(const struct policy_change *change, void *arg)
{
	struct widest *widest = arg;
	struct policy_facts facts = { 0 };
	struct policy_verdict verdict;

	if (change->after != POLICY_ALLOW)
		return;
	ck_assert_int_eq(policy_destination_parse(change->example, &facts.dst, NULL), 0);
	if (policy_destination_is_loopback(&facts.dst))
		return; /* its own loopback is not outside */
	ck_assert_msg(widest->may_widen, "wider at %s %s\n%s\n%s", change->example,
		      change->example_address, widest->text, widest->exported);
	facts.carries = facts.dst.protocol;
	facts.dst.protocol = policy_protocol_of_port(facts.dst.port);
	policy_decide(widest->policy, &facts, &verdict);
	/* Only where no rule speaks, or for other bytes; never over what a rule denies or asks. */
	ck_assert_msg(change->resolved[0] || verdict.action == POLICY_ALLOW ||
			      verdict.rule[0] == '\0',
		      "over a rule at %s: %s\n%s\n%s", change->example, verdict.rule, widest->text,
		      widest->exported);
}

START_TEST(never_wider)
{
	uint32_t state = 777 + (uint32_t)_i;
	size_t exported = 0;

	for (int round = 0; round < ROUNDS; round++) {
		auto_free char *text = make_policy(&state);
		struct policy *policy = load(text);
		const char *format = policy_import_format(below(&state, 6));
		bool may_widen = below(&state, 2) == 0;
		auto_free char *out = NULL, *losses = NULL, *back = NULL, *lost = NULL;
		struct err why = { 0 };
		struct widest widest = { policy, text, NULL, may_widen };
		size_t count;

		if (policy_export(format, policy, may_widen, &out, &losses, &why) < 0) {
			ck_assert_msg(strstr(why.text, "cannot be expressed"), "%s\n%s", text,
				      why.text);
			policy_free(policy);
			continue;
		}
		widest.exported = out;
		ck_assert_msg(policy_import(format, "x", out, strlen(out), &back, &lost, &why) == 0,
			      "%s\n%s\n%s", text, out, why.text);
		struct policy *imported = load(back);

		ck_assert_int_ge(policy_diff(policy, imported, SIZE_MAX, check_change, &widest,
					     &count, &why),
				 0);
		exported += strstr(back, "\nallow ") != NULL;
		policy_free(imported);
		policy_free(policy);
	}
	ck_assert_uint_gt(exported, 1);
}
END_TEST

START_TEST(too_many_rules_are_refused)
{
	size_t count = 16385, len = strlen("allow tcp://a00000.test:*\n");
	auto_free char *text = mem_new(count * len + 1);
	char *out = NULL, *losses = NULL;
	struct err why = { 0 };

	for (size_t i = 0; i < count; i++)
		(void)snprintf(text + i * len, len + 1, "allow tcp://a%05zu.test:*\n", i);
	struct policy *policy = load(text);

	ck_assert_int_eq(policy_export("smokescreen", policy, false, &out, &losses, &why), -E2BIG);
	ck_assert_ptr_null(out);
	ck_assert_str_eq(why.text, "more than 16384 rules");
	policy_free(policy);
}
END_TEST

TCase *export_cases(void)
{
	TCase *cases = tcase_create("export");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, export, 0, ARRAY_SIZE(exports));
	tcase_add_test(cases, too_many_rules_are_refused);
	tcase_add_loop_test(cases, never_wider, 0, 4);
	return cases;
}
