#include "policies/engine/search_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/engine/asker_impl.h"
#include "policies/language/clauses_impl.h"
#include "policies/files/layers_impl.h"
#include "policies/engine/request_impl.h"
#include "policies/engine/index_impl.h"
#include "policies/engine/rules_impl.h"
#include "policies/hosts/special_impl.h"
#include "policies/policies_tools.h"

/* Does @rule loosen: is it an allow or `only`? */
static bool search_loosens(const struct rule *rule)
{
	return rule->action == RULE_ALLOW || rule->action == RULE_ANSWER_ALLOW ||
	       rule->action == RULE_ONLY;
}

/* An exception without ports or protocol uses those of its rule. Where the rule loosens, it applies
 * widely, also to embedded addresses; where the rule tightens, it applies only if it covers
 * everything the request may do. So an uncertain exception never opens access. */
static bool search_excepts(const struct search *search, const struct rule *rule,
			   const struct pattern *exception, const struct addr *addr)
{
	const struct pattern_target target = { search->target.dst, addr, search->target.carries };
	uint16_t port = target.dst->port;

	if (!match_host(search->policy, exception, &target))
		return false;
	if (exception->has_ports && !ports_has(search->policy, exception, port))
		return false;
	if (search_loosens(rule))
		return match_touches(exception, target.carries);
	return exception->protocol == POLICY_NO_PROTOCOL ||
	       match_covers(exception, port, target.carries);
}

static bool search_is_excepted(const struct search *search, const struct rule *rule)
{
	struct addr embedded[SPECIAL_EMBEDDED_MAX];
	size_t count = 0;

	if (search->target.addr && search_loosens(rule))
		count = special_embedded(search->target.addr, embedded);
	for (uint32_t i = 0; i < rule->exception_count; i++) {
		const struct pattern *exception = &search->policy->exceptions[rule->exceptions + i];

		if (search_excepts(search, rule, exception, search->target.addr))
			return true;
		for (size_t j = 0; j < count; j++) {
			if (search_excepts(search, rule, exception, &embedded[j]))
				return true;
		}
	}
	return false;
}

bool search_says_private(const struct search *search, const struct rule *rule)
{
	return rule->is_private || (rule->pattern.kind == PATTERN_BLOCK &&
				    match_is_explicit(search->policy, &rule->pattern));
}

/* How much an allow permits: the audit shows the most permissive rule. */
static uint8_t search_weight(const struct search *search, const struct rule *rule)
{
	if (!search_loosens(rule))
		return 0;
	return (uint8_t)((clauses_budgets(rule) ? 0 : 4) +
			 (rule->pattern.protocol == POLICY_TCP ? 2 : 0) +
			 (search_says_private(search, rule) ? 1 : 0));
}

static bool search_has_end(const struct rule *rule)
{
	return rule->clause_kinds & (BIT(CLAUSE_FOR) | BIT(CLAUSE_UNTIL));
}

static bool search_is_bounded(const struct rule *rule)
{
	return rule->clause_kinds != 0 &&
	       (search_loosens(rule) ? clauses_budgets(rule) || search_has_end(rule)
				     : rule->action == RULE_ASK && clauses_budgets(rule));
}

static void search_note(struct search *search, const struct rule *rule, uint32_t number)
{
	bool is_bounded = search_is_bounded(rule);
	uint32_t *best = is_bounded ? &search->bounded[rule->action] : &search->best[rule->action];
	uint8_t weight = search_weight(search, rule);
	uint8_t *best_weight = is_bounded ? &search->bounded_weights[rule->action]
					  : &search->weights[rule->action];

	if (!is_bounded || rule->action == RULE_ASK) {
		search->is_private[rule->action] |= search_says_private(search, rule);
		search->is_tcp[rule->action] |= rule->pattern.protocol == POLICY_TCP;
	}
	if (*best && (weight < *best_weight || (weight == *best_weight && *best < number)))
		return;
	*best = number;
	*best_weight = weight;
}

static bool search_is_over(const struct search *search, const struct rule *rule)
{
	if (!search_has_end(rule))
		return false;
	int64_t until = clauses_until_of(search->policy, rule);

	/* An unknown time never opens access, and never ends a denial. */
	if (search->now <= 0 || until == INT64_MIN)
		return search_loosens(rule);
	return search->now >= until;
}

/* It was met when the request was decided; the request is not available any more. */
static bool search_is_by(const struct search *search, const struct rule *rule)
{
	char shown[POLICY_TEXT_MAX];

	if (!search->by)
		return false;
	search_show(search->policy, rule, shown);
	return strcmp(shown, search->by) == 0;
}

/* An unknown requester never opens access, and never ends a denial. */
static bool search_is_asker_met(const struct search *search, const struct rule *rule)
{
	bool loosens = search_loosens(rule);

	switch (asker_judge(search->policy, rule, search->asker, loosens)) {
	case ASKER_YES:
		return true;
	case ASKER_UNKNOWN:
		return !loosens || asker_not_enforced(search->policy, rule) ||
		       search_is_by(search, rule);
	case ASKER_NO:
	default:
		return false;
	}
}

/* A condition that cannot be evaluated counts as met if the rule tightens. A limit that cannot be
 * enforced disables a rule that asks, too: the person who answers would rely on it. */
static enum policy_match search_conditions(const struct search *search, const struct rule *rule)
{
	bool loosens = search_loosens(rule);
	unsigned int others = clauses_conditions(rule) & ~REQUEST_CONDITIONS;
	enum request_match match = request_meets(search->policy, rule, search->request, loosens);

	others |= asker_not_enforced(search->policy, rule);
	if (match == REQUEST_UNMET || !search_is_asker_met(search, rule))
		return POLICY_MATCH_NO;
	if (clauses_bounds(rule) || (loosens && others))
		return POLICY_MATCH_NOT_ENFORCED;
	if (match == REQUEST_MET || !loosens)
		return POLICY_MATCHES;
	return search_is_by(search, rule) ? POLICY_MATCHES : POLICY_MATCH_NOT_ENFORCED;
}

/* By its protocol. */
static bool search_is_about(const struct search *search, const struct rule *rule)
{
	enum policy_protocol carries = search->target.carries;

	if (search_loosens(rule))
		return match_covers(&rule->pattern, search->target.dst->port, carries);
	return rule->action == RULE_ASK ? match_asks(&rule->pattern, carries)
					: match_touches(&rule->pattern, carries);
}

enum policy_match search_judge(const struct search *search, const struct rule *rule)
{
	const struct policy *policy = search->policy;
	const struct pattern *pattern = &rule->pattern;
	uint16_t port = search->target.dst->port;

	if (search->is_tightening_only && search_loosens(rule))
		return POLICY_MATCH_NO;
	if (search->is_explicit_only && rule->action != RULE_DENY &&
	    !match_is_explicit(policy, pattern))
		return POLICY_MATCH_NO;
	if (!ports_has(policy, pattern, port))
		return POLICY_MATCH_NO;
	if (!search_is_about(search, rule))
		return POLICY_MATCH_NO;
	if (search_is_excepted(search, rule))
		return POLICY_MATCH_NO;
	if (rule->action != RULE_DENY && rule->action != RULE_ASK &&
	    !layers_may_loosen(policy, rule->source))
		return POLICY_MATCH_UNTRUSTED;
	if (rule->clause_kinds == 0)
		return POLICY_MATCHES;
	enum policy_match match = search_conditions(search, rule);

	return match != POLICY_MATCH_NO && search_is_over(search, rule) ? POLICY_MATCH_EXPIRED
									: match;
}

static void search_consider(struct search *search, const struct rule *rule, uint32_t number)
{
	uint32_t *not_enforced = &search->not_enforced[rule->action];
	uint32_t *expired = &search->expired[rule->action];
	enum policy_match match = search_judge(search, rule);

	if (match == POLICY_MATCHES)
		search_note(search, rule, number);
	else if (match == POLICY_MATCH_NOT_ENFORCED && (!*not_enforced || number < *not_enforced))
		*not_enforced = number;
	else if (match == POLICY_MATCH_EXPIRED && search->now > 0 &&
		 clauses_until_of(search->policy, rule) != INT64_MIN &&
		 (!*expired || number < *expired))
		*expired = number;
}

static void search_chain(struct search *search, uint32_t head)
{
	for (uint32_t i = head; i != RULE_NONE; i = rules_next(search->policy, i)) {
		struct rule rule;

		rules_get_bare(search->policy, i, &rule);
		search_consider(search, &rule, i + 1);
	}
}

void search_any(struct search *search)
{
	search_chain(search, search->policy->index.any_head);
}

void search_name(struct search *search)
{
	const struct policy *policy = search->policy;
	const char *host = search->target.dst->host;
	struct index_hit hits[INDEX_HITS_MAX];
	size_t count = index_find_names(policy, host, strnlen(host, POLICY_HOST_MAX), hits);

	for (size_t j = 0; j < count; j++) {
		for (uint32_t i = hits[j].head; i != RULE_NONE; i = rules_next(policy, i)) {
			struct rule rule;

			rules_get_bare(policy, i, &rule);
			if (rule.pattern.kind == PATTERN_TREE ||
			    (rule.pattern.kind == PATTERN_EXACT) == (hits[j].at == 0))
				search_consider(search, &rule, i + 1);
		}
	}
}

static void search_blocks(struct search *search, const struct addr *addr)
{
	unsigned int widest = addr->family == AF_INET ? 32 : 128;

	for (unsigned int bits = 0; bits <= widest; bits++) {
		if (index_has_length(search->policy, addr->family, (uint8_t)bits))
			search_chain(search, index_find_block(search->policy, addr, (uint8_t)bits));
	}
}

void search_address(struct search *search)
{
	const struct addr *addr = search->target.addr;
	struct addr embedded[SPECIAL_EMBEDDED_MAX];
	size_t count = special_embedded(addr, embedded);
	bool was_tightening_only = search->is_tightening_only;

	search_blocks(search, addr);
	search->is_tightening_only = true;
	for (size_t i = 0; i < count; i++) {
		search->target.addr = &embedded[i];
		search_blocks(search, &embedded[i]);
	}
	search->target.addr = addr;
	search->is_tightening_only = was_tightening_only;
}

/* Is it printable ASCII without a backslash, which text_visible() does not change? */
static bool search_is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x20 || text[i] >= 0x7f || text[i] == '\\')
			return false;
	}
	return true;
}

/* Writes ":NUMBER: " behind the name; returns its length. */
static size_t search_number(uint32_t number, char out[16])
{
	char digits[16];
	size_t at = sizeof(digits), len;

	digits[--at] = ' ';
	digits[--at] = ':';
	do
		digits[--at] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	digits[--at] = ':';
	len = sizeof(digits) - at;
	memcpy(out, digits + at, len);
	return len;
}

/* Formatted by hand: this is most of the time of a decision, and printf would double it. */
void search_show(const struct policy *policy, const struct rule *rule, char out[POLICY_TEXT_MAX])
{
	const struct source *source = &policy->sources[rule->source];
	const char *line = source->text + rule->line;
	size_t name_len = strlen(source->name);
	char number[16];
	size_t number_len = search_number(rule->number, number), head = name_len + number_len;

	if (head >= POLICY_TEXT_MAX) {
		(void)snprintf(out, POLICY_TEXT_MAX, "%s:%u: ", source->name, rule->number);
		return;
	}
	memcpy(out, source->name, name_len);
	memcpy(out + name_len, number, number_len);
	if (head + rule->line_len >= POLICY_TEXT_MAX || !search_is_plain(line, rule->line_len)) {
		(void)text_visible(out + head, POLICY_TEXT_MAX - head, line, rule->line_len);
		return;
	}
	memcpy(out + head, line, rule->line_len);
	out[head + rule->line_len] = '\0';
}
