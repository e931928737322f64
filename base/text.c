#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define NEAR_MAX 24 /* longer words get no suggestion */

static bool text_is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '\\';
}

size_t text_visible(char *out, size_t size, const void *bytes, size_t len)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *at = bytes;
	size_t used = 0, cut = 0;

	for (size_t i = 0; i < len; i++) {
		char piece[4] = { (char)at[i] };
		size_t n = 1;

		if (at[i] == '\\') {
			piece[1] = '\\';
			n = 2;
		} else if (!text_is_plain(at[i])) {
			piece[0] = '\\';
			piece[1] = 'x';
			piece[2] = hex[at[i] >> 4];
			piece[3] = hex[at[i] & 15];
			n = 4;
		}
		if (used == cut && used + n + 1 <= size) {
			memcpy(out + used, piece, n);
			cut += n;
		}
		used += n;
	}
	if (size == 0)
		return used;
	if (used != cut) { /* truncate after a complete character, and end with "..." */
		size_t dots = size > 3 ? 3 : size - 1;
		size_t at_dots = cut + dots < size ? cut : size - 1 - dots;

		memset(out + at_dots, '.', dots);
		cut = at_dots + dots;
	}
	out[cut] = '\0';
	return used;
}

char *text_visible_dup(const char *text)
{
	size_t len = strlen(text);
	char *out = mem_new(len * 4 + 1);

	(void)text_visible(out, len * 4 + 1, text, len);
	return out;
}

char *text_visible_once(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (*at < 0x20 || *at > 0x7e)
			return text_visible_dup(text);
	}
	return mem_strdup(text);
}

static bool text_needs_quotes(const char *word)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "%+,-./:=@_";

	return word[0] == '\0' || word[strspn(word, safe)] != '\0';
}

/* Appends within @size; past the end nothing is written, but the length is still counted. */
static void text_append(char *out, size_t size, size_t *len, const char *piece, size_t n)
{
	if (*len + n < size)
		memcpy(out + *len, piece, n);
	*len += n;
}

static void text_append_quoted(char *out, size_t size, size_t *len, const char *word)
{
	text_append(out, size, len, "'", 1);
	for (; *word && *len < size; word++) {
		if (*word == '\'')
			text_append(out, size, len, "'\\''", 4);
		else
			text_append(out, size, len, word, 1);
	}
	text_append(out, size, len, "'", 1);
}

char *text_quoted(const char *word)
{
	size_t size = 4 * strlen(word) + sizeof("''"), len = 0;
	char *out = mem_new(size);

	text_append_quoted(out, size, &len, word);
	return out;
}

char *text_command_line(const char *const *argv, size_t max_bytes)
{
	size_t size = max_bytes + 1, len = 0;
	auto_free char *raw = mem_new(size);

	for (size_t i = 0; argv[i] && len < size; i++) {
		const char *word = argv[i];
		bool quoted = text_needs_quotes(word);

		if (i > 0)
			text_append(raw, size, &len, " ", 1);
		if (!quoted) {
			text_append(raw, size, &len, word, strlen(word));
			continue;
		}
		text_append_quoted(raw, size, &len, word);
	}
	char *out = mem_new(size * 4);
	size_t kept = strnlen(raw, size - 1);

	(void)text_visible(out, size, raw, kept);
	if (len >= size && strlen(out) + 4 <= size * 4)
		memcpy(out + strlen(out), "...", 4);
	return out;
}

size_t text_from_u64(char out[TEXT_DIGITS_MAX], uint64_t value, size_t width)
{
	char digits[TEXT_DIGITS_MAX];
	size_t at = sizeof(digits);

	assert(width <= sizeof(digits));
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	while (sizeof(digits) - at < width)
		digits[--at] = '0';
	memcpy(out, digits + at, sizeof(digits) - at);
	return sizeof(digits) - at;
}

int text_to_u64(const char *text, size_t len, uint64_t max, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (len == 0)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return -ERANGE;
	}
	if (value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int text_to_size(const char *text, size_t len, uint64_t max, uint64_t *ret_bytes)
{
	static const char units[] = "kmg";
	const char *unit = len > 0 ? memchr(units, text[len - 1], sizeof(units) - 1) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	uint64_t value = 0;
	int r = text_to_u64(text, unit ? len - 1 : len, max >> shift, &value);

	if (r < 0 || value == 0)
		return r < 0 ? r : -EINVAL;
	*ret_bytes = value << shift;
	return 0;
}

int text_to_duration_ms(const char *text, int64_t *ret_ms)
{
	static const struct {
		const char *unit;
		int64_t ms;
	} units[] = { { "ms", 1 },        { "s", 1000 },    { "", 1000 },
		      { "m", 60 * 1000 }, { "h", 3600000 }, { "d", 86400000 } };
	size_t digits = strspn(text, "0123456789");
	uint64_t value;
	int r = text_to_u64(text, digits, INT64_MAX / 86400000, &value);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + digits, units[i].unit) != 0)
			continue;
		*ret_ms = (int64_t)value * units[i].ms;
		return 0;
	}
	return -EINVAL;
}

void text_bytes(char *out, size_t size, uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	size_t unit = 0;

	while (value >= 1024 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	(void)snprintf(out, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

bool text_is_secret(const char *secret, const char *given, size_t len)
{
	unsigned char differs = 0;

	if (len != strlen(secret))
		return false;
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned char)secret[i] ^ (unsigned char)given[i];
	return differs == 0;
}

bool text_equal_nocase(const char *left, size_t left_len, const char *right)
{
	if (strlen(right) != left_len)
		return false;
	for (size_t i = 0; i < left_len; i++) {
		char a = left[i], b = right[i];

		a = a >= 'A' && a <= 'Z' ? (char)(a + 32) : a;
		b = b >= 'A' && b <= 'Z' ? (char)(b + 32) : b;
		if (a != b)
			return false;
	}
	return true;
}

/* The length of a UTF-8 character by its first byte; 0: not a first byte. RFC 3629 §3. */
static size_t character_len(uint8_t lead)
{
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

size_t text_torn(const char *bytes, size_t len)
{
	for (size_t back = 1; back <= TEXT_TORN_MAX && back <= len; back++) {
		uint8_t byte = (uint8_t)bytes[len - back];

		if (byte < 0x80 || byte > 0xbf)
			return character_len(byte) > back ? back : 0;
	}
	return 0;
}

int text_next_name(char *rest, char *name, size_t size)
{
	char *at = rest + strspn(rest, "/");
	size_t len = strcspn(at, "/");

	if (len >= size || len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, at, len);
	name[len] = '\0';
	memmove(rest, at + len, strlen(at + len) + 1);
	return (int)len;
}

/* How many letters have to be put in, taken out or changed (Levenshtein). */
static size_t distance_of(const char *left, size_t left_len, const char *right, size_t right_len)
{
	size_t row[NEAR_MAX + 1];

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

const char *text_nearest(const char *word, size_t word_len, const char *const *list, size_t count)
{
	const char *nearest = NULL;
	size_t best = 3; /* more than two letters off is another word */

	if (word_len > NEAR_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(list[i]);

		if (len > NEAR_MAX)
			continue;
		size_t distance = distance_of(word, word_len, list[i], len);

		if (distance < best && distance < len) {
			best = distance;
			nearest = list[i];
		}
	}
	return nearest;
}
