/* piece: bytes that are told as they come, so that no character is torn: what a read has cut off of
 * one waits for the rest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* Zeroed: nothing waits. */
struct piece {
	char bytes[TEXT_TORN_MAX];
	size_t len;
};
/* What waited and @bytes, but for the begin of a character at their end, which waits from now on;
 * @is_last: all of it. Returned owned, *@ret_len bytes. */
char *piece_join(struct piece *piece, const char *bytes, size_t len, bool is_last, size_t *ret_len);
