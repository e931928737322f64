/* text: strings made safe to show, and small strict number parsing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes @bytes so that they cannot control a terminal or forge a log line: printable ASCII stays,
 * a backslash doubles, every other byte (control bytes, DEL, every byte ≥ 0x80) becomes \xNN. Bytes
 * are escaped visibly and never dropped, so that what is shown is what was granted. Always
 * NUL-terminates; returns the length without truncation (> @size - 1: the text was cut and ends
 * with "..."). */
size_t text_visible(char *out, size_t size, const void *bytes, size_t len);

/* The same, returned owned. */
char *text_visible_dup(const char *text);
/* The same, but visible text stays as it is, so that nothing is escaped twice. */
char *text_visible_once(const char *text);

/* @word as one word of a POSIX shell. Returned owned. */
char *text_quoted(const char *word);
/* Formats an argv as one line for a shell: each word is quoted only where needed, made visible, and
 * the line is cut at @max_bytes. Returned owned. */
char *text_command_line(const char *const *argv, size_t max_bytes);

/* Writes @value with at least @width digits (at most TEXT_DIGITS_MAX), with leading zeros, without
 * NUL. Returns the length. */
#define TEXT_DIGITS_MAX 20 /* of 64 bits */
size_t text_from_u64(char out[TEXT_DIGITS_MAX], uint64_t value, size_t width);

/* Digits only (no sign, space, 0x), at most @max. 0, -EINVAL, -ERANGE. */
int text_to_u64(const char *text, size_t len, uint64_t max, uint64_t *ret_value);

/* A number of bytes: "64k", "1m", "2g"; a bare number is bytes. Its @len bytes alone, from 1 to
 * @max. 0, -EINVAL, -ERANGE. */
int text_to_size(const char *text, size_t len, uint64_t max, uint64_t *ret_bytes);

/* "250ms", "30s", "5m", "2h", "7d"; a bare number is seconds. Value in ms. 0, -EINVAL, -ERANGE. */
int text_to_duration_ms(const char *text, int64_t *ret_ms);

/* 1536 -> "1.5 KiB". */
void text_bytes(char *out, size_t size, uint64_t bytes);

/* Is @given equal to the secret? The time does not depend on how many bytes match. */
bool text_is_secret(const char *secret, const char *given, size_t len);
/* How many bytes at the end of @bytes are an incomplete UTF-8 character: 0 to 3. */
#define TEXT_TORN_MAX 3
size_t text_torn(const char *bytes, size_t len);

/* Compares ASCII letters without case; ignores the locale. */
bool text_equal_nocase(const char *left, size_t left_len, const char *right);

/* Moves the first name of the path @rest, and the slashes before it, into @name; returns its
 * length. 0: no name is left; -ENAMETOOLONG: it does not fit @size, or is longer than the kernel
 * allows. */
int text_next_name(char *rest, char *name, size_t size);

/* The nearest of @count words to @word, at most two letters off; NULL: none is near. */
const char *text_nearest(const char *word, size_t word_len, const char *const *list, size_t count);
