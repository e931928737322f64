/* output_keep: the first and the last bytes of a stream of any length. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/run/ring.h"

/* Empty if zeroed, except head_max and tail.max. */
struct output_keep {
	size_t head_max, head_len, head_room;
	char *head; /* owned */
	struct ring tail;
	uint64_t omitted; /* bytes dropped between the two */
};

/* Borrows @bytes. */
void output_keep_add(struct output_keep *keep, const char *bytes, size_t len);
/* Would adding @len bytes drop any? */
bool output_keep_overflows(const struct output_keep *keep, size_t len);
void output_keep_done(struct output_keep *keep);
