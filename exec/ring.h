/* ring: a queue of bytes with a limit; what is too much pushes the oldest out. */
#pragma once

#include <stddef.h>

/* Zeroed, but for @max: empty. Memory grows with what comes, up to @max. */
struct ring {
	size_t max;
	char *bytes; /* owned */
	size_t room, start, len;
};

/* Borrows @bytes. Returns how many, of the oldest or of @bytes, had to go. */
size_t ring_add(struct ring *ring, const char *bytes, size_t len);
/* All of it in one piece, borrowed until the next ring_add(); that ring_drop() leaves alone. */
const char *ring_peek(struct ring *ring);
void ring_drop(struct ring *ring, size_t len); /* the first @len, at most all */
void ring_done(struct ring *ring);
