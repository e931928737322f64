/* Rules that never allow or ask about any request. */
#include "policies/language/clauses_impl.h"
#include "policies/hosts/host_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/policies_gate.h"
#include "policies/policies_tools.h"
#include "policies/language/problems_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/engine/search_impl.h"
#include "policies/hosts/special_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define LOOKS_MAX 5000000 /* at denials, for the whole policy: about a second */

/* Why no address of the rule can be reached; NULL: some can. */
static const char *dead_address(const char *key)
{
	struct addr_block block = { .base.family = (uint8_t)key[1], .bits = (uint8_t)key[2] };

	memcpy(block.base.bytes, key + 3, sizeof(block.base.bytes));
	switch (special_class_of_block(&block)) {
	case SPECIAL_METADATA:
		return "cloud metadata is never reachable";
	case SPECIAL_NEVER:
		return "unspecified, broadcast and multicast addresses are never reachable";
	case SPECIAL_GLOBAL:
	case SPECIAL_PRIVATE:
		break;
	}
	return NULL;
}

static const char *dead_host(const struct policy *policy, const struct pattern *pattern)
{
	const char *key = rules_key(policy, pattern);
	char name[POLICY_HOST_MAX];

	if (pattern->kind == PATTERN_BLOCK)
		return dead_address(key);
	if (pattern->kind == PATTERN_ANY || pattern->key_len >= sizeof(name))
		return NULL;
	memcpy(name, key, pattern->key_len);
	name[pattern->key_len] = '\0';
	if (pattern->kind != PATTERN_BELOW && !strcmp(name, POLICY_GATE_HOST))
		return "the gate itself answers all requests to this host";
	return host_is_metadata(name) ? "cloud metadata is never reachable" : NULL;
}

/* At @port, does @other apply to every protocol that @rule applies to? */
static bool dead_covers_port(const struct rule *rule, const struct pattern *other, bool is_deny,
			     uint16_t port)
{
	static const enum policy_protocol all[] = { POLICY_HTTP, POLICY_HTTPS, POLICY_TCP,
						    POLICY_UDP };
	bool is_ask = rule->action == RULE_ASK;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		bool is_ruled = is_ask ? match_asks(&rule->pattern, all[i])
				       : match_covers(&rule->pattern, port, all[i]);
		bool is_covered = is_deny || !is_ask ? match_touches(other, all[i])
						     : other->protocol == POLICY_NO_PROTOCOL ||
							       match_covers(other, port, all[i]);

		if (is_ruled && !is_covered)
			return false;
	}
	return true;
}

/* Do the ports of @other contain @range? Only ports 80 and 443 have a meaning of their own. */
static bool dead_covers_range(const struct policy *policy, const struct rule *rule,
			      const struct pattern *other, bool is_deny, struct pattern_port range)
{
	const uint16_t ports[] = { range.first, range.last, 80, 443 };
	bool has_range = !is_deny && !other->has_ports; /* an exception has its rule's ports */

	for (uint32_t i = 0; i < other->port_count; i++) {
		const struct pattern_port *wide = &policy->ports[other->ports + i];

		has_range |= wide->first <= range.first && range.last <= wide->last;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		if (ports[i] >= range.first && ports[i] <= range.last &&
		    !dead_covers_port(rule, other, is_deny, ports[i]))
			return false;
	}
	return has_range;
}

/* Does @other, a denial or an exception of @rule, apply to all that @rule applies to? */
static bool dead_covers(const struct policy *policy, const struct rule *rule,
			const struct pattern *other, bool is_deny)
{
	if (!match_contains(policy, other, &rule->pattern))
		return false;
	for (uint32_t i = 0; i < rule->pattern.port_count; i++) {
		if (!dead_covers_range(policy, rule, other, is_deny,
				       policy->ports[rule->pattern.ports + i]))
			return false;
	}
	return true;
}

static bool dead_is_excepted(const struct policy *policy, const struct rule *rule)
{
	for (uint32_t i = 0; i < rule->exception_count; i++) {
		if (dead_covers(policy, rule, &policy->exceptions[rule->exceptions + i], false))
			return true;
	}
	return false;
}

/* The search for denials that apply to all of @rule. */
struct dead_search {
	const struct policy *policy;
	const struct rule *rule;
	size_t *looks;  /* left */
	uint32_t found; /* the number of the denial, from 1; 0: none */
};

static void dead_chain(struct dead_search *search, uint32_t head)
{
	for (uint32_t i = head; i != RULE_NONE && *search->looks > 0;
	     i = rules_next(search->policy, i)) {
		struct rule denial;

		--*search->looks;
		rules_get_bare(search->policy, i, &denial);
		if (denial.action == RULE_DENY && denial.clause_kinds == 0 &&
		    denial.exception_count == 0 &&
		    dead_covers(search->policy, search->rule, &denial.pattern, true))
			search->found = i + 1;
	}
}

static void dead_by_blocks(struct dead_search *search)
{
	const char *key = rules_key(search->policy, &search->rule->pattern);
	struct addr addr = { .family = (uint8_t)key[1] };

	memcpy(addr.bytes, key + 3, sizeof(addr.bytes));
	for (unsigned int bits = 0; bits <= (uint8_t)key[2]; bits++) {
		if (index_has_length(search->policy, addr.family, (uint8_t)bits))
			dead_chain(search, index_find_block(search->policy, &addr, (uint8_t)bits));
	}
}

static uint32_t dead_denial(const struct policy *policy, const struct rule *rule, size_t *looks)
{
	struct dead_search search = { policy, rule, looks, 0 };
	const struct pattern *pattern = &rule->pattern;
	struct index_hit hits[INDEX_HITS_MAX];
	size_t count = 0;

	dead_chain(&search, policy->index.any_head);
	if (pattern->kind == PATTERN_BLOCK)
		dead_by_blocks(&search);
	else if (pattern->kind != PATTERN_ANY)
		count = index_find_names(policy, rules_key(policy, pattern), pattern->key_len,
					 hits);
	for (size_t i = 0; i < count; i++)
		dead_chain(&search, hits[i].head);
	return search.found;
}

static const char *dead_rule(const struct policy *policy, const struct rule *rule, int64_t now)
{
	int64_t until = INT64_MAX;

	if (rule->clause_kinds & BIT(CLAUSE_UNTIL))
		until = clauses_until_of(policy, rule);
	if (until != INT64_MIN && until <= now)
		return "its `until` is in the past";
	if (dead_is_excepted(policy, rule))
		return "its exceptions leave nothing of it";
	return dead_host(policy, &rule->pattern);
}

static void dead_note(struct policy *policy, const struct rule *rule, const char *why)
{
	const struct source *source = &policy->sources[rule->source];
	struct spot spot = { source->name, rule->number, source->text + rule->line, rule->line_len,
			     0 };

	problems_note(&policy->notes, &spot, "this rule can never allow anything: %s", why);
}

void policy_note_dead(struct policy *policy, int64_t now)
{
	size_t looks = LOOKS_MAX;

	for (uint32_t i = 0; i < policy->rule_count; i++) {
		char text[sizeof("this denial applies to all of it: ") + POLICY_TEXT_MAX];
		char shown[POLICY_TEXT_MAX];
		struct rule rule, denial;

		rules_get(policy, i, &rule);
		if (rule.action == RULE_DENY || rule.action == RULE_ANSWER_DENY)
			continue;

		const char *why = dead_rule(policy, &rule, now);
		uint32_t number = why ? 0 : dead_denial(policy, &rule, &looks);

		if (number > 0) {
			rules_get(policy, number - 1, &denial);
			search_show(policy, &denial, shown);
			(void)snprintf(text, sizeof(text), "this denial applies to all of it: %s",
				       shown);
			why = text;
		}
		if (why)
			dead_note(policy, &rule, why);
	}
}
