/* piece: splits bytes that are sent as they arrive at character boundaries: the first part of a
 * character waits for its rest. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Zeroed: nothing waits. */
struct piece {
	char bytes[TEXT_TORN_MAX];
	size_t len;
};
/* The bytes that waited and @bytes, without an incomplete character at their end, which waits from
 * now on; @is_last: with it. Returned owned, *@ret_len bytes. */
char *piece_join(struct piece *piece, const char *bytes, size_t len, bool is_last, size_t *ret_len);
/* As a text of JSON, owned: each byte that is not part of a character is replaced by U+FFFD. */
json_t *piece_text(const char *bytes, size_t len);
