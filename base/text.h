/* text: strings made safe to show, and small strict number parsing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes @bytes so that no terminal or log can be moved by them: printable ASCII stays, a backslash
 * doubles, everything else (control bytes, DEL, every byte ≥ 0x80) becomes \xNN: escaped visibly,
 * never dropped (so that shown ≠ granted cannot happen). Always NUL-terminates; returns the length
 * it would have had (> @size - 1: cut, and the last three are "..."). */
size_t text_visible(char *out, size_t size, const void *bytes, size_t len);

/* The same, returned owned. */
char *text_visible_dup(const char *text);

/* As a shell would have to be given it: one argv as one line, each word quoted only where needed,
 * made visible, cut at
 * @max_bytes. Returned owned. */
char *text_command_line(const char *const *argv, size_t max_bytes);

/* @value in at least @width digits (at most TEXT_DIGITS_MAX), zeros in front, no NUL. The length.
 */
#define TEXT_DIGITS_MAX 20 /* of 64 bits */
size_t text_from_u64(char out[TEXT_DIGITS_MAX], uint64_t value, size_t width);

/* Digits only (no sign, space, 0x), at most @max. 0, -EINVAL, -ERANGE. */
int text_to_u64(const char *text, size_t len, uint64_t max, uint64_t *ret_value);

/* "250ms", "30s", "5m", "2h", "7d"; a bare number is seconds. Value in ms. 0, -EINVAL, -ERANGE. */
int text_to_duration_ms(const char *text, int64_t *ret_ms);

/* 1536 -> "1.5 KiB". */
void text_bytes(char *out, size_t size, uint64_t bytes);

/* Is @given the secret? Takes as long for a good guess as for a bad one of that length. */
bool text_is_secret(const char *secret, const char *given, size_t len);
/* Bytes at the end of @bytes that begin a character of UTF-8 and do not end it: 0 to 3. */
#define TEXT_TORN_MAX 3
size_t text_torn(const char *bytes, size_t len);

/* ASCII only, never the locale's. */
bool text_equal_nocase(const char *left, size_t left_len, const char *right);
