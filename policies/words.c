#include "policies/words_impl.h"

#include <errno.h>
#include <string.h>

#define WORDS_NEAR_MAX 24 /* longer words are nobody's misspelling */

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
				"an unterminated quote");
	if (end + 1 < len && !words_is_blank(line[end + 1]))
		return flaw_set(flaw, end + 1, "a space after the closing quote",
				"text right behind a quote");
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
					"a quote inside a word");
		if (line[end] == '#')
			return flaw_set(flaw, end, "a space before '#' if a comment is meant",
					"'#' inside a word");
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
			return flaw_set(flaw, at, "several lines", "more than %d words on a line",
					WORDS_MAX);
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
				return flaw_set(flaw, word->at + 1 + i, "\\\" or \\\\",
						"an unknown escape");
			c = next;
			i++;
		}
		if (used + 1 >= size)
			return flaw_set(flaw, word->at, NULL, "text of more than %zu bytes",
					size - 1);
		out[used++] = c;
	}
	out[used] = '\0';
	return 0;
}

/* How many letters have to be put in, taken out or changed (Levenshtein). */
static size_t words_distance(const char *left, size_t left_len, const char *right, size_t right_len)
{
	size_t row[WORDS_NEAR_MAX + 1];

	for (size_t j = 0; j <= right_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= left_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= right_len; j++) {
			size_t best = diagonal + (left[i - 1] != right[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[right_len];
}

const char *words_nearest(const struct word *word, const char *const *list, size_t count)
{
	const char *nearest = NULL;
	size_t best = 3; /* more than two letters off is another word */

	if (word->len > WORDS_NEAR_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(list[i]);

		if (len > WORDS_NEAR_MAX)
			continue;
		size_t distance = words_distance(word->text, word->len, list[i], len);

		if (distance < best && distance < len) {
			best = distance;
			nearest = list[i];
		}
	}
	return nearest;
}
