/* output_spill: a whole stream in a file. A full disk ends the file but not the stream. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Zeroed, except as noted: nothing is written yet. */
struct output_spill {
	const char *dir;    /* kept; NULL: no spilling */
	const char *name;   /* kept; NULL: the file has no name */
	const char *suffix; /* of the name; kept */
	uint64_t max;
	int fd;         /* owned; set to -1 at the start */
	int error;      /* -errno: why the file is incomplete; never cleared */
	uint64_t bytes; /* in it */
};

/* Appends, and creates the file if there is none. Borrows @bytes. */
void output_spill_add(struct output_spill *spill, const char *bytes, size_t len);
void output_spill_done(struct output_spill *spill);
