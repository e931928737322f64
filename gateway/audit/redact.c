#include "gateway/audit/redact.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define MASK "***"

static const char *const secret_words[] = {
	"pass",        "secret",     "token",      "apikey",    "api-key",
	"api_key",     "auth",       "credential", "cookie",    "private-key",
	"private_key", "access-key", "access_key", "signature",
};

/* Options whose next word is USER:PASSWORD. */
static const char *const user_options[] = { "-u", "-U", "--user", "--proxy-user" };

/* The input and the output: @out never needs more than its size, because only a mask of three
 * characters is longer than the text it hides. */
struct redact {
	const char *at;
	char *out;
	size_t len;
};

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_';
}

static bool is_quote(char c)
{
	return c == '\'' || c == '"';
}

static bool is_end(char c)
{
	return c == '\0' || c == ' ' || is_quote(c);
}

static bool name_has(const char *name, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= len; i++) {
		if (text_equal_nocase(name + i, n, word))
			return true;
	}
	return false;
}

static bool name_is_secret(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret_words); i++) {
		if (name_has(name, len, secret_words[i]))
			return strcmp(secret_words[i], "auth") != 0 ||
			       !name_has(name, len, "author") || name_has(name, len, "authori");
	}
	return false;
}

static void copy(struct redact *r, size_t n)
{
	memcpy(r->out + r->len, r->at, n);
	r->len += n;
	r->at += n;
}

static void mask(struct redact *r, size_t n)
{
	memcpy(r->out + r->len, MASK, strlen(MASK));
	r->len += strlen(MASK);
	r->at += n;
}

/* Up to the closing quote, or to the end: a header's value may contain blanks. */
static size_t header_len(const char *at)
{
	size_t n = 0;

	while (at[n] != '\0' && !is_quote(at[n]))
		n++;
	return n;
}

/* A value: a quoted part with the text directly after it; otherwise up to the next blank or
 * quote. */
static size_t value_len(const char *at)
{
	size_t n = 0;

	while (is_quote(at[n])) {
		const char *end = strchr(at + n + 1, at[n]);

		n = end ? (size_t)(end - at) + 1 : strlen(at);
	}
	while (!is_end(at[n]))
		n++;
	return n;
}

/* At "://": removes the userinfo and the query (RFC 3986 §3.2.1, §3.4). */
static void redact_url(struct redact *r)
{
	copy(r, 3);
	size_t authority = strcspn(r->at, "/?# '\"");
	const char *user_end = memrchr(r->at, '@', authority);

	if (user_end)
		mask(r, (size_t)(user_end - r->at));
	size_t path = strcspn(r->at, "? '\"");

	copy(r, path);
	if (*r->at != '?')
		return;
	copy(r, 1);
	mask(r, strcspn(r->at, " '\""));
}

static bool is_user_option(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(user_options); i++) {
		if (strlen(user_options[i]) == len && memcmp(name, user_options[i], len) == 0)
			return true;
	}
	return false;
}

/* After an option whose next word is a secret. */
static void redact_next_word(struct redact *r, bool needs_colon)
{
	const char *value = r->at + strspn(r->at, " ");
	size_t len = value_len(value);

	if (*value == '-' || len == 0 || (needs_colon && !memchr(value, ':', len)))
		return;
	copy(r, (size_t)(value - r->at));
	mask(r, len);
}

/* At the first character of a name. @is_word: the whole word is quoted, so its value may contain
 * blanks. */
static void redact_name(struct redact *r, bool is_word)
{
	const char *name = r->at;
	size_t len = 0;

	while (is_name(name[len]))
		len++;
	bool is_secret = name_is_secret(name, len);
	char next = name[len];

	/* -uUSER:PASSWORD in one word */
	if (len > 2 && next == ':' && strncmp(name, "-u", 2) == 0 && name[len + 1] != '/') {
		copy(r, 2);
		mask(r, value_len(r->at));
		return;
	}
	copy(r, len);
	if (is_secret && next == '=') {
		copy(r, 1);
		mask(r, is_word ? header_len(r->at) : value_len(r->at));
	} else if (is_secret && next == ':' && strncmp(r->at, "://", 3) != 0) {
		copy(r, 1);
		mask(r, header_len(r->at));
	} else if (next == ' ' && name[0] == '-') {
		if (is_secret || is_user_option(name, len))
			redact_next_word(r, !is_secret);
	}
}

char *redact_command(const char *line)
{
	/* Each mask replaces at least the character before it and an empty value: "=" becomes
	 * "=***". */
	struct redact r = { .at = line, .out = mem_new(strlen(line) * (1 + strlen(MASK)) + 1) };

	while (*r.at != '\0') {
		if (strncmp(r.at, "://", 3) == 0) {
			redact_url(&r);
		} else if (is_name(*r.at)) {
			bool is_word = r.at > line && r.at[-1] == '\'';

			redact_name(&r, is_word);
		} else {
			copy(&r, 1);
		}
	}
	r.out[r.len] = '\0';
	return r.out;
}
