#include "gateway/sinks/record.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
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
	[SINK_GRANTED] = "granted",
	[SINK_REVIEWED] = "reviewed",
	[SINK_REVOKED] = "revoked",
	[SINK_POLICY_RELOADED] = "policy_reloaded",
	[SINK_POLICY_RELOAD_FAILED] = "policy_reload_failed",
};

/* At most @max bytes of @text, whole characters where it is UTF-8; where it is not, every odd byte
 * is shown as \xNN. */
static void record_text(json_t *object, const char *name, const char *text, size_t max)
{
	if (!text || text[0] == '\0')
		return;
	size_t len = strnlen(text, max);

	while (len > 0 && text[len] != '\0' && (text[len] & 0xc0) == 0x80)
		len--;
	json_t *value = json_stringn(text, len);

	if (!value) {
		size_t size = strnlen(text, max) * 4 + 1;
		auto_free char *shown = mem_new(size);

		(void)text_visible(shown, size, text, strnlen(text, max));
		value = json_string(shown);
	}
	(void)json_object_set_new(object, name, value); /* out of memory: seen by the dump */
}

static void record_number(json_t *object, const char *name, uint64_t value)
{
	json_int_t kept = value > INT64_MAX ? INT64_MAX : (json_int_t)value;

	(void)json_object_set_new(object, name, json_integer(kept)); /* as above */
}

/* RFC 3339 §5.6, UTC, microseconds. */
static void record_time(json_t *object, int64_t wall_us)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	char date[32], text[48];
	struct tm parts;

	if (!gmtime_r(&seconds, &parts))
		return;
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(text, sizeof(text), "%s.%06dZ", date, (int)(wall_us % 1000000));
	record_text(object, "time", text, sizeof(text));
}

static void record_facts(json_t *object, const struct policy_facts *facts)
{
	if (facts->way != POLICY_WAY_NONE)
		record_text(object, "way", policy_way_name(facts->way), RECORD_NAME_MAX);
	if (facts->dst.host[0] == '\0')
		return;
	record_text(object, "host", facts->dst.host, POLICY_HOST_MAX);
	record_text(object, "protocol", policy_protocol_name(facts->dst.protocol), RECORD_NAME_MAX);
	record_number(object, "port", facts->dst.port);
}

static void record_outcome(json_t *object, const struct sink_record *record)
{
	const struct policy_verdict *verdict = record->verdict;
	char resolved[ADDR_TEXT_MAX];

	if (verdict)
		record_text(object, "action", policy_action_name(verdict->action), RECORD_NAME_MAX);
	if (record->reason != POLICY_NONE)
		record_text(object, "reason", policy_reason_code(record->reason), RECORD_NAME_MAX);
	if (verdict)
		record_text(object, "by", verdict->by, sizeof(verdict->by));
	if (record->facts)
		record_facts(object, record->facts);
	if (record->resolved.family != 0)
		record_text(object, "resolved", addr_text(&record->resolved, resolved),
			    sizeof(resolved));
	if (verdict) {
		record_text(object, "rule", verdict->rule, RECORD_TEXT_MAX);
		record_text(object, "because", verdict->because, RECORD_TEXT_MAX);
	}
	record_text(object, "files", record->files, RECORD_TEXT_MAX);
	record_text(object, "digest", record->digest, RECORD_NAME_MAX);
	record_text(object, "cause", record->cause, RECORD_TEXT_MAX);
}

ssize_t record_line(const struct sink_record *record, uint64_t seq, const char *prev, char *out,
		    size_t size)
{
	json_t *object = json_object();

	record_number(object, "seq", seq);
	record_time(object, record->wall_us);
	record_number(object, "mono", (uint64_t)record->mono_ms);
	record_text(object, "session", record->session, RECORD_NAME_MAX);
	record_text(object, "run", record->run, RECORD_NAME_MAX);
	if (record->exec != 0)
		record_number(object, "exec", record->exec);
	record_text(object, "event", event_names[record->event], RECORD_NAME_MAX);
	record_text(object, "command", record->command, RECORD_COMMAND_MAX);
	if (record->event == SINK_EXEC_END)
		(void)json_object_set_new(object, "status", json_integer(record->exit_status));
	record_outcome(object, record);
	if (record->has_traffic) {
		record_number(object, "bytes_up", record->bytes_up);
		record_number(object, "bytes_down", record->bytes_down);
	}
	if (record->has_traffic || record->duration_ms > 0)
		record_number(object, "duration_ms", record->duration_ms);
	record_text(object, "prev", prev, RECORD_NAME_MAX);
	size_t len = json_dumpb(object, out, size, JSON_COMPACT | JSON_ENSURE_ASCII);

	json_decref(object);
	return len == 0 || len > size ? -E2BIG : (ssize_t)len;
}
