/* lexer: reads one word of a shell script, up to the blank or operator behind it. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

#define LEXER_SPANS_MAX 32

struct lexer_span {
	size_t at, len;
};
struct lexer_word {
	const char *text; /* unquoted; NULL when there was no room */
	enum command_word kind;
	bool is_quoted; /* a part of it is quoted */
	bool is_whole;  /* false: a quote was not closed */
	size_t len;
	struct lexer_span spans[LEXER_SPANS_MAX]; /* scripts inside: substitutions */
	size_t span_count;
};

bool lexer_is_blank(char c);
/* The position of the `)` that closes the `(` before @at, or @len; only quotes are considered. */
size_t lexer_find_close(const char *text, size_t len, size_t at);
/* Reads the word at *@at and moves behind it; notes doubts in @pieces. */
void lexer_read(struct command_pieces *pieces, const char *text, size_t len, size_t *at,
		struct lexer_word *ret);
/* Reads the scripts in the body of a here-document whose delimiter is not quoted. */
void lexer_read_body(struct command_pieces *pieces, const char *text, size_t from, size_t until,
		     struct lexer_word *ret);
