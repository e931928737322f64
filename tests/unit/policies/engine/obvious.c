#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

#define OBVIOUS_TEXT_MAX 4096

static const char *const actions[] = { "deny", "ask", "allow", "answer deny", "answer allow" };
static const char *const hosts[] = {
	"*",          "a.test",     "*.a.test",  "**.a.test",       "b.a.test",
	"*.b.a.test", "*.test",     "**.c.test", "c.test",          "8.8.0.0/16",
	"8.8.8.8",    "8.8.8.0/24", "0.0.0.0/0", "[2001:470::]/32",
};
static const char *const asked[] = {
	"a.test",   "b.a.test", "c.b.a.test", "xa.test", "c.test",
	"d.c.test", "8.8.8.8",  "8.8.9.9",    "9.9.9.9", "2001:470::1",
};
static const struct {
	const char *text;
	uint16_t ranges[2][2];
} ports[] = {
	{ "", { { 0, 0 } } }, /* by protocol */
	{ ":443", { { 443, 443 } } }, { ":8000-8100", { { 8000, 8100 } } },
	{ ":*", { { 1, 65535 } } },   { ":80,8000", { { 80, 80 }, { 8000, 8000 } } },
};
static const struct {
	const char *text;
	enum policy_protocol protocol;
} protocols[] = {
	{ "", POLICY_NO_PROTOCOL },   { "", POLICY_NO_PROTOCOL }, { "http://", POLICY_HTTP },
	{ "https://", POLICY_HTTPS }, { "tcp://", POLICY_TCP },   { "udp://", POLICY_UDP },
};
/* The first is that of obvious_text(). */
static const enum policy_layer layers[OBVIOUS_LAYERS] = { POLICY_COMMAND_LINE, POLICY_PROJECT,
							  POLICY_MANAGED, POLICY_USER };
static const struct {
	const char *text;
	int64_t at; /* 0: never */
} ends[] = {
	{ "", 0 },
	{ "", 0 },
	{ " for 1h", OBVIOUS_START + 3600 },
	{ " until 2023-11-14", 1699920000 },
	{ " until 2100-01-01", 4102444800 },
};
static const uint16_t asked_ports[] = { 22, 80, 443, 8000, 8100, 8101 };

static void make_destination(struct policies_test_random *random, struct obvious_destination *ret)
{
	ret->host = policies_test_below(random, ARRAY_SIZE(hosts));
	ret->ports = policies_test_below(random, ARRAY_SIZE(ports));
	ret->protocol = policies_test_below(random, ARRAY_SIZE(protocols));
	if (protocols[ret->protocol].protocol == POLICY_UDP && ret->ports == 0)
		ret->ports = 1; /* it needs some */
}

static bool port_matches(const struct obvious_destination *destination, uint16_t port)
{
	enum policy_protocol protocol = protocols[destination->protocol].protocol;

	if (destination->ports == 0)
		return (port == 80 && protocol != POLICY_HTTPS) ||
		       (port == 443 && protocol != POLICY_HTTP);
	for (size_t i = 0; i < 2; i++) {
		if (port >= ports[destination->ports].ranges[i][0] &&
		    port <= ports[destination->ports].ranges[i][1])
			return true;
	}
	return false;
}

/* The flow is surely what the rule speaks of. */
static bool surely(const struct obvious_destination *destination, const struct policy_facts *facts)
{
	enum policy_protocol protocol = protocols[destination->protocol].protocol;

	if (protocol == POLICY_NO_PROTOCOL)
		protocol = facts->dst.port == 80    ? POLICY_HTTP
			   : facts->dst.port == 443 ? POLICY_HTTPS
						    : POLICY_TCP;
	if (facts->carries == POLICY_UDP)
		return protocol == POLICY_UDP;
	return protocol == POLICY_TCP || protocol == facts->carries;
}

/* The flow may be what the rule speaks of. */
static bool maybe(const struct obvious_destination *destination, const struct policy_facts *facts)
{
	enum policy_protocol protocol = protocols[destination->protocol].protocol;

	if (facts->carries == POLICY_UDP || protocol == POLICY_UDP)
		return protocol == POLICY_NO_PROTOCOL || protocol == facts->carries;
	return protocol == POLICY_NO_PROTOCOL || protocol == POLICY_TCP ||
	       facts->carries == POLICY_TCP || protocol == facts->carries;
}

static bool is_excepted(const struct obvious_rule *rule, const struct policy_facts *facts)
{
	const struct obvious_destination *exception = &rule->exception;

	if (exception->ports != 0 && !port_matches(exception, facts->dst.port))
		return false;
	if (strstr(actions[rule->action], "allow"))
		return maybe(exception, facts);
	return protocols[exception->protocol].protocol == POLICY_NO_PROTOCOL ||
	       surely(exception, facts);
}

static bool flow_matches(const struct obvious_rule *rule, const struct policy_facts *facts)
{
	/* Of the rules without a protocol, only those that deny are about UDP. */
	if (facts->carries == POLICY_UDP && strcmp(actions[rule->action], "ask") == 0 &&
	    protocols[rule->destination.protocol].protocol != POLICY_UDP)
		return false;
	return port_matches(&rule->destination, facts->dst.port) &&
	       (strstr(actions[rule->action], "allow") ? surely(&rule->destination, facts)
						       : maybe(&rule->destination, facts));
}

/* An exception that takes no request out of its rule is an error, so it is left out. */
static bool has_exception(const struct obvious_rule *rule)
{
	static const enum policy_protocol all[] = { POLICY_HTTP, POLICY_HTTPS, POLICY_TCP,
						    POLICY_UDP };

	for (size_t i = 0; rule->has_exception && i < ARRAY_SIZE(asked_ports) * ARRAY_SIZE(all);
	     i++) {
		struct policy_facts facts = { .carries = all[i % ARRAY_SIZE(all)] };

		facts.dst.port = asked_ports[i / ARRAY_SIZE(all)];
		if (flow_matches(rule, &facts) && is_excepted(rule, &facts))
			return true;
	}
	return false;
}

void obvious_make(struct policies_test_random *random, struct obvious_policy *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->count = policies_test_below(random, OBVIOUS_RULES_MAX);
	ret->fallback = (enum policy_action)policies_test_below(random, 3);
	for (size_t i = 0; i < ret->count; i++) {
		struct obvious_rule *rule = &ret->rules[i];

		rule->action = policies_test_below(random, ARRAY_SIZE(actions));
		make_destination(random, &rule->destination);
		rule->has_exception = policies_test_below(random, 3) == 0;
		make_destination(random, &rule->exception);
		/* What can never meet is an error: only `*` takes any exception. */
		if (rule->destination.host != 0)
			rule->exception.host = rule->destination.host;
	}
}

static size_t put_destination(char *out, size_t size, const struct obvious_destination *destination)
{
	return (size_t)snprintf(out, size, " %s%s%s", protocols[destination->protocol].text,
				hosts[destination->host], ports[destination->ports].text);
}

void obvious_make_whole(struct policies_test_random *random, struct obvious_policy *ret)
{
	obvious_make(random, ret);
	for (size_t i = 0; i < ret->count; i++) {
		struct obvious_rule *rule = &ret->rules[i];

		rule->layer = policies_test_below(random, ARRAY_SIZE(layers));
		/* `for` on an answer counts from when it was given, which is not written here. */
		if (rule->action < 3)
			rule->end = policies_test_below(random, ARRAY_SIZE(ends));
		/* A denial that ends while the program runs goes on holding for addresses. */
		if (rule->action == 0 && ends[rule->end].at == OBVIOUS_START + 3600)
			rule->end = 0;
	}
	if (policies_test_below(random, 3) == 0)
		ret->only_count = 1 + policies_test_below(random, OBVIOUS_ONLY_MAX);
	for (size_t i = 0; i < ret->only_count; i++)
		make_destination(random, &ret->only[i]);
}

static void put_only(const struct obvious_policy *policy, char *out, size_t *len)
{
	*len += (size_t)snprintf(out + *len, OBVIOUS_TEXT_MAX - *len, "only");
	for (size_t i = 0; i < policy->only_count; i++)
		*len += put_destination(out + *len, OBVIOUS_TEXT_MAX - *len, &policy->only[i]);
	*len += (size_t)snprintf(out + *len, OBVIOUS_TEXT_MAX - *len, "\n");
}

static char *layer_text(const struct obvious_policy *policy, unsigned int layer)
{
	char *out = mem_new(OBVIOUS_TEXT_MAX);
	size_t len = 0;

	if (layer == 0)
		len = (size_t)snprintf(out, OBVIOUS_TEXT_MAX, "default %s\n",
				       policy_action_name(policy->fallback));
	if (layers[layer] == POLICY_MANAGED && policy->only_count > 0)
		put_only(policy, out, &len);
	for (size_t i = 0; i < policy->count; i++) {
		const struct obvious_rule *rule = &policy->rules[i];

		if (rule->layer != layer)
			continue;
		len += (size_t)snprintf(out + len, OBVIOUS_TEXT_MAX - len, "%s",
					actions[rule->action]);
		len += put_destination(out + len, OBVIOUS_TEXT_MAX - len, &rule->destination);
		if (has_exception(rule)) {
			len += (size_t)snprintf(out + len, OBVIOUS_TEXT_MAX - len, " except");
			len += put_destination(out + len, OBVIOUS_TEXT_MAX - len, &rule->exception);
		}
		len += (size_t)snprintf(out + len, OBVIOUS_TEXT_MAX - len, "%s\n",
					ends[rule->end].text);
	}
	return out;
}

char *obvious_text(const struct obvious_policy *policy)
{
	return layer_text(policy, 0);
}

struct policy *obvious_load(const struct obvious_policy *policy)
{
	struct policy *loaded = policy_new();

	policy_set_start(loaded, OBVIOUS_START);
	for (unsigned int layer = 0; layer < ARRAY_SIZE(layers); layer++) {
		auto_free char *text = layer_text(policy, layer);

		(void)policy_load_text_layer(loaded, policy_layer_name(layers[layer]), text,
					     layers[layer]);
	}
	ck_assert_msg(policy_finish(loaded) == 0, "%s", policy_errors(loaded));
	return loaded;
}

void obvious_request(struct policies_test_random *random, struct policy_facts *ret)
{
	static const enum policy_protocol carries[] = { POLICY_HTTP, POLICY_HTTPS, POLICY_TCP,
							POLICY_UDP };
	const char *host = asked[policies_test_below(random, ARRAY_SIZE(asked))];
	uint16_t port = asked_ports[policies_test_below(random, ARRAY_SIZE(asked_ports))];

	memset(ret, 0, sizeof(*ret));
	ck_assert_int_eq(policy_destination_set(&ret->dst, host, strlen(host), port, NULL), 0);
	ret->carries = carries[policies_test_below(random, ARRAY_SIZE(carries))];
}

static bool has_suffix(const char *text, const char *suffix)
{
	size_t len = strlen(text), suffix_len = strlen(suffix);

	return len >= suffix_len && strcmp(text + len - suffix_len, suffix) == 0;
}

static bool host_matches(const char *pattern, const struct policy_destination *dst)
{
	struct addr_block block;
	char text[64];
	size_t len = 0;

	if (strcmp(pattern, "*") == 0)
		return true;
	for (const char *at = pattern; *at; at++) { /* without brackets */
		if (*at != '[' && *at != ']')
			text[len++] = *at;
	}
	text[len] = '\0';
	if (!strchr(text, '/') && dst->addr.family != 0)
		return strcmp(text, dst->host) == 0;
	if (addr_block_parse(text, len, &block) == 0)
		return addr_block_has(&block, &dst->addr);
	if (dst->addr.family != 0)
		return false;
	if (strncmp(pattern, "**.", 3) == 0)
		return strcmp(dst->host, pattern + 3) == 0 || has_suffix(dst->host, pattern + 2);
	if (strncmp(pattern, "*.", 2) == 0)
		return has_suffix(dst->host, pattern + 1);
	return strcmp(dst->host, pattern) == 0;
}

static bool rule_matches(const struct obvious_rule *rule, const struct policy_facts *facts)
{
	if (!host_matches(hosts[rule->destination.host], &facts->dst) || !flow_matches(rule, facts))
		return false;
	if (ends[rule->end].at != 0 && facts->now >= ends[rule->end].at)
		return false;
	/* What is not trusted may deny and ask. */
	if (layers[rule->layer] == POLICY_PROJECT && strcmp(actions[rule->action], "deny") != 0 &&
	    strcmp(actions[rule->action], "ask") != 0)
		return false;
	return !rule->has_exception || !host_matches(hosts[rule->exception.host], &facts->dst) ||
	       !is_excepted(rule, facts) || !has_exception(rule);
}

static bool any_matches(const struct obvious_policy *policy, const char *action,
			const struct policy_facts *facts)
{
	for (size_t i = 0; i < policy->count; i++) {
		if (strcmp(actions[policy->rules[i].action], action) == 0 &&
		    rule_matches(&policy->rules[i], facts))
			return true;
	}
	return false;
}

static bool is_outside_only(const struct obvious_policy *policy, const struct policy_facts *facts)
{
	for (size_t i = 0; i < policy->only_count; i++) {
		const struct obvious_destination *only = &policy->only[i];

		if (host_matches(hosts[only->host], &facts->dst) &&
		    port_matches(only, facts->dst.port) && surely(only, facts))
			return false;
	}
	return policy->only_count > 0;
}

enum policy_action obvious_decide(const struct obvious_policy *policy,
				  const struct policy_facts *facts)
{
	enum policy_action action = facts->carries == POLICY_UDP ? POLICY_DENY : policy->fallback;

	if (any_matches(policy, "deny", facts) || is_outside_only(policy, facts))
		return POLICY_DENY;
	if (any_matches(policy, "ask", facts))
		action = POLICY_ASK;
	else if (any_matches(policy, "allow", facts))
		action = POLICY_ALLOW;
	if (action != POLICY_ASK)
		return action;
	if (any_matches(policy, "answer deny", facts))
		return POLICY_DENY;
	return any_matches(policy, "answer allow", facts) ? POLICY_ALLOW : POLICY_ASK;
}
