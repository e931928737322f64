/* lexer: one word of a shell script, from its first byte to the blank or operator behind it. */
#pragma once

#include "policies/commands/command_pieces_impl.h"

#define LEXER_SPANS_MAX 32

struct lexer_span {
	size_t at, len;
};
struct lexer_word {
	const char *text; /* unquoted; NULL when there was no room */
	enum command_word kind;
	bool is_quoted; /* somewhere */
	bool is_whole;  /* false: a quote was not closed */
	size_t len;
	struct lexer_span spans[LEXER_SPANS_MAX]; /* scripts inside: substitutions */
	size_t span_count;
};

bool lexer_is_blank(char c);
/* Where the `)` of the `(` before @at stands, or @len; quotes are looked at, no more. */
size_t lexer_find_close(const char *text, size_t len, size_t at);
/* Reads the word at *@at and steps past it; doubts go to @pieces. */
void lexer_read(struct command_pieces *pieces, const char *text, size_t len, size_t *at,
		struct lexer_word *ret);
/* The scripts in the body of a heredoc whose delimiter is not quoted. */
void lexer_read_body(struct command_pieces *pieces, const char *text, size_t from, size_t until,
		     struct lexer_word *ret);
