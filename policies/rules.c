#include <string.h>

#include "base/mem.h"
#include "policies/policy_impl.h"

#define RULES_SLOTS_MIN 64U

void *rules_reserve(void *array, size_t *room, size_t count, size_t size)
{
	if (count <= *room)
		return array;
	size_t want = *room ? *room : 16;

	while (want < count)
		want *= 2;
	*room = want;
	return mem_grow(array, want, size);
}

uint32_t rules_add_name(struct policy *policy, const char *bytes, size_t len)
{
	size_t at = policy->names_len;

	policy->names = rules_reserve(policy->names, &policy->names_room, at + len + 1, 1);
	memcpy(policy->names + at, bytes, len);
	policy->names[at + len] = '\0';
	policy->names_len = at + len + 1;
	return (uint32_t)at;
}

/* FNV-1a. The keys come from policy files, which are trusted; whoever asks can only look up. */
static uint32_t rules_hash(const char *key, size_t len)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)key[i]) * 16777619U;
	return hash ^ hash >> 15;
}

/* The slot that has @key, or the free one where it belongs. There is always a free one. */
static size_t rules_slot(const struct policy *policy, const char *key, size_t len)
{
	size_t mask = policy->slot_count - 1;
	size_t slot = rules_hash(key, len) & mask;

	for (; policy->slots[slot] != RULE_NONE; slot = (slot + 1) & mask) {
		const struct pattern *pattern = &policy->rules[policy->slots[slot]].pattern;

		if (pattern->key_len == len && memcmp(policy->names + pattern->key, key, len) == 0)
			break;
	}
	return slot;
}

static void rules_grow_index(struct policy *policy)
{
	auto_free uint32_t *old = policy->slots;
	size_t old_count = policy->slot_count;

	policy->slot_count = old_count ? old_count * 2 : RULES_SLOTS_MIN;
	policy->slots = mem_new_array(policy->slot_count, sizeof(*policy->slots));
	memset(policy->slots, 0xff, policy->slot_count * sizeof(*policy->slots));
	for (size_t i = 0; i < old_count; i++) {
		if (old[i] == RULE_NONE)
			continue;
		const struct pattern *pattern = &policy->rules[old[i]].pattern;

		policy->slots[rules_slot(policy, policy->names + pattern->key, pattern->key_len)] =
			old[i];
	}
}

static void rules_note_length(struct policy *policy, const struct pattern *pattern)
{
	const unsigned char *key = (const unsigned char *)policy->names + pattern->key;

	if (key[1] == AF_INET)
		policy->v4_lengths |= 1ULL << key[2];
	else
		policy->v6_lengths[key[2] / 64] |= 1ULL << (key[2] % 64);
}

void rules_add(struct policy *policy, const struct rule *rule)
{
	uint32_t index = (uint32_t)policy->rule_count;
	uint32_t *head = &policy->any_head;

	policy->rules = rules_reserve(policy->rules, &policy->rule_room, policy->rule_count + 1,
				      sizeof(*policy->rules));
	policy->rules[index] = *rule;
	policy->rule_count++;
	if (rule->pattern.kind == PATTERN_BLOCK)
		rules_note_length(policy, &rule->pattern);
	if (rule->pattern.kind != PATTERN_ANY) {
		if (policy->slot_used * 2 >= policy->slot_count)
			rules_grow_index(policy);
		head = &policy->slots[rules_slot(policy, policy->names + rule->pattern.key,
						 rule->pattern.key_len)];
		if (*head == RULE_NONE)
			policy->slot_used++;
	}
	policy->rules[index].next = *head;
	*head = index;
}

uint32_t rules_find(const struct policy *policy, const char *key, size_t len)
{
	return policy->slot_count ? policy->slots[rules_slot(policy, key, len)] : RULE_NONE;
}

void rules_block_key(const struct addr *addr, uint8_t bits, char ret[PATTERN_BLOCK_KEY])
{
	ret[0] = '\0';
	ret[1] = (char)addr->family;
	ret[2] = (char)bits;
	memcpy(ret + 3, addr->bytes, sizeof(addr->bytes));
	for (size_t i = bits / 8; i < sizeof(addr->bytes); i++) {
		unsigned int kept = i == bits / 8 ? bits % 8 : 0;

		ret[3 + i] = (char)((unsigned char)ret[3 + i] & (0xff00U >> kept));
	}
}

bool rules_has_length(const struct policy *policy, uint8_t family, uint8_t bits)
{
	if (family == AF_INET)
		return policy->v4_lengths >> bits & 1;
	return policy->v6_lengths[bits / 64] >> (bits % 64) & 1;
}

uint32_t rules_find_block(const struct policy *policy, const struct addr *addr, uint8_t bits)
{
	char key[PATTERN_BLOCK_KEY];

	rules_block_key(addr, bits, key);
	return rules_find(policy, key, sizeof(key));
}
