#include "gateway/link/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/mem.h"

#define KEYS_FIRST_SIZE 64

void keys_init(struct key_table *table)
{
	*table = (struct key_table){ 0 };
	/* If it fails, the seed stays weak; this is acceptable, because the number of entries from
	 * outside is limited. */
	(void)!getrandom(&table->seed, sizeof(table->seed), GRND_NONBLOCK);
}

void keys_done(struct key_table *table)
{
	free(table->buckets);
	table->buckets = NULL;
	table->size = table->count = 0;
}

static uint64_t keys_hash(const struct key_table *table, uint64_t number,
			  const struct policy_destination *dst)
{
	uint64_t hash = hash_mix(table->seed, number);
	size_t len = dst ? strnlen(dst->host, sizeof(dst->host)) : 0;

	for (size_t at = 0; at < len; at += sizeof(uint64_t)) {
		uint64_t piece = 0;

		memcpy(&piece, dst->host + at, len - at < sizeof(piece) ? len - at : sizeof(piece));
		hash = hash_mix(hash, piece);
	}
	return dst ? hash_mix(hash, (uint64_t)dst->port << 8 | dst->protocol) : hash;
}

struct key_node *keys_find(const struct key_table *table, uint64_t number,
			   const struct policy_destination *dst)
{
	if (table->count == 0)
		return NULL;
	uint64_t hash = keys_hash(table, number, dst);
	struct key_node *node = table->buckets[hash & (table->size - 1)];

	for (; node; node = node->next) {
		if (node->hash != hash || node->number != number || !node->dst != !dst)
			continue;
		if (!dst || policy_destination_equal(node->dst, dst))
			return node;
	}
	return NULL;
}

static void keys_grow(struct key_table *table)
{
	size_t size = table->size ? table->size * 2 : KEYS_FIRST_SIZE;
	struct key_node **buckets = mem_new_array(size, sizeof(struct key_node *));

	for (size_t i = 0; i < table->size; i++) {
		struct key_node *node = table->buckets[i], *next;

		for (; node; node = next) {
			struct key_node **bucket = &buckets[node->hash & (size - 1)];

			next = node->next;
			node->next = *bucket;
			*bucket = node;
		}
	}
	free(table->buckets);
	table->buckets = buckets;
	table->size = size;
}

void keys_add(struct key_table *table, struct key_node *node, uint64_t number,
	      const struct policy_destination *dst)
{
	if (table->count >= table->size)
		keys_grow(table);
	node->number = number;
	node->dst = dst;
	node->hash = keys_hash(table, number, dst);
	struct key_node **bucket = &table->buckets[node->hash & (table->size - 1)];

	node->next = *bucket;
	*bucket = node;
	table->count++;
}

void keys_remove(struct key_table *table, struct key_node *node)
{
	struct key_node **at = &table->buckets[node->hash & (table->size - 1)];

	while (*at != node) {
		assert(*at);
		at = &(*at)->next;
	}
	*at = node->next;
	table->count--;
}

struct key_node *keys_pop(struct key_table *table)
{
	for (size_t i = 0; i < table->size && table->count > 0; i++) {
		struct key_node *node = table->buckets[i];

		if (!node)
			continue;
		table->buckets[i] = node->next;
		table->count--;
		return node;
	}
	return NULL;
}
