/* ring: a queue of bytes with a limit; when it is full, the oldest bytes are dropped. */
#pragma once

#include <stddef.h>

/* Empty if zeroed, except @max. Memory grows with the content, up to @max. */
struct ring {
	size_t max;
	char *bytes; /* owned */
	size_t room, start, len;
};

/* Borrows @bytes. Returns how many bytes, of the oldest or of @bytes, were dropped. */
size_t ring_add(struct ring *ring, const char *bytes, size_t len);
/* All of it in one piece, borrowed until the next ring_add(); ring_drop() does not move it. */
const char *ring_peek(struct ring *ring);
void ring_drop(struct ring *ring, size_t len); /* drops the first @len, at most all */
void ring_done(struct ring *ring);
