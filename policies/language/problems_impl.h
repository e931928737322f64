/* problems: errors in policy files, in compiler form. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define POLICY_PROBLEMS_MAX 128U /* shown; the rest are counted */
#define POLICY_ERRORS_MAX   100U /* after this many errors no more of a file is read */

struct problems {
	char *text;
	size_t len, room;
	size_t shown_len; /* of the text without its last line, the count */
	size_t count;
	bool is_over; /* the message that no more is read was written */
};

/* The position of an error in a file. @text may be NULL: no line to show. */
struct spot {
	const char *file; /* visible */
	size_t number;    /* of the line, from 1; 0: the file as a whole */
	const char *text;
	size_t len;
	size_t at; /* byte offset of the fault in @text */
};

/* Adds an error in compiler form. @instead: a suggestion, or "" or NULL. */
void problems_add(struct problems *errors, const struct spot *spot, const char *instead,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds a warning about something that is valid. */
void problems_note(struct problems *notes, const struct spot *spot, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
