/* Every verdict waits for its record, so it is written here and not by the JSON library, whose
 * object tree would cost more than the whole rest of a remembered answer. The bytes are the same as
 * the library's (compact, ASCII), which a test checks. */
#include "gateway/audit/record.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"

#define RECORD_TEXT_MAX    512
#define RECORD_COMMAND_MAX 1024
#define RECORD_NAME_MAX    128

static const char *const event_names[SINK_EVENT_COUNT] = {
	[SINK_START] = "start",
	[SINK_EXEC_START] = "exec_start",
	[SINK_DECISION] = "decision",
	[SINK_CLOSED] = "closed",
	[SINK_EXEC_END] = "exec_end",
	[SINK_END] = "end",
	[SINK_GAP] = "gap",
	[SINK_KILLED] = "killed",
	[SINK_PRUNED] = "pruned",
	[SINK_CHECKPOINT] = "checkpoint",
	[SINK_UNSIGNED] = "unsigned",
	[SINK_GRANTED] = "granted",
	[SINK_REVIEWED] = "reviewed",
	[SINK_REVOKED] = "revoked",
	[SINK_LATE] = "late_answer",
	[SINK_WITHHELD] = "withheld",
	[SINK_MADE] = "made",
	[SINK_PROBED] = "probed",
	[SINK_REFUSED] = "refused",
	[SINK_PUBLISHED] = "published",
	[SINK_WORKER_ENDED] = "worker_ended",
	[SINK_LIMIT] = "limit",
	[SINK_POLICY_RELOADED] = "policy_reloaded",
	[SINK_POLICY_RELOAD_FAILED] = "policy_reload_failed",
};

const char *record_event_name(enum sink_event event)
{
	return (unsigned int)event < SINK_EVENT_COUNT ? event_names[event] : "other";
}

/* The line so far; @is_full: it did not fit, and is invalid. */
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

static void put_digits(struct writer *writer, uint64_t value, size_t width)
{
	char digits[TEXT_DIGITS_MAX];

	put_bytes(writer, digits, text_from_u64(digits, value, width));
}

/* @name is a literal, so its length is known at compile time. */
#define PUT_NAME(writer, name) put_bytes(writer, ",\"" name "\":", sizeof(",\"" name "\":") - 1)

static void put_unit(struct writer *writer, uint32_t unit)
{
	static const char hex[] = "0123456789ABCDEF";
	const char text[] = {
		'\\',          'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15], hex[unit >> 4 & 15],
		hex[unit & 15]
	};

	put_bytes(writer, text, sizeof(text));
}

/* RFC 3629 §4: the length of the character at @at, and its value; 0: invalid. */
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

/* False: it is not UTF-8, and was written in part. */
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

/* The usual case, in one pass: plain ASCII. Otherwise writes nothing and returns false. */
static bool put_plain(struct writer *writer, const char *text, size_t max)
{
	size_t room = (size_t)(writer->end - writer->at), i = 0;

	if (max > room)
		max = room;
	for (; i < max && is_plain((unsigned char)text[i]); i++)
		writer->at[i] = text[i];
	if (i == max || text[i] != '\0')
		return false;
	writer->at += i;
	return true;
}

/* Writes at most @max bytes of @text: whole characters if it is UTF-8; otherwise, as text_visible()
 * shows it, with \xNN. */
static void put_any(struct writer *writer, const char *text, size_t max)
{
	size_t len = strnlen(text, max);
	const struct writer before = *writer;

	while (len > 0 && text[len] != '\0' && (text[len] & 0xc0) == 0x80)
		len--;
	if (!put_characters(writer, text, len)) {
		size_t size = strnlen(text, max) * 4 + 1;
		auto_free char *shown = mem_new(size);

		*writer = before;
		(void)text_visible(shown, size, text, strnlen(text, max));
		(void)put_characters(writer, shown, strlen(shown)); /* ASCII */
	}
}

/* Writes @opening first, unless there is no text. */
static void put_opened(struct writer *writer, const char *opening, size_t opening_len,
		       const char *text, size_t max)
{
	if (!text || text[0] == '\0')
		return;
	put_bytes(writer, opening, opening_len);
	if (!put_plain(writer, text, max))
		put_any(writer, text, max);
	put_bytes(writer, "\"", 1);
}

#define PUT_TEXT(writer, name, text, max)                                                          \
	put_opened(writer, ",\"" name "\":\"", sizeof(",\"" name "\":\"") - 1, text, max)

static void put_number(struct writer *writer, uint64_t value)
{
	put_digits(writer, value > INT64_MAX ? INT64_MAX : value, 1);
}

#define PUT_NUMBER(writer, name, value) (PUT_NAME(writer, name), put_number(writer, value))

#define PUT_WORD(writer, name, word)                                                               \
	(PUT_NAME(writer, name), put_bytes(writer, word, sizeof(word) - 1))

static void put_status(struct writer *writer, int status)
{
	PUT_NAME(writer, "status");
	put_bytes(writer, "-", status < 0);
	put_digits(writer, (uint64_t)(status < 0 ? -(int64_t)status : status), 1);
}

/* RFC 3339 §5.6, UTC, microseconds. */
static void put_time(struct writer *writer, int64_t wall_us)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm parts;

	if (wall_us < 0 || !gmtime_r(&seconds, &parts)) {
		put_bytes(writer, "\"\"", 2);
		return;
	}
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

	put_bytes(writer, "\"", 1);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		put_digits(writer, fields[i].value, fields[i].width);
		put_bytes(writer, &fields[i].after, 1);
	}
	put_bytes(writer, "\"", 1);
}

static void record_facts(struct writer *writer, const struct policy_facts *facts)
{
	char client[ADDR_TEXT_MAX];

	if (facts->way != POLICY_WAY_NONE)
		PUT_TEXT(writer, "way", policy_way_name(facts->way), RECORD_NAME_MAX);
	if (facts->peer.family != 0)
		PUT_TEXT(writer, "client", addr_text(&facts->peer, client), sizeof(client));
	if (facts->dst.host[0] == '\0')
		return;
	PUT_TEXT(writer, "host", facts->dst.host, POLICY_HOST_MAX);
	PUT_TEXT(writer, "protocol", policy_protocol_name(facts->dst.protocol), RECORD_NAME_MAX);
	PUT_NUMBER(writer, "port", facts->dst.port);
}

static void record_start(struct writer *writer, const struct sink_start *start)
{
	PUT_TEXT(writer, "user", start->user, RECORD_NAME_MAX);
	PUT_TEXT(writer, "host", start->host, RECORD_NAME_MAX);
	PUT_TEXT(writer, "cwd", start->cwd, RECORD_COMMAND_MAX);
	PUT_TEXT(writer, "version", start->version, RECORD_NAME_MAX);
	PUT_TEXT(writer, "digest", start->digest, RECORD_NAME_MAX);
	if (start->observes)
		PUT_WORD(writer, "observe", "true");
}

static void record_late(struct writer *writer, const struct sink_late *late)
{
	PUT_TEXT(writer, "by", late->by, RECORD_NAME_MAX);
	PUT_TEXT(writer, "question", late->question, RECORD_NAME_MAX);
	PUT_TEXT(writer, "said", late->said, RECORD_TEXT_MAX);
	PUT_NUMBER(writer, "answers", late->answers);
}

static void record_gap(struct writer *writer, const struct sink_gap *gap)
{
	PUT_NAME(writer, "since");
	put_time(writer, gap->since_us);
	PUT_NUMBER(writer, "denied", gap->denied);
	PUT_NUMBER(writer, "lost", gap->lost);
}

static void record_checkpoint(struct writer *writer, const struct sink_checkpoint *checkpoint)
{
	PUT_TEXT(writer, "log", checkpoint->log, RECORD_NAME_MAX);
	PUT_TEXT(writer, "key", checkpoint->key, RECORD_NAME_MAX);
	PUT_NUMBER(writer, "oldest", checkpoint->first);
	if (checkpoint->after != 0)
		PUT_NUMBER(writer, "after", checkpoint->after);
	PUT_TEXT(writer, "replaces", checkpoint->replaces, RECORD_NAME_MAX);
}

static void record_outcome(struct writer *writer, const struct sink_record *record)
{
	const struct policy_verdict *verdict = record->verdict;
	char resolved[ADDR_TEXT_MAX];

	if (verdict)
		PUT_TEXT(writer, "action", policy_action_name(verdict->action), RECORD_NAME_MAX);
	if (record->reason != POLICY_NONE)
		PUT_TEXT(writer, "reason", policy_reason_code(record->reason), RECORD_NAME_MAX);
	if (verdict)
		PUT_TEXT(writer, "by", verdict->by, sizeof(verdict->by));
	PUT_TEXT(writer, "through", record->through, RECORD_NAME_MAX);
	if (record->late)
		record_late(writer, record->late);
	if (record->gap)
		record_gap(writer, record->gap);
	if (record->times) {
		PUT_NUMBER(writer, "times", record->times->count);
		PUT_NAME(writer, "first");
		put_time(writer, record->times->first_us);
		PUT_NAME(writer, "last");
		put_time(writer, record->times->last_us);
	}
	if (record->checkpoint)
		record_checkpoint(writer, record->checkpoint);
	if (record->facts)
		record_facts(writer, record->facts);
	if (record->resolved.family != 0)
		PUT_TEXT(writer, "resolved", addr_text(&record->resolved, resolved),
			 sizeof(resolved));
	PUT_TEXT(writer, "resolved_by", record->is_resolved_upstream ? "upstream" : NULL,
		 RECORD_NAME_MAX);
	if (verdict) {
		PUT_TEXT(writer, "rule", verdict->rule, RECORD_TEXT_MAX);
		PUT_TEXT(writer, "because", verdict->because, RECORD_TEXT_MAX);
	}
	PUT_TEXT(writer, "files", record->files, RECORD_TEXT_MAX);
	PUT_TEXT(writer, "digest", record->digest, RECORD_NAME_MAX);
	PUT_TEXT(writer, "cause", record->cause, RECORD_TEXT_MAX);
	PUT_TEXT(writer, "from", record->from, RECORD_NAME_MAX);
	PUT_TEXT(writer, "from_run", record->from_run, RECORD_NAME_MAX);
}

static int64_t record_clock(clockid_t clock, int64_t per_s)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now); /* these two clocks always exist */
	return (int64_t)now.tv_sec * per_s + now.tv_nsec / (1000000000 / per_s);
}

void record_stamp(struct sink_record *record)
{
	record->wall_us = record_clock(CLOCK_REALTIME, 1000000);
	record->mono_ms = record_clock(CLOCK_MONOTONIC, 1000);
}

ssize_t record_members(const struct sink_record *record, char *out, size_t size)
{
	struct writer writer = { .at = out, .end = out + size };

	PUT_NAME(&writer, "time");
	put_time(&writer, record->wall_us);
	PUT_NUMBER(&writer, "mono", (uint64_t)record->mono_ms);
	PUT_TEXT(&writer, "session", record->session, RECORD_NAME_MAX);
	PUT_TEXT(&writer, "run", record->run, RECORD_NAME_MAX);
	if (record->exec != 0)
		PUT_NUMBER(&writer, "exec", record->exec);
	PUT_TEXT(&writer, "event", event_names[record->event], RECORD_NAME_MAX);
	PUT_TEXT(&writer, "command", record->command, RECORD_COMMAND_MAX);
	PUT_TEXT(&writer, "program", record->program, RECORD_TEXT_MAX);
	PUT_TEXT(&writer, "kind", record->kind, RECORD_NAME_MAX);
	PUT_TEXT(&writer, "grants", record->grants, RECORD_TEXT_MAX);
	if (record->is_unconfined)
		PUT_WORD(&writer, "confined", "false");
	if (record->is_retry)
		PUT_WORD(&writer, "retry", "true");
	PUT_TEXT(&writer, "chain", record->chain, RECORD_TEXT_MAX);
	if (record->start)
		record_start(&writer, record->start);
	if (record->event == SINK_EXEC_END || record->has_status)
		put_status(&writer, record->exit_status);
	record_outcome(&writer, record);
	if (record->has_traffic) {
		PUT_NUMBER(&writer, "bytes_up", record->bytes_up);
		PUT_NUMBER(&writer, "bytes_down", record->bytes_down);
	}
	if (record->has_traffic || record->duration_ms > 0)
		PUT_NUMBER(&writer, "duration_ms", record->duration_ms);
	if (record->waited_ms > 0)
		PUT_NUMBER(&writer, "waited_ms", record->waited_ms);
	return writer.is_full ? -E2BIG : writer.at - out;
}
