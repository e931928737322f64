#include "policies/diff/diff_keys_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/engine/policy_impl.h"

#define KEYS_FREE UINT32_MAX

static size_t keys_slot(const struct diff_keys *keys, const uint8_t *key)
{
	uint64_t hash = 14695981039346656037ULL; /* FNV-1a */

	for (size_t i = 0; i < keys->width; i++)
		hash = (hash ^ key[i]) * 1099511628211ULL;
	size_t slot = (hash ^ hash >> 32) & (keys->slot_count - 1);

	while (keys->slots[slot] != KEYS_FREE &&
	       memcmp(diff_keys_get(keys, keys->slots[slot]), key, keys->width) != 0)
		slot = (slot + 1) & (keys->slot_count - 1);
	return slot;
}

static void keys_grow(struct diff_keys *keys)
{
	free(keys->slots);
	keys->slot_count = keys->slot_count ? keys->slot_count * 2 : 64;
	keys->slots = mem_new_array(keys->slot_count, sizeof(*keys->slots));
	memset(keys->slots, 0xff, keys->slot_count * sizeof(*keys->slots));
	for (size_t i = 0; i < keys->count; i++)
		keys->slots[keys_slot(keys, diff_keys_get(keys, i))] = (uint32_t)i;
}

uint32_t diff_keys_put(struct diff_keys *keys, const void *key, bool *ret_is_new)
{
	if (keys->count * 2 >= keys->slot_count)
		keys_grow(keys);
	size_t slot = keys_slot(keys, key);

	*ret_is_new = keys->slots[slot] == KEYS_FREE;
	if (!*ret_is_new)
		return keys->slots[slot];
	keys->bytes = mem_reserve(keys->bytes, &keys->room, (keys->count + 1) * keys->width, 1);
	memcpy(keys->bytes + keys->count * keys->width, key, keys->width);
	keys->slots[slot] = (uint32_t)keys->count;
	return (uint32_t)keys->count++;
}

void diff_keys_done(struct diff_keys *keys)
{
	free(keys->bytes);
	free(keys->slots);
	*keys = (struct diff_keys){ 0 };
}
