/* diff_keys: a set of byte strings of one width, numbered in order of insertion. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_keys {
	uint8_t *bytes; /* key @i: @width bytes from i * @width */
	size_t width, count, room;
	uint32_t *slots; /* open addressing: numbers, or UINT32_MAX */
	size_t slot_count;
};

/* The number of @key, of keys->width bytes; it is added if missing. */
uint32_t diff_keys_put(struct diff_keys *keys, const void *key, bool *ret_is_new);
static inline const uint8_t *diff_keys_get(const struct diff_keys *keys, size_t number)
{
	return keys->bytes + number * keys->width;
}
void diff_keys_done(struct diff_keys *keys);
