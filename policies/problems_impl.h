/* problems: what is wrong with policy files, in compiler form. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct policy;

#define POLICY_PROBLEMS_MAX 128U /* shown; the rest are counted */
#define POLICY_ERRORS_MAX   100U /* no file is read on behind so many */

struct problems {
	char *text;
	size_t len, room;
	size_t shown_len; /* of the text without its last line, the count */
	size_t count;
	bool is_over; /* it has been said that no more is read */
};

/* Where in a file something is wrong. @text may be NULL: no line to show. */
struct spot {
	const char *file; /* visible */
	size_t number;    /* of the line, from 1; 0: the file as a whole */
	const char *text;
	size_t len;
	size_t at; /* byte offset of the fault in @text */
};
/* Adds a problem in compiler form. @instead: what to write, or "" or NULL. */
void problems_add(struct policy *policy, const struct spot *spot, const char *instead,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same, for what is right but must be known: it stops nothing. */
void problems_note(struct policy *policy, const struct spot *spot, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
