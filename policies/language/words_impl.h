/* words: splits a line into words, quoted strings and a comment, without copying. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policies/language/flaw_impl.h"

#define WORDS_MAX 256

struct word {
	const char *text; /* without quotes, but with escapes */
	size_t len;
	size_t at; /* byte offset in the line, of the quote if there is one */
	bool is_quoted;
};

struct words {
	struct word list[WORDS_MAX];
	size_t count;
	size_t comment; /* offset of '#', or the line's length */
};

/* Borrows @line, which @ret points into. -EBADMSG with @flaw. */
int words_split(const char *line, size_t len, struct words *ret, struct flaw *flaw);
bool words_is(const struct word *word, const char *text);
/* Removes the escapes (\" and \\). Longer than @size - 1 or another escape: -EBADMSG with @flaw->at
 * in the line. */
int words_unquote(const struct word *word, char *out, size_t size, struct flaw *flaw);
/* The nearest of @count words to @word, or NULL if none is near: for "did you mean". */
const char *words_nearest(const struct word *word, const char *const *list, size_t count);
