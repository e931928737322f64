#include "policies/engine/index_impl.h"
#include "policies/engine/rules_impl.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

#define INDEX_FREE      UINT32_MAX
#define INDEX_SLOTS_MIN 64U

/* The hash needs no secret: keys come from trusted policy files, and a requester can only look
 * up. */
static uint64_t index_hash(uint64_t hash, const char *bytes, size_t len)
{
	uint64_t word = 0;
	uint32_t low, high;

	hash = hash_mix(hash, len);
	for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = hash_mix(hash, word);
	}
	if (len >= sizeof(low)) {
		memcpy(&low, bytes, sizeof(low));
		memcpy(&high, bytes + len - sizeof(high), sizeof(high));
		return hash_mix(hash, low | (uint64_t)high << 32);
	}
	for (word = 0; len > 0; len--)
		word = word << 8 | (unsigned char)bytes[len - 1];
	return hash_mix(hash, word);
}

/* Hashes a name by its labels from the right, so that one walk gives the hash of every suffix. */
static uint64_t index_hash_key(const char *key, size_t len)
{
	uint64_t hash = 0;
	size_t end = len;

	if (len == PATTERN_BLOCK_KEY && key[0] == '\0')
		return index_hash(hash, key, len);
	for (size_t i = len; i-- > 0;) {
		if (key[i] != '.')
			continue;
		hash = index_hash(hash, key + i + 1, end - i - 1);
		end = i;
	}
	return index_hash(hash, key, end);
}

static uint32_t index_first(const struct index *index, uint64_t hash)
{
	return (uint32_t)((hash >> 32) * index->slot_count >> 32);
}

static uint32_t index_after(const struct index *index, uint32_t slot)
{
	return slot + 1 == index->slot_count ? 0 : slot + 1;
}

/* The part of a slot above the rule number: it distinguishes most other keys, so that their rules
 * need not be read. */
static uint32_t index_mark(const struct index *index, uint64_t hash)
{
	return (uint32_t)(hash & UINT32_MAX) & ~index->rule_mask;
}

static bool index_is_key(const struct policy *policy, uint32_t rule, const char *key, size_t len)
{
	const struct packed_rule *packed = &policy->rules[rule];

	if (packed->bits & RULE_WIDE) {
		const struct pattern *pattern = &policy->wides[packed->place].pattern;

		return pattern->key_len == len && memcmp(rules_key(policy, pattern), key, len) == 0;
	}
	const struct source *source = &policy->sources[packed->bits >> RULE_SOURCE_AT & 255];

	return (packed->bits & 255) == len && memcmp(source->text + packed->key, key, len) == 0;
}

/* Prefetches the cache line of the key, and the next one if the key may reach into it. */
static void index_fetch(const char *text, size_t len)
{
	__builtin_prefetch(text);
	__builtin_prefetch((const void *)((uintptr_t)text + len));
}

/* The slot that has @key, or the free one for it. There is always a free slot. */
static uint32_t index_slot(const struct policy *policy, uint64_t hash, const char *key, size_t len)
{
	const struct index *index = &policy->index;
	uint32_t slot = index_first(index, hash), mark = index_mark(index, hash);

	for (;; slot = index_after(index, slot)) {
		uint32_t held = policy->slots[slot].held;

		if (held == INDEX_FREE)
			return slot;
		if ((held & ~index->rule_mask) != mark)
			continue;
		if (policy->text)
			index_fetch(policy->text + policy->slots[slot].text, len);
		if (index_is_key(policy, held & index->rule_mask, key, len))
			return slot;
	}
}

static uint32_t index_find_hash(const struct policy *policy, uint64_t hash, const char *key,
				size_t len)
{
	if (policy->index.slot_count == 0)
		return RULE_NONE;
	uint32_t held = policy->slots[index_slot(policy, hash, key, len)].held;

	return held == INDEX_FREE ? RULE_NONE : held & policy->index.rule_mask;
}

static void index_note_length(struct index *index, const struct policy *policy,
			      const struct pattern *pattern)
{
	const unsigned char *key = (const unsigned char *)rules_key(policy, pattern);
	uint64_t bit = 1ULL << (pattern->key_len % 64);

	if (pattern->kind == PATTERN_BLOCK && key[1] == AF_INET) {
		index->v4_lengths |= 1ULL << key[2];
	} else if (pattern->kind == PATTERN_BLOCK) {
		index->v6_lengths[key[2] / 64] |= 1ULL << (key[2] % 64);
	} else {
		if (pattern->kind != PATTERN_BELOW)
			index->exact_lengths[pattern->key_len / 64] |= bit;
		if (pattern->kind != PATTERN_EXACT)
			index->below_lengths[pattern->key_len / 64] |= bit;
	}
}

static void index_add(struct policy *policy, uint32_t number)
{
	struct index *index = &policy->index;
	uint32_t *next = &policy->rules[number].next;
	struct rule rule;

	rules_get_bare(policy, number, &rule);
	policy->shared_weight += rule.exception_count + rule.clause_count;
	if (rule.pattern.kind == PATTERN_ANY) {
		policy->shared_weight++;
		*next = index->any_head;
		index->any_head = number;
		return;
	}
	const char *key = rules_key(policy, &rule.pattern);
	uint64_t hash = index_hash_key(key, rule.pattern.key_len);
	struct index_slot *slot =
		&policy->slots[index_slot(policy, hash, key, rule.pattern.key_len)];
	uint16_t source = rule.pattern.key_source;

	*next = slot->held == INDEX_FREE ? RULE_NONE : slot->held & index->rule_mask;
	policy->shared_weight += *next != RULE_NONE;
	slot->held = index_mark(index, hash) | number;
	slot->text = source > 0 ? policy->sources[source - 1].at + rule.pattern.key : 0;
	index_note_length(index, policy, &rule.pattern);
}

void index_build(struct policy *policy)
{
	uint32_t count = (uint32_t)policy->rule_count, at = 0;
	struct index index = { .any_head = RULE_NONE };

	if (policy->image)
		return;

	/* The highest number is reserved, so a used slot never looks free. */
	while (index.rule_mask <= count)
		index.rule_mask = index.rule_mask << 1 | 1;
	index.slot_count = count + count / 2 + INDEX_SLOTS_MIN;
	free(policy->slots);
	policy->slots = mem_grow(NULL, index.slot_count, sizeof(*policy->slots));
	memset(policy->slots, 0xff, index.slot_count * sizeof(*policy->slots));
	policy->index = index;
	policy->shared_weight = 0;
	for (size_t i = 0; i < policy->source_count; i++) {
		struct source *source = &policy->sources[i];

		source->at = at + (uint32_t)strlen(source->name) + 1;
		at = source->at + (uint32_t)source->len + 1;
	}
	for (uint32_t i = 0; i < count; i++)
		index_add(policy, i);
	policy->index.rule_count = count;
}

bool index_is_whole(const struct policy *policy)
{
	return policy->index.rule_count == policy->rule_count;
}

/* Chains are newest first, so the rule counted last is the first in the file. */
static uint32_t index_crowd(const struct policy *policy, uint32_t head)
{
	size_t weight = 0;

	for (uint32_t i = head; i != RULE_NONE; i = rules_next(policy, i)) {
		struct rule rule;

		rules_get_bare(policy, i, &rule);
		weight += 1U + rule.exception_count + rule.clause_count;
		if (weight > INDEX_HOST_MAX)
			return head + 1;
	}
	return 0;
}

uint32_t index_crowded(const struct policy *policy)
{
	uint32_t number;

	if (policy->shared_weight < INDEX_HOST_MAX)
		return 0;
	number = index_crowd(policy, policy->index.any_head);
	for (uint32_t i = 0; i < policy->index.slot_count && !number; i++) {
		uint32_t held = policy->slots[i].held;

		if (held != INDEX_FREE)
			number = index_crowd(policy, held & policy->index.rule_mask);
	}
	return number;
}

static bool index_has_bit(const uint64_t *bits, size_t at)
{
	return bits[at / 64] >> (at % 64) & 1;
}

/* Finds the dots of @host from the left, eight bytes at a time. Returns how many. */
static size_t index_dots(const char *host, size_t len, uint8_t ret[POLICY_HOST_MAX])
{
	const uint64_t ones = 0x0101010101010101ULL, high = ones << 7;
	size_t count = 0, at = 0;

	for (; at + sizeof(uint64_t) <= len; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, host + at, sizeof(word));
		word = le64toh(word) ^ ones * '.';
		/* Sets the high bit of each byte that was a dot, and no other bit. */
		word = ~(((word & ~high) + ~high) | word) & high;
		for (; word != 0; word &= word - 1)
			ret[count++] = (uint8_t)(at + (size_t)__builtin_ctzll(word) / 8);
	}
	for (; at < len; at++) {
		ret[count] = (uint8_t)at;
		count += host[at] == '.';
	}
	return count;
}

size_t index_find_names(const struct policy *policy, const char *host, size_t len,
			struct index_hit ret[INDEX_HITS_MAX])
{
	const struct index *index = &policy->index;
	uint8_t dots[POLICY_HOST_MAX];
	uint64_t hashes[INDEX_HITS_MAX], hash = 0;
	size_t count = 0, found = 0, end = len, left = index_dots(host, len, dots) + 1;

	while (left-- > 0) {
		size_t i = left > 0 ? dots[left - 1] + 1U : 0;

		hash = index_hash(hash, host + i, end - i);
		end = i > 0 ? i - 1 : 0;
		if (!index_has_bit(i == 0 ? index->exact_lengths : index->below_lengths, len - i))
			continue;
		/* All at once: each is in another cache line, which is not cached yet. */
		__builtin_prefetch(&policy->slots[index_first(index, hash)]);
		hashes[count] = hash;
		ret[count++].at = (uint32_t)i;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t at = ret[i].at;
		uint32_t head = index_find_hash(policy, hashes[i], host + at, len - at);

		if (head != RULE_NONE)
			ret[found++] = (struct index_hit){ head, at };
	}
	return found;
}

void index_block_key(const struct addr *addr, uint8_t bits, char ret[PATTERN_BLOCK_KEY])
{
	size_t whole = bits / 8;

	ret[0] = '\0';
	ret[1] = (char)addr->family;
	ret[2] = (char)bits;
	memset(ret + 3, 0, sizeof(addr->bytes));
	memcpy(ret + 3, addr->bytes, whole);
	if (bits % 8)
		ret[3 + whole] = (char)(addr->bytes[whole] & (0xff00U >> bits % 8));
}

bool index_has_length(const struct policy *policy, uint8_t family, uint8_t bits)
{
	return index_has_bit(
		family == AF_INET ? &policy->index.v4_lengths : policy->index.v6_lengths, bits);
}

uint32_t index_find_block(const struct policy *policy, const struct addr *addr, uint8_t bits)
{
	char key[PATTERN_BLOCK_KEY];

	index_block_key(addr, bits, key);
	return index_find_hash(policy, index_hash_key(key, sizeof(key)), key, sizeof(key));
}
