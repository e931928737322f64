#include "exec/run/output_keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_ROOM 4096

static size_t add_head(struct output_keep *keep, const char *bytes, size_t len)
{
	size_t n = keep->head_max - keep->head_len;

	if (n > len)
		n = len;
	if (n == 0)
		return 0;
	if (keep->head_len + n > keep->head_room) {
		size_t room = keep->head_room ? keep->head_room : FIRST_ROOM;

		while (room < keep->head_len + n)
			room *= 2;
		keep->head_room = room < keep->head_max ? room : keep->head_max;
		keep->head = mem_grow(keep->head, keep->head_room, 1);
	}
	memcpy(keep->head + keep->head_len, bytes, n);
	keep->head_len += n;
	return n;
}

void output_keep_add(struct output_keep *keep, const char *bytes, size_t len)
{
	size_t n = add_head(keep, bytes, len);

	keep->omitted += ring_add(&keep->tail, bytes + n, len - n);
}

bool output_keep_overflows(const struct output_keep *keep, size_t len)
{
	return len > keep->head_max - keep->head_len + keep->tail.max - keep->tail.len;
}

void output_keep_done(struct output_keep *keep)
{
	free(keep->head);
	keep->head = NULL;
	keep->head_len = keep->head_room = 0;
	ring_done(&keep->tail);
}
