#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/engine/asker_impl.h"
#include "policies/language/clauses_impl.h"
#include "policies/engine/request_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/engine/search_impl.h"
#include "policies/hosts/special_impl.h"
#include "policies/policies_tools.h"

static const char *const look_words[] = {
	[RULE_DENY] = "deny",
	[RULE_ASK] = "ask",
	[RULE_ALLOW] = "allow",
	[RULE_ANSWER_DENY] = "answer deny",
	[RULE_ANSWER_ALLOW] = "answer allow",
	[RULE_ONLY] = "only",
};

enum policy_protocol policy_rule_protocol(const struct policy *policy, uint32_t number)
{
	struct rule rule;

	rules_get_bare(policy, number - 1, &rule);
	return rule.pattern.protocol;
}

/* Matches one rule without the index, by direct comparison. */
static enum policy_match look_match(const struct policy *policy, const struct rule *rule,
				    const struct policy_facts *facts)
{
	struct addr literal = facts->dst.addr, embedded[SPECIAL_EMBEDDED_MAX];
	size_t count = 0;

	addr_unmap(&literal);
	struct search search = {
		.policy = policy,
		.target = { &facts->dst, literal.family ? &literal : NULL, facts->carries },
		.request = facts->request,
		.now = facts->now ? facts->now : policy->start,
		.asker = facts->asker,
		.is_explicit_only = policy_destination_is_loopback(&facts->dst),
	};

	if (match_host(policy, &rule->pattern, &search.target))
		return search_judge(&search, rule);
	if (literal.family != 0)
		count = special_embedded(&literal, embedded);
	search.is_tightening_only = true;
	for (size_t i = 0; i < count; i++) {
		search.target.addr = &embedded[i];
		if (match_host(policy, &rule->pattern, &search.target))
			return search_judge(&search, rule);
	}
	return POLICY_MATCH_NO;
}

/* Behind the comma that follows the name: when it was answered. */
static void look_when(const struct policy *policy, const struct rule *rule,
		      struct policy_rule_look *ret)
{
	const struct source *source = &policy->sources[rule->source];
	const char *end = source->text + rule->line + rule->line_len;
	const char *at = source->text + rule->by + rule->by_len;

	if (rule->by_len == 0 || at >= end || *at != ',')
		return;
	for (at++; at < end && *at == ' '; at++)
		;
	const char *comma = memchr(at, ',', (size_t)(end - at));

	(void)text_visible(ret->when, sizeof(ret->when), at, (size_t)((comma ? comma : end) - at));
}

/* The properties of a plain http request are unknown only if it is decided without them. */
static unsigned int look_not_enforced(const struct rule *rule, enum policy_match match)
{
	unsigned int kinds = clauses_conditions(rule) | clauses_bounds(rule);

	return match == POLICY_MATCH_NOT_ENFORCED ? kinds : kinds & ~REQUEST_CONDITIONS;
}

void policy_rule_look(const struct policy *policy, size_t number, const struct policy_facts *facts,
		      struct policy_rule_look *ret)
{
	struct rule plain;
	const struct rule *rule = &plain;

	rules_get(policy, (uint32_t)(number - 1), &plain);
	const struct source *source = &policy->sources[rule->source];
	int64_t until = clauses_until_of(policy, rule);

	*ret = (struct policy_rule_look){
		.word = look_words[rule->action],
		.layer = (enum policy_layer)source->layer,
		.is_answer = rule->action == RULE_ANSWER_DENY || rule->action == RULE_ANSWER_ALLOW,
		.until = until == INT64_MAX || until == INT64_MIN ? 0 : until,
		.match = facts ? look_match(policy, rule, facts) : POLICY_MATCH_NO,
	};
	search_show(policy, rule, ret->rule);
	(void)text_visible(ret->by, sizeof(ret->by), source->text + rule->by, rule->by_len);
	look_when(policy, rule, ret);
	clauses_text(look_not_enforced(rule, ret->match) | asker_not_enforced(policy, rule),
		     ret->not_enforced);
}
