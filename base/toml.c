#include "base/toml.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

/* Supported of TOML 1.0: tables, arrays of tables, dotted and quoted keys, every kind of string,
 * arrays, inline tables. Numbers, dates and booleans are returned as text and not checked. A table
 * that is opened twice is not detected. */
struct toml {
	const char *at, *end;
	size_t line;
	char *keys[TOML_DEPTH_MAX];
	size_t depth; /* of @keys */
	unsigned int nesting;
	char *text; /* as long as the whole document */
	toml_value_fn each;
	void *arg;
	struct err *why;
};

static int toml_refuse(const struct toml *toml, const char *words)
{
	return err_set(toml->why, -EBADMSG, "%s", words);
}

static char toml_peek(const struct toml *toml)
{
	return toml->at < toml->end ? *toml->at : '\0';
}

static bool toml_take(struct toml *toml, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(toml->end - toml->at) < len || memcmp(toml->at, text, len) != 0)
		return false;
	toml->at += len;
	return true;
}

/* Skips blanks and comments; with @is_across_lines also line ends. */
static void toml_skip(struct toml *toml, bool is_across_lines)
{
	for (; toml->at < toml->end; toml->at++) {
		if (*toml->at == '#') {
			while (toml->at < toml->end && *toml->at != '\n')
				toml->at++;
			if (toml->at == toml->end)
				return;
		}
		if (*toml->at == '\n' && is_across_lines)
			toml->line++;
		else if (*toml->at != ' ' && *toml->at != '\t' && *toml->at != '\r')
			return;
	}
}

static size_t toml_utf8(uint32_t code, char *out)
{
	size_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const unsigned char heads[] = { 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = more; i > 0; i--, code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(heads[more] | code);
	return more + 1;
}

static int toml_hex(struct toml *toml, size_t digits, char *out, size_t *len)
{
	uint32_t code = 0;

	for (size_t i = 0; i < digits; i++, toml->at++) {
		static const char hex[] = "0123456789abcdef";
		const char *digit = strchr(hex, toml_peek(toml) | 0x20);

		if (toml->at == toml->end || !digit || *digit == '\0')
			return toml_refuse(toml, "the escape is not hexadecimal");
		code = code << 4 | (uint32_t)(digit - hex);
	}
	if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return toml_refuse(toml, "the escape is not a Unicode character");
	*len += toml_utf8(code, out + *len);
	return 0;
}

/* Reads what follows a backslash. */
static int toml_escape(struct toml *toml, bool is_long, char *out, size_t *len)
{
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	char c = toml_peek(toml);
	const char *name = c ? strchr(names, c) : NULL;

	if (name) {
		out[(*len)++] = values[name - names];
		toml->at++;
		return 0;
	}
	if (c == 'u' || c == 'U') {
		toml->at++;
		return toml_hex(toml, c == 'u' ? 4 : 8, out, len);
	}
	if (is_long && (c == '\n' || c == '\r' || c == ' ' || c == '\t')) {
		for (; toml->at < toml->end && strchr(" \t\r\n", *toml->at); toml->at++)
			toml->line += *toml->at == '\n';
		return 0;
	}
	return toml_refuse(toml, "unknown escape");
}

/* @toml->at is behind the opening @quote. @is_long: there were three of them. Appends to
 * toml->text. */
static int toml_text(struct toml *toml, char quote, bool is_long, size_t *ret_len)
{
	const char close[] = { quote, is_long ? quote : '\0', quote, '\0' };
	size_t len = 0;

	if (is_long)
		(void)(toml_take(toml, "\r\n") || toml_take(toml, "\n") ? toml->line++ : 0);
	while (toml->at < toml->end) {
		char c = *toml->at;

		if (toml_take(toml, close)) {
			/* Up to two quotes may precede the closing three. */
			while (is_long && toml_peek(toml) == quote)
				toml->text[len++] = *toml->at++;
			*ret_len = len;
			return 0;
		}
		if (c == '\n' && !is_long)
			break;
		toml->at++;
		toml->line += c == '\n';
		if (c != '\\' || quote == '\'') {
			toml->text[len++] = c;
			continue;
		}
		int r = toml_escape(toml, is_long, toml->text, &len);

		if (r < 0)
			return r;
	}
	return toml_refuse(toml, "the string is not closed");
}

/* @key NULL: an element of an array. */
static int toml_push(struct toml *toml, const char *key, size_t len)
{
	if (toml->depth == TOML_DEPTH_MAX)
		return toml_refuse(toml, "keys are nested more than 16 deep");
	if (len > TOML_KEY_MAX)
		return toml_refuse(toml, "a key is longer than 256 bytes");
	toml->keys[toml->depth++] = key ? mem_strndup(key, len) : NULL;
	return 0;
}

static void toml_pop(struct toml *toml, size_t depth)
{
	while (toml->depth > depth)
		free(toml->keys[--toml->depth]);
}

static int toml_simple_key(struct toml *toml)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-";
	char c = toml_peek(toml);
	size_t len = 0;

	if (c == '"' || c == '\'') {
		toml->at++;
		int r = toml_text(toml, c, false, &len);

		return r < 0 ? r : toml_push(toml, toml->text, len);
	}
	const char *from = toml->at;

	while (toml->at < toml->end && *toml->at && strchr(bare, *toml->at))
		toml->at++;
	if (toml->at == from)
		return toml_refuse(toml, "a key is missing");
	return toml_push(toml, from, (size_t)(toml->at - from));
}

static int toml_key(struct toml *toml)
{
	for (;;) {
		toml_skip(toml, false);
		int r = toml_simple_key(toml);

		if (r < 0)
			return r;
		toml_skip(toml, false);
		if (!toml_take(toml, "."))
			return 0;
	}
}

static int toml_value(struct toml *toml);

static int toml_element(struct toml *toml)
{
	int r = toml_push(toml, NULL, 0);

	if (r == 0)
		r = toml_value(toml);
	if (r == 0)
		toml_pop(toml, toml->depth - 1);
	return r;
}

static int toml_pair(struct toml *toml)
{
	size_t depth = toml->depth;
	int r = toml_key(toml);

	if (r == 0 && !toml_take(toml, "="))
		r = toml_refuse(toml, "= is missing");
	if (r == 0)
		r = toml_value(toml);
	toml_pop(toml, depth);
	return r;
}

/* Reads what follows [ or {. */
static int toml_group(struct toml *toml, bool is_array)
{
	const char *close = is_array ? "]" : "}";
	int r = 0;

	for (bool is_first = true;; is_first = false) {
		toml_skip(toml, is_array);
		if (toml_take(toml, close))
			return 0;
		if (!is_first && !toml_take(toml, ","))
			return toml_refuse(toml, is_array ? "the array is not closed"
							  : "the inline table is not closed");
		toml_skip(toml, is_array);
		if (is_array && toml_take(toml, close))
			return 0;
		r = is_array ? toml_element(toml) : toml_pair(toml);
		if (r < 0)
			return r;
	}
}

static int toml_emit(const struct toml *toml, const char *text, size_t len, size_t line,
		     bool is_string)
{
	const struct toml_value value = {
		.keys = (const char *const *)toml->keys,
		.depth = toml->depth,
		.text = text,
		.len = len,
		.line = line,
		.is_string = is_string,
	};

	return toml->each(&value, toml->arg);
}

static int toml_string(struct toml *toml, char quote)
{
	const char three[] = { quote, quote, quote, '\0' };
	size_t line = toml->line, len = 0;
	bool is_long = toml_take(toml, three);

	if (!is_long)
		toml->at++;
	int r = toml_text(toml, quote, is_long, &len);

	return r < 0 ? r : toml_emit(toml, toml->text, len, line, true);
}

static int toml_value(struct toml *toml)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+.:";
	int r;

	toml_skip(toml, false);
	char c = toml_peek(toml);

	if (c == '"' || c == '\'')
		return toml_string(toml, c);
	if (c == '[' || c == '{') {
		if (toml->nesting == TOML_DEPTH_MAX)
			return toml_refuse(toml, "values are nested more than 16 deep");
		toml->nesting++;
		toml->at++;
		r = toml_group(toml, c == '[');
		toml->nesting--;
		return r;
	}
	const char *from = toml->at;

	while (toml->at < toml->end && *toml->at && strchr(plain, *toml->at))
		toml->at++;
	if (toml->at == from)
		return toml_refuse(toml, "a value is missing");
	return toml_emit(toml, from, (size_t)(toml->at - from), toml->line, false);
}

static int toml_header(struct toml *toml)
{
	bool is_list = toml_take(toml, "[[");

	if (!is_list)
		toml->at++;
	toml_pop(toml, 0);
	int r = toml_key(toml);

	if (r == 0 && !toml_take(toml, is_list ? "]]" : "]"))
		r = toml_refuse(toml, "the table name is not closed");
	return r == 0 && is_list ? toml_push(toml, NULL, 0) : r;
}

static int toml_document(struct toml *toml)
{
	for (;;) {
		toml_skip(toml, true);
		if (toml->at == toml->end)
			return 0;
		int r = toml_peek(toml) == '[' ? toml_header(toml) : toml_pair(toml);

		if (r < 0)
			return r;
		toml_skip(toml, false);
		if (toml->at < toml->end && *toml->at != '\n')
			return toml_refuse(toml, "unexpected text at the end of the line");
	}
}

int toml_read(const char *text, size_t len, toml_value_fn each, void *arg, size_t *ret_line,
	      struct err *why)
{
	auto_free char *room = mem_new(len + 1);
	struct toml toml = {
		.at = text,
		.end = text + len,
		.line = 1,
		.text = room,
		.each = each,
		.arg = arg,
		.why = why,
	};
	int r = toml_document(&toml);

	toml_pop(&toml, 0);
	*ret_line = toml.line;
	return r;
}
