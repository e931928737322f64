/* diff_keys: byte strings of one width, each once, numbered in the order they came. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_keys {
	uint8_t *bytes; /* key @i: @width of them from i * @width */
	size_t width, count, room;
	uint32_t *slots; /* open addressing: numbers, or UINT32_MAX */
	size_t slot_count;
};

/* The number of @key, of keys->width bytes; it is kept if it was not there. */
uint32_t diff_keys_put(struct diff_keys *keys, const void *key, bool *ret_is_new);
static inline const uint8_t *diff_keys_get(const struct diff_keys *keys, size_t number)
{
	return keys->bytes + number * keys->width;
}
void diff_keys_done(struct diff_keys *keys);

/* Kinds of things that conditions tell apart: what each condition says of them, and one of them. */
struct diff_kinds {
	struct diff_keys says;
	char **texts; /* owned; NULL: not known */
	size_t text_room;
};

/* Takes @text; a kind that is there stays as it is. True: it is new. */
bool diff_keys_add_kind(struct diff_kinds *kinds, const void *says, char *text);
void diff_keys_done_kinds(struct diff_kinds *kinds);
