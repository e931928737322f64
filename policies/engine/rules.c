#include "policies/engine/rules_impl.h"

#include <string.h>

#include "base/mem.h"

/* The predefined port lists. */
static const struct {
	uint32_t ports;
	uint16_t count;
} rules_ports[] = {
	{ POLICY_PORTS_HTTP, 2 }, /* 80 and 443 */
	{ POLICY_PORTS_HTTP, 1 },
	{ POLICY_PORTS_HTTPS, 1 },
	{ POLICY_PORTS_ALL, 1 },
};

uint32_t rules_add_name(struct policy *policy, const char *bytes, size_t len)
{
	size_t at = policy->names_len;

	policy->names = mem_reserve(policy->names, &policy->names_room, at + len + 1, 1);
	memcpy(policy->names + at, bytes, len);
	policy->names[at + len] = '\0';
	policy->names_len = at + len + 1;
	return (uint32_t)at;
}

const char *rules_key(const struct policy *policy, const struct pattern *pattern)
{
	if (pattern->key_source == 0)
		return policy->names + pattern->key;
	return policy->sources[pattern->key_source - 1].text + pattern->key;
}

static bool rules_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The line around @at, without surrounding blanks. */
static void rules_place(const struct source *source, uint32_t at, struct rule *ret)
{
	uint32_t first = at, last;

	while (first > 0 && source->text[first - 1] != '\n')
		first--;
	while (first < at && rules_is_blank(source->text[first]))
		first++;
	const char *end = memchr(source->text + at, '\n', source->len - at);

	last = end ? (uint32_t)(end - source->text) : (uint32_t)source->len;
	while (last > at && rules_is_blank(source->text[last - 1]))
		last--;
	ret->line = first;
	ret->line_len = last - first;
}

static void rules_unpack(const struct packed_rule *packed, struct rule *ret)
{
	uint32_t bits = packed->bits, ports = bits >> RULE_PORTS_AT & 3;

	memset(ret, 0, sizeof(*ret));
	ret->source = bits >> RULE_SOURCE_AT & 255;
	ret->number = packed->place;
	ret->action = bits >> RULE_ACTION_AT & 7;
	ret->is_private = bits & RULE_PRIVATE;
	ret->is_broad = bits & RULE_BROAD;
	ret->pattern.key = packed->key;
	ret->pattern.key_source = (uint16_t)(ret->source + 1);
	ret->pattern.key_len = bits & 255;
	ret->pattern.kind = bits >> RULE_KIND_AT & 7;
	ret->pattern.protocol = bits >> RULE_PROTOCOL_AT & 7;
	ret->pattern.ports = rules_ports[ports].ports;
	ret->pattern.port_count = rules_ports[ports].count;
	ret->pattern.has_ports = bits & RULE_HAS_PORTS;
}

/* A position of the key in the rule's own line, or RULE_NONE. */
static uint32_t rules_key_in_line(const struct policy *policy, const struct rule *rule)
{
	const struct pattern *pattern = &rule->pattern;
	const char *text = policy->sources[rule->source].text;

	if (pattern->key_len == 0)
		return rule->line;
	const char *found = memmem(text + rule->line, rule->line_len, rules_key(policy, pattern),
				   pattern->key_len);

	return found ? (uint32_t)(found - text) : RULE_NONE;
}

static uint32_t rules_bits(const struct rule *rule)
{
	const struct pattern *pattern = &rule->pattern;
	uint32_t ports = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(rules_ports); i++) {
		if (rules_ports[i].ports == pattern->ports &&
		    rules_ports[i].count == pattern->port_count)
			ports = i;
	}
	return pattern->key_len | (rule->source & 255) << RULE_SOURCE_AT |
	       (uint32_t)pattern->kind << RULE_KIND_AT | (uint32_t)rule->action << RULE_ACTION_AT |
	       (uint32_t)pattern->protocol << RULE_PROTOCOL_AT | ports << RULE_PORTS_AT |
	       (rule->is_private ? RULE_PRIVATE : 0) | (rule->is_broad ? RULE_BROAD : 0) |
	       (pattern->has_ports ? RULE_HAS_PORTS : 0);
}

/* Packs @rule narrowly if unpacking gives the same rule: so no field can be lost, also not a new
 * one. */
static bool rules_pack(const struct policy *policy, const struct rule *rule,
		       struct packed_rule *ret)
{
	struct rule back;
	uint32_t key = rules_key_in_line(policy, rule);

	if (key == RULE_NONE)
		return false;
	*ret = (struct packed_rule){ key, RULE_NONE, rule->number, rules_bits(rule) };
	rules_unpack(ret, &back);
	rules_place(&policy->sources[back.source], key, &back);
	back.pattern.key = rule->pattern.key;
	back.pattern.key_source = rule->pattern.key_source;
	return memcmp(&back, rule, sizeof(back)) == 0;
}

/* Removes the last name that was added. */
static void rules_drop_name(struct policy *policy, const struct pattern *pattern)
{
	if (pattern->key_source == 0 && pattern->key > 0 &&
	    pattern->key + pattern->key_len + 1U == policy->names_len)
		policy->names_len = pattern->key;
}

void rules_add(struct policy *policy, const struct rule *rule)
{
	struct rule plain = *rule;
	struct packed_rule packed;

	/* The start of an empty list has no meaning. */
	plain.exceptions = plain.exception_count > 0 ? plain.exceptions : 0;
	plain.clauses = plain.clause_count > 0 ? plain.clauses : 0;
	policy->rules = mem_reserve(policy->rules, &policy->rule_room, policy->rule_count + 1,
				    sizeof(*policy->rules));
	if (rules_pack(policy, &plain, &packed)) {
		rules_drop_name(policy, &plain.pattern);
	} else {
		policy->wides = mem_reserve(policy->wides, &policy->wide_room,
					    policy->wide_count + 1, sizeof(*policy->wides));
		packed = (struct packed_rule){ 0, RULE_NONE, (uint32_t)policy->wide_count,
					       RULE_WIDE };
		policy->wides[policy->wide_count++] = plain;
	}
	policy->rules[policy->rule_count++] = packed;
}

void rules_get_bare(const struct policy *policy, uint32_t index, struct rule *ret)
{
	const struct packed_rule *packed = &policy->rules[index];

	if (packed->bits & RULE_WIDE)
		*ret = policy->wides[packed->place];
	else
		rules_unpack(packed, ret);
}

void rules_get(const struct policy *policy, uint32_t index, struct rule *ret)
{
	const struct packed_rule *packed = &policy->rules[index];

	rules_get_bare(policy, index, ret);
	if (!(packed->bits & RULE_WIDE))
		rules_place(&policy->sources[ret->source], packed->key, ret);
}

uint32_t rules_next(const struct policy *policy, uint32_t index)
{
	return policy->rules[index].next;
}

bool policy_wants_udp(const struct policy *policy)
{
	for (uint32_t i = 0; i < policy->rule_count; i++) {
		struct rule rule;

		rules_get_bare(policy, i, &rule);
		if (rule.pattern.protocol == POLICY_UDP &&
		    (rule.action == RULE_ALLOW || rule.action == RULE_ASK))
			return true;
	}
	return false;
}
