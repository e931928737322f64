/* A log may have millions of lines, and a report reads all of them. Records are flat objects that
 * record.c has written in one order, so a line is read in place and in one pass; the JSON library
 * would make a tree of each. What is not such an object is refused. */
#include "gateway/audit/logged.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/addr.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway_audit.h"

#define TIME_LEN 27 /* 2026-01-31T23:59:59.000000Z */

enum logged_kind { LOGGED_TEXT, LOGGED_NUMBER, LOGGED_TIME };

/* In the order of record.c: a search begins after the member that was found last. */
static const struct {
	const char *name;
	enum logged_kind kind;
	size_t offset;
} members[] = {
#define TEXT(name)                                                                                 \
	{                                                                                          \
#name, LOGGED_TEXT, offsetof(struct gateway_logged, name)                          \
	}
#define NUMBER(name)                                                                               \
	{                                                                                          \
#name, LOGGED_NUMBER, offsetof(struct gateway_logged, name)                        \
	}
	{ "seq", LOGGED_NUMBER, offsetof(struct gateway_logged, seq) },
	{ "time", LOGGED_TIME, offsetof(struct gateway_logged, time_us) },
	TEXT(session),
	TEXT(run),
	NUMBER(exec),
	TEXT(event),
	TEXT(command),
	TEXT(program),
	TEXT(kind),
	TEXT(user),
	TEXT(cwd),
	TEXT(action),
	TEXT(reason),
	TEXT(by),
	NUMBER(times),
	TEXT(way),
	TEXT(host),
	TEXT(protocol),
	NUMBER(port),
	TEXT(resolved),
	TEXT(rule),
	NUMBER(bytes_up),
	NUMBER(bytes_down),
#undef TEXT
#undef NUMBER
};

struct logged_reader {
	char *at, *end;
	size_t next; /* where the search of a name begins */
};

static int hex_unit(const char *at, const char *end, uint32_t *ret)
{
	*ret = 0;
	if (end - at < 4)
		return -EBADMSG;
	for (size_t i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		char low = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
		const char *digit = low ? strchr(digits, low) : NULL;

		if (!digit)
			return -EBADMSG;
		*ret = *ret << 4 | (uint32_t)(digit - digits);
	}
	return 0;
}

static char *put_utf8(char *out, uint32_t value)
{
	if (value < 0x80) {
		*out++ = (char)value;
		return out;
	}
	size_t more = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
	static const unsigned char leads[] = { 0, 0xc0, 0xe0, 0xf0 };

	*out++ = (char)(leads[more] | value >> (6 * more));
	while (more-- > 0)
		*out++ = (char)(0x80 | ((value >> (6 * more)) & 0x3f));
	return out;
}

/* \uXXXX, or two of them for one character (RFC 8259 §7). A NUL would end the text. */
static int read_unicode(struct logged_reader *reader, char **out)
{
	uint32_t value, low;

	if (hex_unit(reader->at, reader->end, &value) < 0)
		return -EBADMSG;
	reader->at += 4;
	if (value >= 0xd800 && value < 0xdc00) {
		if (reader->end - reader->at < 6 || memcmp(reader->at, "\\u", 2) != 0 ||
		    hex_unit(reader->at + 2, reader->end, &low) < 0 || low < 0xdc00 || low > 0xdfff)
			return -EBADMSG;
		reader->at += 6;
		value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
	} else if (value == 0 || (value >= 0xdc00 && value < 0xe000)) {
		return -EBADMSG;
	}
	*out = put_utf8(*out, value);
	return 0;
}

/* Reads the rest of a text with escapes over itself: the result is never longer. */
static int read_escaped(struct logged_reader *reader, char *out)
{
	static const char marks[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";

	while (reader->at < reader->end) {
		char c = *reader->at++;

		if (c == '"') {
			*out = '\0';
			return 0;
		}
		if ((unsigned char)c < 0x20)
			return -EBADMSG;
		if (c != '\\') {
			*out++ = c;
			continue;
		}
		char mark = reader->at < reader->end ? *reader->at++ : '\0';
		const char *found = mark ? strchr(marks, mark) : NULL;

		if (found)
			*out++ = bytes[found - marks];
		else if (mark != 'u' || read_unicode(reader, &out) < 0)
			return -EBADMSG;
	}
	return -EBADMSG;
}

/* The text behind the quotation mark at the reader; ends it with NUL in place. */
static int read_text(struct logged_reader *reader, const char **ret)
{
	char *from = ++reader->at;

	*ret = from;
	while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\\' &&
	       (unsigned char)*reader->at >= 0x20)
		reader->at++;
	if (reader->at < reader->end && *reader->at == '\\')
		return read_escaped(reader, reader->at);
	if (reader->at == reader->end || *reader->at != '"')
		return -EBADMSG;
	*reader->at++ = '\0';
	return 0;
}

/* A number or a word. */
static int read_word(struct logged_reader *reader, const char **ret, size_t *ret_len)
{
	*ret = reader->at;
	while (reader->at < reader->end && *reader->at != ',' && *reader->at != '}' &&
	       (unsigned char)*reader->at > 0x20 && *reader->at != '{' && *reader->at != '[' &&
	       *reader->at != '"')
		reader->at++;
	*ret_len = (size_t)(reader->at - *ret);
	return *ret_len > 0 && *ret_len <= TEXT_DIGITS_MAX ? 0 : -EBADMSG;
}

static bool read_digits(const char *text, size_t len, int64_t *ret)
{
	uint64_t value;

	if (text_to_u64(text, len, INT32_MAX, &value) < 0)
		return false;
	*ret = (int64_t)value;
	return true;
}

/* Days since 1970-01-01 of a date in the Gregorian calendar, for years from 1970. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year, shifted = (month + 9) % 12;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * shifted + 2) / 5 + day - 1 - 719468;
}

/* RFC 3339 §5.6, as record.c writes it. */
static int read_time(const char *text, int64_t *ret)
{
	int64_t year, month, day, hour, minute, second, us;

	if (strlen(text) != TIME_LEN || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
	    text[13] != ':' || text[16] != ':' || text[19] != '.' || text[26] != 'Z')
		return -EBADMSG;
	if (!read_digits(text, 4, &year) || !read_digits(text + 5, 2, &month) ||
	    !read_digits(text + 8, 2, &day) || !read_digits(text + 11, 2, &hour) ||
	    !read_digits(text + 14, 2, &minute) || !read_digits(text + 17, 2, &second) ||
	    !read_digits(text + 20, 6, &us))
		return -EBADMSG;
	if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 ||
	    minute > 59 || second > 60)
		return -EBADMSG;
	*ret = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
	*ret = *ret * 1000000 + us;
	return 0;
}

/* The index of the member, or SIZE_MAX. */
static size_t find_member(struct logged_reader *reader, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		size_t at = (reader->next + i) % ARRAY_SIZE(members);

		if (members[at].name[0] == name[0] && strcmp(members[at].name, name) == 0) {
			reader->next = at + 1;
			return at;
		}
	}
	return SIZE_MAX;
}

static int read_value(struct logged_reader *reader, size_t member, struct gateway_logged *ret)
{
	bool is_known = member != SIZE_MAX;
	enum logged_kind kind = is_known ? members[member].kind : LOGGED_TEXT;
	char *place = is_known ? (char *)ret + members[member].offset : NULL;
	const char *text;
	size_t len;

	if (*reader->at == '"') {
		if (read_text(reader, &text) < 0)
			return -EBADMSG;
		if (is_known && kind == LOGGED_TIME)
			return read_time(text, &ret->time_us);
		if (is_known && kind == LOGGED_TEXT)
			memcpy(place, &text, sizeof(text));
		return is_known && kind == LOGGED_NUMBER ? -EBADMSG : 0;
	}
	if (read_word(reader, &text, &len) < 0)
		return -EBADMSG;
	if (is_known && kind == LOGGED_NUMBER) {
		uint64_t value;

		if (text_to_u64(text, len, INT64_MAX, &value) < 0)
			return -EBADMSG;
		memcpy(place, &value, sizeof(value));
		return 0;
	}
	return is_known ? -EBADMSG : 0;
}

static int read_member(struct logged_reader *reader, struct gateway_logged *ret)
{
	const char *name;

	if (reader->at == reader->end || *reader->at != '"' || read_text(reader, &name) < 0)
		return -EBADMSG;
	if (reader->end - reader->at < 2 || *reader->at++ != ':')
		return -EBADMSG;
	return read_value(reader, find_member(reader, name), ret);
}

static int read_members(struct logged_reader *reader, struct gateway_logged *ret)
{
	if (reader->at == reader->end || *reader->at++ != '{')
		return -EBADMSG;
	for (;;) {
		if (read_member(reader, ret) < 0 || reader->at == reader->end)
			return -EBADMSG;
		char sign = *reader->at++;

		if (sign == '}')
			return reader->at == reader->end ? 0 : -EBADMSG;
		if (sign != ',')
			return -EBADMSG;
	}
}

int logged_parse(char *line, size_t len, struct gateway_logged *ret, const char **ret_words)
{
	struct logged_reader reader = { .at = line, .end = line + len };
	struct addr addr;

	*ret = (struct gateway_logged){ .time_us = -1, .times = 1 };
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (members[i].kind == LOGGED_TEXT)
			*(const char **)(void *)((char *)ret + members[i].offset) = "";
	}
	*ret_words = "this is not an audit record";
	if (read_members(&reader, ret) < 0 || ret->time_us < 0 || ret->event[0] == '\0')
		return -EBADMSG;
	*ret_words = "this record has an invalid port or address";
	if (ret->port > UINT16_MAX ||
	    (ret->resolved[0] && addr_parse(ret->resolved, strlen(ret->resolved), &addr) < 0))
		return -EBADMSG;
	return 0;
}
