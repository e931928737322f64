/* flaw: an error in a piece of text: at which byte, and what to write instead. Plain value; { 0 }
 * is "no error yet". */
#pragma once

#include <stddef.h>

struct flaw {
	size_t at; /* byte offset into the text that was given */
	char words[256];
	char instead[256]; /* "" without a suggestion */
};

/* Fills @flaw (may be NULL) and returns -EBADMSG, so that callers can `return flaw_set(...)`.
 * @instead may be NULL. */
int flaw_set(struct flaw *flaw, size_t at, const char *instead, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
