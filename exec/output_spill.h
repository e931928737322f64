/* output_spill: a stream whole, in a file. A full disk ends the file and not the stream. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zeroed, but for what is said: nothing is written yet. */
struct output_spill {
	const char *dir;    /* kept; NULL: nowhere */
	const char *name;   /* kept; NULL: the file gets none */
	const char *suffix; /* of the name; kept */
	uint64_t max;
	int fd;         /* owned; -1 from the start */
	int error;      /* -errno: why the file is not whole; never cleared */
	uint64_t bytes; /* in it */
};

/* Appends, and makes the file first where there is none. Borrows @bytes. */
void output_spill_add(struct output_spill *spill, const char *bytes, size_t len);
void output_spill_done(struct output_spill *spill);
