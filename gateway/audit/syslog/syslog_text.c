/* The members have the names that they have in the audit log. A receiver may show the text on a
 * terminal or split it into lines, so that every byte that is not printable ASCII is written as
 * \xNN, and each text is cut. */
#include "gateway/audit/syslog/syslog_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/audit/record.h"

#define FACILITY    10 /* authpriv: files that only the administrators read */
#define NUMBER_ROOM TEXT_DIGITS_MAX
#define END_ROOM    320
#define VALUE_MAX   128 /* of a text, unless a line below says otherwise */
#define WIDE_MAX    256

/* RFC 5424 §6.2.1 */
enum severity {
	SEVERITY_UNSET,
	SEVERITY_ERROR = 3,
	SEVERITY_WARNING,
	SEVERITY_NOTICE,
	SEVERITY_INFO
};

/* The message so far. What does not fit is left out, and never a part of an escape. */
struct writer {
	char *at, *end;
};

static bool put(struct writer *writer, const char *bytes, size_t len)
{
	if ((size_t)(writer->end - writer->at) < len)
		return false;
	memcpy(writer->at, bytes, len);
	writer->at += len;
	return true;
}

static void put_text(struct writer *writer, const char *text)
{
	(void)put(writer, text, strlen(text));
}

static void put_number(struct writer *writer, uint64_t value)
{
	char digits[TEXT_DIGITS_MAX];

	(void)put(writer, digits, text_from_u64(digits, value, 1));
}

/* One byte of a text; @is_value: between quotation marks (RFC 5424 §6.3.3). */
static bool put_byte(struct writer *writer, unsigned char byte, bool is_value)
{
	static const char hex[] = "0123456789abcdef";
	const char escaped[] = { '\\', (char)byte };
	const char shown[] = { '\\', '\\', 'x', hex[byte >> 4], hex[byte & 15] };
	const char plain = (char)byte;

	if (byte < 0x20 || byte >= 0x7f)
		return put(writer, shown + !is_value, sizeof(shown) - !is_value);
	if (is_value && (byte == '"' || byte == '\\' || byte == ']'))
		return put(writer, escaped, sizeof(escaped));
	return put(writer, &plain, 1);
}

static void put_visible(struct writer *writer, const char *text, size_t max, bool is_value)
{
	size_t i = 0;

	while (i < max && text[i] != '\0' && put_byte(writer, (unsigned char)text[i], is_value))
		i++;
	if (text[i] != '\0')
		put_text(writer, "...");
}

/* A member of the structured data. What does not fit is cut; the quotation mark after it fits. */
static void put_member(struct writer *writer, const char *name, const char *text, size_t max)
{
	struct writer value = *writer;

	if (!text || text[0] == '\0' || value.at == value.end)
		return;
	value.end--;
	if (!put(&value, " ", 1) || !put(&value, name, strlen(name)) || !put(&value, "=\"", 2))
		return;
	put_visible(&value, text, max, true);
	value.end++;
	put_text(&value, "\"");
	writer->at = value.at;
}

static void put_count(struct writer *writer, const char *name, uint64_t value)
{
	char digits[TEXT_DIGITS_MAX + 1] = "";

	digits[text_from_u64(digits, value, 1)] = '\0';
	put_member(writer, name, digits, sizeof(digits));
}

static enum severity severity_of(const struct sink_record *record)
{
	static const enum severity severities[SINK_EVENT_COUNT] = {
		[SINK_GAP] = SEVERITY_ERROR,          [SINK_KILLED] = SEVERITY_ERROR,
		[SINK_WORKER_ENDED] = SEVERITY_ERROR, [SINK_REFUSED] = SEVERITY_NOTICE,
		[SINK_MADE] = SEVERITY_NOTICE,        [SINK_LIMIT] = SEVERITY_NOTICE,
		[SINK_LATE] = SEVERITY_NOTICE,        [SINK_POLICY_RELOAD_FAILED] = SEVERITY_NOTICE,
	};

	if (record->event == SINK_DECISION && record->verdict &&
	    record->verdict->action != POLICY_ALLOW)
		return SEVERITY_WARNING;
	return severities[record->event] ? severities[record->event] : SEVERITY_INFO;
}

/* RFC 5424 §6.2.3 */
static void put_time(struct writer *writer, int64_t wall_us)
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm parts;
	char text[64] = "-";

	if (wall_us >= 0 && gmtime_r(&seconds, &parts))
		(void)snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
			       parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
			       parts.tm_min, parts.tm_sec, (int)(wall_us % 1000000));
	put_text(writer, text);
}

/* 32473 is the number for private use in documentation (RFC 5612), because this program has none of
 * its own. */
static void put_head(struct writer *writer, const struct syslog_text_origin *origin,
		     const struct sink_record *record, enum severity severity, const char *event)
{
	char priority[32];

	(void)snprintf(priority, sizeof(priority), "<%d>1 ", FACILITY * 8 + (int)severity);
	put_text(writer, priority);
	put_time(writer, record->wall_us);
	put_text(writer, " ");
	put_text(writer, origin->machine);
	put_text(writer, " sallyport ");
	put_number(writer, (uint64_t)origin->pid);
	put_text(writer, " ");
	put_text(writer, event);
	put_text(writer, " [sallyport@32473 seq=\"");
}

static void put_whose(struct writer *writer, const struct sink_record *record, const char *event)
{
	put_text(writer, "\"");
	put_member(writer, "run", record->run, VALUE_MAX);
	put_member(writer, "session", record->session, VALUE_MAX);
	if (record->exec != 0)
		put_count(writer, "exec", record->exec);
	put_member(writer, "event", event, VALUE_MAX);
}

static void put_subject(struct writer *writer, const struct sink_record *record)
{
	const struct policy_facts *facts = record->facts;
	char text[ADDR_TEXT_MAX];

	put_member(writer, "kind", record->kind, VALUE_MAX);
	if (facts && facts->way != POLICY_WAY_NONE)
		put_member(writer, "way", policy_way_name(facts->way), VALUE_MAX);
	if (facts && facts->peer.family != 0)
		put_member(writer, "client", addr_text(&facts->peer, text), VALUE_MAX);
	if (facts && facts->dst.host[0] != '\0') {
		put_member(writer, "host", facts->dst.host, WIDE_MAX);
		put_member(writer, "protocol", policy_protocol_name(facts->dst.protocol),
			   VALUE_MAX);
		put_count(writer, "port", facts->dst.port);
	}
	if (record->resolved.family != 0)
		put_member(writer, "resolved", addr_text(&record->resolved, text), VALUE_MAX);
}

static void put_outcome(struct writer *writer, const struct sink_record *record)
{
	const struct policy_verdict *verdict = record->verdict;

	if (verdict)
		put_member(writer, "action", policy_action_name(verdict->action), VALUE_MAX);
	if (record->reason != POLICY_NONE)
		put_member(writer, "reason", policy_reason_code(record->reason), VALUE_MAX);
	if (verdict) {
		put_member(writer, "by", verdict->by, VALUE_MAX);
		put_member(writer, "rule", verdict->rule, WIDE_MAX);
	}
	if (record->times)
		put_count(writer, "times", record->times->count);
	if (record->gap) {
		put_count(writer, "denied", record->gap->denied);
		put_count(writer, "lost", record->gap->lost);
	}
	if (record->start)
		put_member(writer, "user", record->start->user, VALUE_MAX);
	put_member(writer, "program", record->program, WIDE_MAX);
	put_member(writer, "command", record->command, WIDE_MAX);
	put_member(writer, "cause", record->cause, WIDE_MAX);
	if (record->event == SINK_EXEC_END || record->has_status) {
		char status[16];

		(void)snprintf(status, sizeof(status), "%d", record->exit_status);
		put_member(writer, "status", status, sizeof(status));
	}
	if (record->has_traffic) {
		put_count(writer, "bytes_up", record->bytes_up);
		put_count(writer, "bytes_down", record->bytes_down);
	}
}

/* "decision: deny https://a.test:443: rule_deny" */
static void put_sentence(struct writer *writer, const struct sink_record *record, const char *event)
{
	const struct policy_facts *facts = record->facts;
	const char *what = record->cause ? record->cause : record->command;

	put_text(writer, event);
	put_text(writer, ":");
	if (record->verdict && record->event == SINK_DECISION) {
		put_text(writer, " ");
		put_text(writer, policy_action_name(record->verdict->action));
	}
	if (facts && facts->dst.host[0] != '\0') {
		bool is_ipv6 = strchr(facts->dst.host, ':') != NULL;

		put_text(writer, " ");
		put_text(writer, policy_protocol_name(facts->dst.protocol));
		put_text(writer, is_ipv6 ? "://[" : "://");
		put_visible(writer, facts->dst.host, WIDE_MAX, false);
		put_text(writer, is_ipv6 ? "]:" : ":");
		put_number(writer, facts->dst.port);
	} else if (what && what[0] != '\0') {
		put_text(writer, " ");
		put_visible(writer, what, WIDE_MAX, false);
	}
	if (record->reason != POLICY_NONE) {
		put_text(writer, " (");
		put_text(writer, policy_reason_code(record->reason));
		put_text(writer, ")");
	}
}

void syslog_text_origin(struct syslog_text_origin *ret)
{
	*ret = (struct syslog_text_origin){ .pid = (long)getpid() };
	if (gethostname(ret->machine, sizeof(ret->machine) - 1) < 0)
		ret->machine[0] = '\0';
	for (char *at = ret->machine; *at; at++) { /* RFC 5424 §6: PRINTUSASCII */
		if (*at <= ' ' || *at > '~')
			*at = '_';
	}
	if (ret->machine[0] == '\0')
		(void)snprintf(ret->machine, sizeof(ret->machine), "-");
}

/* The number is added later, so that its digits have to fit, too; and the end of the data, and a
 * sentence. */
static struct writer writer_of(char out[SYSLOG_TEXT_MAX])
{
	return (struct writer){ out, out + SYSLOG_TEXT_MAX - NUMBER_ROOM - END_ROOM };
}

size_t syslog_text_record(const struct syslog_text_origin *origin, const struct sink_record *record,
			  char out[SYSLOG_TEXT_MAX], size_t *ret_number_at)
{
	const char *event = record_event_name(record->event);
	struct writer writer = writer_of(out);

	put_head(&writer, origin, record, severity_of(record), event);
	*ret_number_at = (size_t)(writer.at - out);
	put_whose(&writer, record, event);
	put_subject(&writer, record);
	put_outcome(&writer, record);
	writer.end += END_ROOM;
	put_text(&writer, "] ");
	put_sentence(&writer, record, event);
	return (size_t)(writer.at - out);
}

size_t syslog_text_dropped(const struct syslog_text_origin *origin, const struct sink_record *like,
			   uint64_t count, char out[SYSLOG_TEXT_MAX], size_t *ret_number_at)
{
	struct writer writer = writer_of(out);

	put_head(&writer, origin, like, SEVERITY_ERROR, "dropped");
	*ret_number_at = (size_t)(writer.at - out);
	put_text(&writer, "\"");
	put_member(&writer, "run", like->run, VALUE_MAX);
	put_member(&writer, "session", like->session, VALUE_MAX);
	put_member(&writer, "event", "dropped", VALUE_MAX);
	put_count(&writer, "dropped", count);
	put_text(&writer, "] ");
	put_number(&writer, count);
	put_text(&writer, " records before this one were dropped; the audit log has them");
	return (size_t)(writer.at - out);
}
