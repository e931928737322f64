/* tally: rows found by their key, up to a number: what a report counts in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tally {
	size_t row_bytes, max;
	void *tree;
	struct tally_row *last;
	size_t count;
	bool is_full; /* a row was refused */
};
struct tally_row {
	char *key;
	_Alignas(16) char data[];
};

void tally_init(struct tally *tally, size_t row_bytes, size_t max);
/* The row of @key, made zeroed if there is none. NULL: there are @max others. */
void *tally_at(struct tally *tally, const char *key);
void *tally_find(struct tally *tally, const char *key); /* NULL: there is none */
const char *tally_key(const void *row);
/* All rows, sorted by their keys: an owned array of borrowed rows. */
void **tally_rows(const struct tally *tally);
/* @forget, or NULL, frees what a row owns. */
void tally_done(struct tally *tally, void (*forget)(void *row));
