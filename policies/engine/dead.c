/* Rules that never allow or ask about any request. */
#include "policies/language/clauses_impl.h"
#include "policies/hosts/host_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/policies_tools.h"
#include "policies/language/problems_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/engine/search_impl.h"
#include "policies/hosts/special_impl.h"

#include <string.h>

#include "base/mem.h"

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
	return host_is_metadata(name) ? "cloud metadata is never reachable" : NULL;
}

static const char *dead_rule(const struct policy *policy, const struct rule *rule, int64_t now)
{
	int64_t until = INT64_MAX;

	if (rule->action == RULE_DENY || rule->action == RULE_ANSWER_DENY)
		return NULL;
	if (rule->clause_kinds & BIT(CLAUSE_UNTIL))
		until = clauses_until_of(policy, rule);
	if (until != INT64_MIN && until <= now)
		return "its `until` is in the past";
	return dead_host(policy, &rule->pattern);
}

void policy_note_dead(struct policy *policy, int64_t now)
{
	for (uint32_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get(policy, i, &rule);
		const char *why = dead_rule(policy, &rule, now);
		const struct source *source = &policy->sources[rule.source];
		struct spot spot = { source->name, rule.number, source->text + rule.line,
				     rule.line_len, 0 };

		if (why)
			problems_note(&policy->notes, &spot,
				      "this rule can never allow anything: %s", why);
	}
}
