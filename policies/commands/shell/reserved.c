#include "policies/commands/shell/reserved_impl.h"

#include <string.h>

#include "base/mem.h"

static const struct {
	const char *word;
	enum reserved reserved;
} words[] = {
	{ "if", RESERVED_WORD },    { "then", RESERVED_WORD },     { "elif", RESERVED_WORD },
	{ "else", RESERVED_WORD },  { "fi", RESERVED_WORD },       { "while", RESERVED_WORD },
	{ "until", RESERVED_WORD }, { "do", RESERVED_WORD },       { "done", RESERVED_WORD },
	{ "esac", RESERVED_WORD },  { "time", RESERVED_WORD },     { "coproc", RESERVED_WORD },
	{ "{", RESERVED_WORD },     { "}", RESERVED_WORD },        { "repeat", RESERVED_WORD },
	{ "for", RESERVED_LINE },   { "foreach", RESERVED_LINE },  { "select", RESERVED_LINE },
	{ "case", RESERVED_LINE },  { "function", RESERVED_LINE }, { "[[", RESERVED_LINE },
};

enum reserved reserved_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, word) == 0)
			return words[i].reserved;
	}
	return RESERVED_NOT;
}
