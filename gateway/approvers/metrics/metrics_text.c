/* The format is described at prometheus.io/docs/instrumenting/exposition_formats. */
#include "gateway/approvers/metrics/metrics_text.h"

#include <errno.h>
#include <event2/buffer.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "gateway/audit/record.h"

struct text {
	struct evbuffer *out;
	bool is_full; /* out of memory */
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->is_full |= evbuffer_add_vprintf(text->out, format, args) < 0;
	va_end(args);
}

static void put_head(struct text *text, const char *name, const char *type, const char *help)
{
	put(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(struct text *text, const char *name, const char *type, const char *help,
		    uint64_t value)
{
	put_head(text, name, type, help);
	put(text, "%s %" PRIu64 "\n", name, value);
}

/* A value of a label has its own escapes. */
static void put_escaped(struct text *text, const char *value)
{
	while (*value != '\0') {
		int plain = (int)strcspn(value, "\\\"\n");

		put(text, "%.*s", plain, value);
		value += plain;
		if (*value != '\0')
			put(text, "\\%c", *value == '\n' ? 'n' : *value);
		value += *value != '\0';
	}
}

static void put_times(struct text *text, const char *name, const char *help,
		      const struct metrics_times *times, const struct metrics_bounds *bounds)
{
	uint64_t count = 0;

	put_head(text, name, "histogram", help);
	for (size_t i = 0; i < bounds->count; i++) {
		count += times->parts[i];
		put(text, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name, bounds->list[i].text, count);
	}
	count += times->parts[bounds->count];
	put(text, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, count);
	put(text, "%s_sum %" PRIu64 ".%03u\n", name, times->sum_ms / 1000,
	    (unsigned int)(times->sum_ms % 1000));
	put(text, "%s_count %" PRIu64 "\n", name, count);
}

static void put_decisions(struct text *text, const struct metrics_counts *counts)
{
	put_head(text, "sallyport_decisions_total", "counter",
		 "Decisions in the audit log, by verdict, by what was asked for, and by reason.");
	for (int answer = 0; answer < METRICS_ANSWERS; answer++) {
		for (int kind = 0; kind < METRICS_KINDS; kind++) {
			for (int reason = 0; reason < POLICY_REASON_COUNT; reason++) {
				uint64_t value = counts->decisions[answer][kind][reason];

				if (value == 0)
					continue;
				put(text,
				    "sallyport_decisions_total{verdict=\"%s\",kind=\"%s\",reason="
				    "\"%s\"} %" PRIu64 "\n",
				    metrics_counts_answer_name((enum metrics_answer)answer),
				    metrics_counts_kind_name((enum metrics_kind)kind),
				    policy_reason_code((enum policy_reason)reason), value);
			}
		}
	}
}

static void put_rule(struct text *text, const char *place, const uint64_t *decisions)
{
	for (int answer = 0; answer < METRICS_ANSWERS; answer++) {
		if (decisions[answer] == 0)
			continue;
		put(text, "sallyport_rule_decisions_total{rule=\"");
		put_escaped(text, place);
		put(text, "\",verdict=\"%s\"} %" PRIu64 "\n",
		    metrics_counts_answer_name((enum metrics_answer)answer), decisions[answer]);
	}
}

static void put_rules(struct text *text, const struct metrics_counts *counts)
{
	put_head(text, "sallyport_rule_decisions_total", "counter",
		 "Decisions by the rule that matched, as FILE:LINE; after the first 200 rules: "
		 "other.");
	for (size_t i = 0; i < counts->rule_count; i++)
		put_rule(text, counts->rules[i].place, counts->rules[i].decisions);
	put_rule(text, "other", counts->other_rules);
}

static void put_questions(struct text *text, const struct metrics_counts *counts)
{
	put_head(text, "sallyport_questions_total", "counter",
		 "Questions about destinations that ended, by protocol, by their end, and by what "
		 "ended them.");
	for (int answer = 0; answer < METRICS_ANSWERS; answer++) {
		for (int kind = 0; kind < METRICS_KINDS; kind++) {
			for (int source = 0; source < METRICS_SOURCES; source++) {
				uint64_t value = counts->questions[answer][kind][source];

				if (value == 0)
					continue;
				put(text,
				    "sallyport_questions_total{kind=\"%s\",decision=\"%s\",source="
				    "\"%s\"} %" PRIu64 "\n",
				    metrics_counts_kind_name((enum metrics_kind)kind),
				    metrics_counts_answer_name((enum metrics_answer)answer),
				    metrics_counts_source_name((enum metrics_source)source), value);
			}
		}
	}
}

static void put_closed(struct text *text, const struct metrics_counts *counts)
{
	put_head(
		text, "sallyport_connections_total", "counter",
		"Connections (of HTTP: requests) that were allowed and have ended, by protocol and "
		"by how they ended.");
	for (int kind = 0; kind < METRICS_KINDS; kind++) {
		for (int reason = 0; reason < POLICY_REASON_COUNT; reason++) {
			uint64_t value = counts->closed[kind][reason];

			if (value == 0)
				continue;
			put(text,
			    "sallyport_connections_total{kind=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
			    metrics_counts_kind_name((enum metrics_kind)kind),
			    policy_reason_code((enum policy_reason)reason), value);
		}
	}
}

static void put_bytes(struct text *text, const struct metrics_counts *counts)
{
	put_head(text, "sallyport_bytes_total", "counter",
		 "Bytes of the connections that have ended: up, to servers; down, from them.");
	put(text, "sallyport_bytes_total{direction=\"up\"} %" PRIu64 "\n", counts->bytes_up);
	put(text, "sallyport_bytes_total{direction=\"down\"} %" PRIu64 "\n", counts->bytes_down);
}

static void put_records(struct text *text, const struct metrics_counts *counts)
{
	put_head(text, "sallyport_records_total", "counter",
		 "Records for the audit log, by event.");
	for (int event = 0; event < SINK_EVENT_COUNT; event++)
		if (counts->records[event] > 0)
			put(text, "sallyport_records_total{event=\"%s\"} %" PRIu64 "\n",
			    record_event_name((enum sink_event)event), counts->records[event]);
}

static void put_losses(struct text *text, const struct metrics_now *now)
{
	put_one(text, "sallyport_audit_writable", "gauge",
		"1: records can be written. 0: they cannot, and everything is denied.",
		now->is_recording);
	put_one(text, "sallyport_audit_denied_total", "counter",
		"Requests that were denied because their record could not be written.",
		now->denied);
	put_one(text, "sallyport_audit_dropped_total", "counter",
		"Other records that were dropped while none could be written.", now->lost);
}

int metrics_text(struct evbuffer *out, const struct metrics_counts *counts,
		 const struct metrics_now *now)
{
	struct text text = { .out = out };

	put_head(&text, "sallyport_build_info", "gauge", "Always 1; the label is the version.");
	put(&text, "sallyport_build_info{version=\"");
	put_escaped(&text, now->version);
	put(&text, "\"} 1\n");
	put_decisions(&text, counts);
	put_rules(&text, counts);
	put_times(&text, "sallyport_decision_seconds",
		  "Time from a request to its decision, with the time that its question waited.",
		  &counts->decided, &metrics_counts_waits);
	put_questions(&text, counts);
	put_one(&text, "sallyport_questions_waiting", "gauge",
		"Questions about destinations that wait for an answer.", counts->waiting);
	put_times(&text, "sallyport_answer_seconds",
		  "Time from a question to its answer by a person or a reviewer.",
		  &counts->answered, &metrics_counts_waits);
	put_one(&text, "sallyport_connections_open", "gauge",
		"Connections (of HTTP: requests) that were allowed and have not ended.",
		now->connections);
	put_closed(&text, counts);
	put_times(&text, "sallyport_connection_seconds",
		  "How long connections were open, from the decision to the end.", &counts->open,
		  &metrics_counts_opens);
	put_times(&text, "sallyport_dns_seconds",
		  "Time from a lookup of a name to its addresses, or to a failure.", &counts->named,
		  &metrics_counts_steps);
	put_times(&text, "sallyport_dial_seconds",
		  "Time from the first attempt to connect to a server or an upstream proxy to a "
		  "connection, or to a failure.",
		  &counts->dialled, &metrics_counts_steps);
	put_bytes(&text, counts);
	put_records(&text, counts);
	put_losses(&text, now);
	put_one(&text, "sallyport_grants", "gauge", "Remembered answers that are valid.",
		now->grants);
	put_one(&text, "sallyport_workers", "gauge", "Processes that carry connections.",
		now->workers);
	return text.is_full ? -ENOMEM : 0;
}
