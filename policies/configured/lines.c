#include <string.h>

#include "policies/configured/configured_impl.h"

static bool lines_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void lines_trim(const char **text, size_t *len)
{
	while (*len > 0 && lines_is_blank((*text)[0])) {
		(*text)++;
		(*len)--;
	}
	while (*len > 0 && lines_is_blank((*text)[*len - 1]))
		(*len)--;
}

bool lines_next(struct lines *lines)
{
	if (lines->left == 0)
		return false;
	const char *end = memchr(lines->at, '\n', lines->left);
	size_t len = end ? (size_t)(end - lines->at) : lines->left;

	lines->number++;
	lines->text = lines->at;
	lines->len = len;
	lines->is_indented = len > 0 && lines_is_blank(lines->at[0]);
	lines->at += end ? len + 1 : len;
	lines->left -= end ? len + 1 : len;
	lines_trim(&lines->text, &lines->len);
	return true;
}

bool lines_pair(const struct lines *lines, const char *separators, struct lines_pair *ret)
{
	size_t at = 0;

	while (at < lines->len && (lines->text[at] == '\0' || !strchr(separators, lines->text[at])))
		at++;
	if (at == lines->len)
		return false;
	*ret = (struct lines_pair){
		.key = lines->text,
		.key_len = at,
		.value = lines->text + at + 1,
		.value_len = lines->len - at - 1,
	};
	lines_trim(&ret->key, &ret->key_len);
	lines_trim(&ret->value, &ret->value_len);
	return true;
}

bool lines_is(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && memcmp(text, word, len) == 0;
}
