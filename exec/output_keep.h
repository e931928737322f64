/* output_keep: the first and the last bytes of a stream, however long it gets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/ring.h"

/* Zeroed, but for head_max and tail.max: empty. */
struct output_keep {
	size_t head_max, head_len, head_room;
	char *head; /* owned */
	struct ring tail;
	uint64_t omitted; /* bytes between the two that are gone */
};

/* Borrows @bytes. */
void output_keep_add(struct output_keep *keep, const char *bytes, size_t len);
/* Would @len more make a byte go? */
bool output_keep_overflows(const struct output_keep *keep, size_t len);
void output_keep_done(struct output_keep *keep);
