/* http1_chars: which bytes are allowed where (RFC 9110 §5.6.2 and §5.5, RFC 3986 §3.2). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/http1/http1_head.h"

enum http1_char {
	HTTP1_CHAR_TOKEN = BIT(0),    /* tchar */
	HTTP1_CHAR_FIELD = BIT(1),    /* in a field value: visible, obs-text, space, tab */
	HTTP1_CHAR_METHOD = BIT(2),   /* upper-case letters, digits, - and _ */
	HTTP1_CHAR_TARGET = BIT(3),   /* visible ASCII except # */
	HTTP1_CHAR_HOST = BIT(4),     /* letters, digits, - . _ */
	HTTP1_CHAR_USERINFO = BIT(5), /* unreserved, sub-delims, % and : */
};

/* Bits of enum http1_char per byte. */
extern const uint8_t http1_chars[256];

static inline bool http1_chars_is(char c, enum http1_char kind)
{
	return (http1_chars[(uint8_t)c] & kind) != 0;
}

static inline bool http1_chars_all(struct http1_span text, enum http1_char kind)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!http1_chars_is(text.at[i], kind))
			return false;
	}
	return true;
}

static inline bool http1_chars_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The value of a hexadecimal digit; -1: not a digit. */
static inline int http1_chars_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Without surrounding white space (OWS). */
static inline struct http1_span http1_chars_trim(struct http1_span text)
{
	while (text.len > 0 && http1_chars_is_blank(text.at[0])) {
		text.at++;
		text.len--;
	}
	while (text.len > 0 && http1_chars_is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}
