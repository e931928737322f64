#include <string.h>

#include "base/mem.h"
#include "policies/exchange/starlark_impl.h"

static int starlark_refuse(const struct starlark *starlark, const char *words)
{
	return exchange_refuse(starlark->walk.exchange, starlark->line, "%s", words);
}

static int starlark_peek(const struct starlark *starlark)
{
	return starlark->at < starlark->len ? (unsigned char)starlark->text[starlark->at] : -1;
}

void starlark_skip(struct starlark *starlark)
{
	for (int c = starlark_peek(starlark); c >= 0; c = starlark_peek(starlark)) {
		if (c == '#') {
			while (starlark_peek(starlark) >= 0 && starlark_peek(starlark) != '\n')
				starlark->at++;
			continue;
		}
		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
		starlark->line += c == '\n';
		starlark->at++;
	}
}

static int starlark_put(struct starlark *starlark, size_t *used, unsigned int c)
{
	if (*used + 1 >= sizeof(starlark->value))
		return starlark_refuse(starlark, "the value has more than 2047 bytes");
	if (c == 0)
		return starlark_refuse(starlark, "the value has a NUL byte");
	starlark->value[(*used)++] = (char)c;
	starlark->value[*used] = '\0';
	return 0;
}

/* Reads the part after the backslash. Numeric escapes must be ASCII: a host with other letters is
 * written with the letters themselves. */
static int starlark_escape(struct starlark *starlark, size_t *used)
{
	static const char from[] = "\"\\/bfnrt'", to[] = "\"\\/\b\f\n\r\t'";
	int c = starlark_peek(starlark);
	const char *known = c > 0 ? strchr(from, c) : NULL;
	unsigned int value = 0;

	starlark->at++;
	if (known)
		return starlark_put(starlark, used, (unsigned char)to[known - from]);
	if (c != 'u' || starlark->len - starlark->at < 4)
		return starlark_refuse(starlark,
				       "unknown escape in a string; write the character itself");
	for (size_t i = 0; i < 4; i++, starlark->at++) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit =
			memchr(digits, starlark->text[starlark->at], sizeof(digits) - 1);

		if (!digit)
			return starlark_refuse(
				starlark, "unknown escape in a string; write the character itself");
		value = value << 4 | (unsigned int)((digit - digits) & 15);
	}
	if (value < 0x80)
		return starlark_put(starlark, used, value);
	return starlark_refuse(starlark,
			       "the escape is outside of ASCII; write the character itself");
}

/* "text", 'text', and both with three quotes, which may span lines. */
static int starlark_string(struct starlark *starlark, char quote)
{
	const char quotes[] = { quote, quote, quote };
	size_t left = starlark->len - starlark->at, used = 0;
	bool is_long = left >= 3 && memcmp(starlark->text + starlark->at, quotes, 3) == 0;
	size_t count = is_long ? 3 : 1;
	int r = 0;

	starlark->is_text = true;
	starlark->value[0] = '\0';
	starlark->at += count;
	while (r == 0) {
		int c = starlark_peek(starlark);

		if (c < 0 || (c == '\n' && !is_long))
			return starlark_refuse(starlark, "the string is not closed");
		if (starlark->len - starlark->at >= count &&
		    memcmp(starlark->text + starlark->at, quotes, count) == 0) {
			starlark->at += count;
			return 0;
		}
		starlark->at++;
		starlark->line += c == '\n';
		r = c == '\\' ? starlark_escape(starlark, &used)
			      : starlark_put(starlark, &used, (unsigned int)c);
	}
	return r;
}

/* Reads a bare word or a string into starlark->value. */
static int starlark_scalar(struct starlark *starlark)
{
	static const char bare[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-";
	int c = starlark_peek(starlark);
	size_t used = 0;

	if (c == '"' || c == '\'')
		return starlark_string(starlark, (char)c);
	starlark->is_text = false;
	starlark->value[0] = '\0';
	while (c > 0 && strchr(bare, c)) {
		int r = starlark_put(starlark, &used, (unsigned int)c);

		if (r < 0)
			return r;
		starlark->at++;
		c = starlark_peek(starlark);
	}
	return used > 0 ? 0 : starlark_refuse(starlark, "this expression is not supported");
}

static int starlark_list(struct starlark *starlark)
{
	size_t path_len = starlark->walk.path_len;

	for (starlark->at++;;) {
		starlark_skip(starlark);
		if (starlark_peek(starlark) == ']') {
			starlark->at++;
			return 0;
		}
		int r = walk_push(&starlark->walk, starlark->line, NULL);

		if (r == 0)
			r = starlark_value(starlark);
		if (r < 0)
			return r;
		walk_pop(&starlark->walk, path_len);
		starlark_skip(starlark);
		if (starlark_peek(starlark) == ',')
			starlark->at++;
		else if (starlark_peek(starlark) != ']')
			return starlark_refuse(starlark, "a comma or a closing bracket is missing");
	}
}

int starlark_value(struct starlark *starlark)
{
	starlark_skip(starlark);
	if (starlark_peek(starlark) == '[')
		return starlark_list(starlark);
	int r = starlark_scalar(starlark);

	return r < 0 ? r
		     : walk_value(&starlark->walk, starlark->line, starlark->value,
				  strlen(starlark->value), starlark->is_text);
}
