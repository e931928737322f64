#include "policies/language/words_impl.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static bool words_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int words_take_quoted(const char *line, size_t len, size_t *at, struct word *ret,
			     struct flaw *flaw)
{
	size_t start = *at, end = start + 1;

	while (end < len && line[end] != '"')
		end += line[end] == '\\' && end + 1 < len ? 2 : 1;
	if (end >= len)
		return flaw_set(flaw, start, "a closing quote on the same line",
				"the quote is not closed");
	if (end + 1 < len && !words_is_blank(line[end + 1]))
		return flaw_set(flaw, end + 1, "a space after the closing quote",
				"text follows the closing quote without a space");
	*ret = (struct word){ line + start + 1, end - start - 1, start, true };
	*at = end + 1;
	return 0;
}

static int words_take_plain(const char *line, size_t len, size_t *at, struct word *ret,
			    struct flaw *flaw)
{
	size_t start = *at, end = start;

	while (end < len && !words_is_blank(line[end])) {
		if (line[end] == '"')
			return flaw_set(flaw, end, "a space before the quote",
					"a quote is inside a word");
		if (line[end] == '#')
			return flaw_set(flaw, end, "a space before '#' if you mean a comment",
					"'#' is inside a word");
		end++;
	}
	*ret = (struct word){ line + start, end - start, start, false };
	*at = end;
	return 0;
}

int words_split(const char *line, size_t len, struct words *ret, struct flaw *flaw)
{
	size_t at = 0;

	ret->count = 0;
	ret->comment = len;
	for (;;) {
		while (at < len && words_is_blank(line[at]))
			at++;
		if (at == len)
			return 0;
		if (line[at] == '#') {
			ret->comment = at;
			return 0;
		}
		if (ret->count == WORDS_MAX)
			return flaw_set(flaw, at, "several lines",
					"the line has more than %d words", WORDS_MAX);
		struct word *word = &ret->list[ret->count];
		int r = line[at] == '"' ? words_take_quoted(line, len, &at, word, flaw)
					: words_take_plain(line, len, &at, word, flaw);

		if (r < 0)
			return r;
		ret->count++;
	}
}

bool words_is(const struct word *word, const char *text)
{
	return !word->is_quoted && word->len == strlen(text) &&
	       memcmp(word->text, text, word->len) == 0;
}

int words_unquote(const struct word *word, char *out, size_t size, struct flaw *flaw)
{
	size_t used = 0;

	for (size_t i = 0; i < word->len; i++) {
		char c = word->text[i];

		if (c == '\\') {
			char next = i + 1 < word->len ? word->text[i + 1] : '\0';

			if (next != '"' && next != '\\')
				return flaw_set(flaw, word->at + 1 + i,
						"a backslash only before a quote or a backslash",
						"unknown escape \"%.*s\" in this string",
						i + 1 < word->len ? 2 : 1, word->text + i);
			c = next;
			i++;
		}
		if (used + 1 >= size)
			return flaw_set(flaw, word->at, NULL, "the text has more than %zu bytes",
					size - 1);
		out[used++] = c;
	}
	out[used] = '\0';
	return 0;
}

const char *words_nearest(const struct word *word, const char *const *list, size_t count)
{
	return text_nearest(word->text, word->len, list, count);
}
