/* Every verdict waits for its record, so it is written here and not by the JSON library, whose tree
 * of an object costs more than all else that a remembered answer takes. The bytes are the library's
 * (compact, ASCII), which a test compares. */
#include "gateway/sinks/record.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"

#define RECORD_TEXT_MAX    512
#define RECORD_COMMAND_MAX 1024
#define RECORD_NAME_MAX    128
#define RECORD_DIGITS_MAX  20 /* of 64 bits */

static const char *const event_names[SINK_EVENT_COUNT] = {
	[SINK_START] = "start",
	[SINK_EXEC_START] = "exec_start",
	[SINK_DECISION] = "decision",
	[SINK_CLOSED] = "closed",
	[SINK_EXEC_END] = "exec_end",
	[SINK_END] = "end",
	[SINK_GRANTED] = "granted",
	[SINK_REVIEWED] = "reviewed",
	[SINK_REVOKED] = "revoked",
	[SINK_PROGRAM] = "program",
	[SINK_POLICY_RELOADED] = "policy_reloaded",
	[SINK_POLICY_RELOAD_FAILED] = "policy_reload_failed",
};

/* The line so far; @is_full: it did not fit, and is none. */
struct writer {
	char *at, *end;
	bool is_full;
};

static void put_bytes(struct writer *writer, const char *bytes, size_t len)
{
	if ((size_t)(writer->end - writer->at) < len) {
		writer->is_full = true;
		return;
	}
	memcpy(writer->at, bytes, len);
	writer->at += len;
}

/* At least @width digits. */
static void put_digits(struct writer *writer, uint64_t value, unsigned int width)
{
	char digits[RECORD_DIGITS_MAX];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0 || sizeof(digits) - at < width);
	put_bytes(writer, digits + at, sizeof(digits) - at);
}

static void put_name(struct writer *writer, const char *name)
{
	put_bytes(writer, ",\"", 2);
	put_bytes(writer, name, strlen(name));
	put_bytes(writer, "\":", 2);
}

static void put_unit(struct writer *writer, uint32_t unit)
{
	static const char hex[] = "0123456789ABCDEF";
	const char text[] = {
		'\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
		hex[unit & 15]
	};

	put_bytes(writer, text, sizeof(text));
}

/* RFC 3629 §4: the length of the character at @at, and its value; 0: it is none. */
static size_t record_character(const unsigned char *at, size_t left, uint32_t *ret)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} forms[] = { { 0x80, 0x00, 0 },
		      { 0xe0, 0xc0, 0x80 },
		      { 0xf0, 0xe0, 0x800 },
		      { 0xf8, 0xf0, 0x10000 } };
	size_t more = 0;

	while (more < ARRAY_SIZE(forms) && (at[0] & forms[more].mask) != forms[more].lead)
		more++;
	if (more == ARRAY_SIZE(forms) || more >= left)
		return 0;
	uint32_t value = at[0] & (unsigned char)~forms[more].mask;

	for (size_t i = 1; i <= more; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3f);
	}
	if (value < forms[more].least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	*ret = value;
	return more + 1;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void put_escaped(struct writer *writer, uint32_t value)
{
	static const char marks[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
	const char *mark = value > 0 && value < 0x80 ? strchr(marks, (int)value) : NULL;

	if (mark) {
		put_bytes(writer, "\\", 1);
		put_bytes(writer, &letters[mark - marks], 1);
	} else if (value < 0x10000) {
		put_unit(writer, value);
	} else { /* RFC 8259 §7 */
		put_unit(writer, 0xd800 + ((value - 0x10000) >> 10));
		put_unit(writer, 0xdc00 + ((value - 0x10000) & 0x3ff));
	}
}

/* False: it is no UTF-8, and only a part of it is there. */
static bool put_characters(struct writer *writer, const char *text, size_t len)
{
	const unsigned char *at = (const unsigned char *)text, *end = at + len;

	while (at < end) {
		const unsigned char *from = at;
		uint32_t value = 0;

		while (at < end && is_plain(*at))
			at++;
		put_bytes(writer, (const char *)from, (size_t)(at - from));
		if (at == end)
			break;
		size_t taken = record_character(at, (size_t)(end - at), &value);

		if (taken == 0)
			return false;
		put_escaped(writer, value);
		at += taken;
	}
	return true;
}

/* At most @max bytes of @text, whole characters where it is UTF-8; where it is not, every odd byte
 * is shown as \xNN. */
static void put_text(struct writer *writer, const char *name, const char *text, size_t max)
{
	if (!text || text[0] == '\0')
		return;
	size_t len = strnlen(text, max);

	while (len > 0 && text[len] != '\0' && (text[len] & 0xc0) == 0x80)
		len--;
	put_name(writer, name);
	put_bytes(writer, "\"", 1);
	const struct writer before = *writer;

	if (!put_characters(writer, text, len)) {
		size_t size = strnlen(text, max) * 4 + 1;
		auto_free char *shown = mem_new(size);

		*writer = before;
		(void)text_visible(shown, size, text, strnlen(text, max));
		(void)put_characters(writer, shown, strlen(shown)); /* ASCII */
	}
	put_bytes(writer, "\"", 1);
}

static void put_number(struct writer *writer, const char *name, uint64_t value)
{
	put_name(writer, name);
	put_digits(writer, value > INT64_MAX ? INT64_MAX : value, 1);
}

static void put_status(struct writer *writer, int status)
{
	put_name(writer, "status");
	put_bytes(writer, "-", status < 0);
	put_digits(writer, (uint64_t)(status < 0 ? -(int64_t)status : status), 1);
}

/* RFC 3339 §5.6, UTC, microseconds. */
static void put_time(struct writer *writer, int64_t wall_us)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm parts;

	if (wall_us < 0 || !gmtime_r(&seconds, &parts))
		return;
	const struct {
		unsigned int value, width;
		char after;
	} fields[] = {
		{ (unsigned int)parts.tm_year + 1900, 4, '-' },
		{ (unsigned int)parts.tm_mon + 1, 2, '-' },
		{ (unsigned int)parts.tm_mday, 2, 'T' },
		{ (unsigned int)parts.tm_hour, 2, ':' },
		{ (unsigned int)parts.tm_min, 2, ':' },
		{ (unsigned int)parts.tm_sec, 2, '.' },
		{ (unsigned int)(wall_us % 1000000), 6, 'Z' },
	};

	put_name(writer, "time");
	put_bytes(writer, "\"", 1);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		put_digits(writer, fields[i].value, fields[i].width);
		put_bytes(writer, &fields[i].after, 1);
	}
	put_bytes(writer, "\"", 1);
}

static void record_facts(struct writer *writer, const struct policy_facts *facts)
{
	if (facts->way != POLICY_WAY_NONE)
		put_text(writer, "way", policy_way_name(facts->way), RECORD_NAME_MAX);
	if (facts->dst.host[0] == '\0')
		return;
	put_text(writer, "host", facts->dst.host, POLICY_HOST_MAX);
	put_text(writer, "protocol", policy_protocol_name(facts->dst.protocol), RECORD_NAME_MAX);
	put_number(writer, "port", facts->dst.port);
}

static void record_outcome(struct writer *writer, const struct sink_record *record)
{
	const struct policy_verdict *verdict = record->verdict;
	char resolved[ADDR_TEXT_MAX];

	if (verdict)
		put_text(writer, "action", policy_action_name(verdict->action), RECORD_NAME_MAX);
	if (record->reason != POLICY_NONE)
		put_text(writer, "reason", policy_reason_code(record->reason), RECORD_NAME_MAX);
	if (verdict)
		put_text(writer, "by", verdict->by, sizeof(verdict->by));
	if (record->facts)
		record_facts(writer, record->facts);
	if (record->resolved.family != 0)
		put_text(writer, "resolved", addr_text(&record->resolved, resolved),
			 sizeof(resolved));
	if (verdict) {
		put_text(writer, "rule", verdict->rule, RECORD_TEXT_MAX);
		put_text(writer, "because", verdict->because, RECORD_TEXT_MAX);
	}
	put_text(writer, "files", record->files, RECORD_TEXT_MAX);
	put_text(writer, "digest", record->digest, RECORD_NAME_MAX);
	put_text(writer, "cause", record->cause, RECORD_TEXT_MAX);
}

ssize_t record_line(const struct sink_record *record, uint64_t seq, const char *prev, char *out,
		    size_t size)
{
	struct writer writer = { .at = out, .end = out + size };

	put_number(&writer, "seq", seq);
	put_time(&writer, record->wall_us);
	put_number(&writer, "mono", (uint64_t)record->mono_ms);
	put_text(&writer, "session", record->session, RECORD_NAME_MAX);
	put_text(&writer, "run", record->run, RECORD_NAME_MAX);
	if (record->exec != 0)
		put_number(&writer, "exec", record->exec);
	put_text(&writer, "event", event_names[record->event], RECORD_NAME_MAX);
	put_text(&writer, "command", record->command, RECORD_COMMAND_MAX);
	put_text(&writer, "program", record->program, RECORD_TEXT_MAX);
	if (record->event == SINK_EXEC_END)
		put_status(&writer, record->exit_status);
	record_outcome(&writer, record);
	if (record->has_traffic) {
		put_number(&writer, "bytes_up", record->bytes_up);
		put_number(&writer, "bytes_down", record->bytes_down);
	}
	if (record->has_traffic || record->duration_ms > 0)
		put_number(&writer, "duration_ms", record->duration_ms);
	put_text(&writer, "prev", prev, RECORD_NAME_MAX);
	put_bytes(&writer, "}", 1);
	if (writer.is_full)
		return -E2BIG;
	*out = '{'; /* over the first comma */
	return writer.at - out;
}
