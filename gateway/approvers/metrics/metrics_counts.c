#include "gateway/approvers/metrics/metrics_counts.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway_approver.h"

const struct metrics_bounds metrics_counts_waits = {
	10,
	{ { 1, "0.001" },
	  { 10, "0.01" },
	  { 100, "0.1" },
	  { 1000, "1" },
	  { 5000, "5" },
	  { 15000, "15" },
	  { 60000, "60" },
	  { 300000, "300" },
	  { 900000, "900" },
	  { 3600000, "3600" } },
};
const struct metrics_bounds metrics_counts_opens = {
	9,
	{ { 10, "0.01" },
	  { 100, "0.1" },
	  { 1000, "1" },
	  { 10000, "10" },
	  { 60000, "60" },
	  { 300000, "300" },
	  { 3600000, "3600" },
	  { 21600000, "21600" },
	  { 86400000, "86400" } },
};

const struct metrics_bounds metrics_counts_steps = {
	10,
	{ { 5, "0.005" },
	  { 10, "0.01" },
	  { 25, "0.025" },
	  { 50, "0.05" },
	  { 100, "0.1" },
	  { 250, "0.25" },
	  { 500, "0.5" },
	  { 1000, "1" },
	  { 2500, "2.5" },
	  { 10000, "10" } },
};

static const char *const kind_names[METRICS_KINDS] = {
	[METRICS_HTTP] = "http",
	[METRICS_HTTPS] = "https",
	[METRICS_TCP] = "tcp",
	[METRICS_UDP] = "udp",
	[METRICS_EXEC] = "exec",
	[METRICS_PATCH] = "patch",
	[METRICS_PERMISSIONS] = "permissions",
	[METRICS_ELICITATION] = "elicitation",
	[METRICS_PROGRAM] = "program",
	[METRICS_NETWORK] = "network",
	[METRICS_OTHER] = "other",
};
static const char *const source_names[METRICS_SOURCES] = {
	[METRICS_BY_TERMINAL] = "terminal",   [METRICS_BY_PAGE] = "page",
	[METRICS_BY_APPROVE] = "approve",     [METRICS_BY_PERSON] = "person",
	[METRICS_BY_REVIEWER] = "reviewer",   [METRICS_BY_POLICY] = "policy",
	[METRICS_BY_TIMEOUT] = "timeout",     [METRICS_BY_NOBODY] = "nobody",
	[METRICS_BY_REQUESTER] = "requester",
};

const char *metrics_counts_kind_name(enum metrics_kind kind)
{
	return kind_names[kind];
}

const char *metrics_counts_source_name(enum metrics_source source)
{
	return source_names[source];
}

const char *metrics_counts_answer_name(enum metrics_answer answer)
{
	return policy_action_name(answer == METRICS_ALLOW ? POLICY_ALLOW : POLICY_DENY);
}

static enum metrics_answer answer_of(enum policy_action action)
{
	return action == POLICY_ALLOW ? METRICS_ALLOW : METRICS_DENY;
}

static enum metrics_kind kind_of_protocol(const struct policy_destination *dst)
{
	static const enum metrics_kind kinds[] = { [POLICY_NO_PROTOCOL] = METRICS_OTHER,
						   [POLICY_HTTP] = METRICS_HTTP,
						   [POLICY_HTTPS] = METRICS_HTTPS,
						   [POLICY_TCP] = METRICS_TCP,
						   [POLICY_UDP] = METRICS_UDP };

	return dst && (size_t)dst->protocol < ARRAY_SIZE(kinds) ? kinds[dst->protocol]
								: METRICS_OTHER;
}

static enum metrics_kind kind_of(const struct sink_record *record)
{
	if (!record->kind)
		return kind_of_protocol(record->facts ? &record->facts->dst : NULL);
	for (int kind = METRICS_EXEC; kind < METRICS_OTHER; kind++) {
		if (strcmp(kind_names[kind], record->kind) == 0)
			return (enum metrics_kind)kind;
	}
	return METRICS_OTHER;
}

static enum policy_reason reason_of(enum policy_reason reason)
{
	return (unsigned int)reason < POLICY_REASON_COUNT ? reason : POLICY_NONE;
}

static void add_time(struct metrics_times *times, const struct metrics_bounds *bounds, uint64_t ms)
{
	size_t part = 0;

	while (part < bounds->count && ms > (uint64_t)bounds->list[part].ms)
		part++;
	times->parts[part]++;
	times->sum_ms += ms;
}

/* The length of "FILE:LINE" in "FILE:LINE: the line"; 0: there is none, as for a default. */
static size_t place_length(const char *rule)
{
	const char *end = rule;

	while ((end = strstr(end, ": "))) {
		const char *digits = end;

		while (digits > rule && digits[-1] >= '0' && digits[-1] <= '9')
			digits--;
		if (digits < end && digits - rule > 1 && digits[-1] == ':')
			return (size_t)(end - rule);
		end += strlen(": ");
	}
	return 0;
}

/* NULL: it has none of its own. */
static struct metrics_rule *rule_at(struct metrics_counts *counts, const char *place, size_t len)
{
	uint64_t hash = len;

	for (size_t i = 0; i < len; i++)
		hash = hash_mix(hash, (unsigned char)place[i]);
	for (size_t i = 0; i < counts->rule_count; i++) {
		struct metrics_rule *rule = &counts->rules[i];

		if (rule->hash == hash && strncmp(rule->place, place, len) == 0 &&
		    rule->place[len] == '\0')
			return rule;
	}
	if (counts->rule_count == METRICS_RULES_MAX)
		return NULL;
	counts->rules = mem_reserve(counts->rules, &counts->rule_room, counts->rule_count + 1,
				    sizeof(*counts->rules));
	struct metrics_rule *rule = &counts->rules[counts->rule_count++];

	*rule = (struct metrics_rule){ .hash = hash };
	memcpy(rule->place, place, len);
	return rule;
}

static void count_rule(struct metrics_counts *counts, const char *rule, enum metrics_answer answer,
		       uint64_t times)
{
	size_t len = place_length(rule);
	struct metrics_rule *own = NULL;

	if (len == 0)
		return;
	if (len < METRICS_RULE_BYTES)
		own = rule_at(counts, rule, len);
	if (own)
		own->decisions[answer] += times;
	else
		counts->other_rules[answer] += times;
}

static void count_decision(struct metrics_counts *counts, const struct sink_record *record)
{
	enum metrics_answer answer = answer_of(record->verdict->action);
	uint64_t times = record->times ? record->times->count : 1;

	counts->decisions[answer][kind_of(record)][reason_of(record->reason)] += times;
	count_rule(counts, record->verdict->rule, answer, times);
	if (!record->times) /* counted denials have no time */
		add_time(&counts->decided, &metrics_counts_waits, record->duration_ms);
}

static void count_closed(struct metrics_counts *counts, const struct sink_record *record)
{
	counts->closed[kind_of(record)][reason_of(record->reason)]++;
	counts->bytes_up += record->bytes_up;
	counts->bytes_down += record->bytes_down;
	add_time(&counts->open, &metrics_counts_opens, record->duration_ms);
}

void metrics_counts_record(struct metrics_counts *counts, const struct sink_record *record)
{
	if ((unsigned int)record->event < SINK_EVENT_COUNT)
		counts->records[record->event]++;
	if (record->dns_ms > 0)
		add_time(&counts->named, &metrics_counts_steps, record->dns_ms);
	if (record->dial_ms > 0)
		add_time(&counts->dialled, &metrics_counts_steps, record->dial_ms);
	if (record->event == SINK_DECISION && record->verdict)
		count_decision(counts, record);
	else if (record->event == SINK_CLOSED)
		count_closed(counts, record);
}

void metrics_counts_asked(struct metrics_counts *counts)
{
	counts->waiting++;
}

/* @by: "ana on tty". */
static enum metrics_source source_of_person(const char *by)
{
	static const struct {
		const char *where;
		enum metrics_source source;
	} known[] = { { " on tty", METRICS_BY_TERMINAL },
		      { " on web", METRICS_BY_PAGE },
		      { " on approve", METRICS_BY_APPROVE } };
	size_t len = by ? strlen(by) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		size_t end = strlen(known[i].where);

		if (len > end && strcmp(by + len - end, known[i].where) == 0)
			return known[i].source;
	}
	return METRICS_BY_PERSON;
}

static enum metrics_source source_of(const struct approver_end *end)
{
	switch ((int)end->reason) {
	case POLICY_GRANTED_ONCE:
	case POLICY_GRANTED_EXEC:
	case POLICY_GRANTED_SESSION:
	case POLICY_GRANTED_ALWAYS:
	case POLICY_DENIED_ONCE:
	case POLICY_DENIED_EXEC:
	case POLICY_DENIED_SESSION:
	case POLICY_DENIED_ALWAYS:
	case POLICY_ABORTED:
		return source_of_person(end->by);
	case POLICY_GRANTED_REVIEW:
	case POLICY_DENIED_REVIEW:
		return METRICS_BY_REVIEWER;
	case POLICY_PROMPT_TIMEOUT:
		return METRICS_BY_TIMEOUT;
	case POLICY_NO_APPROVER:
	case POLICY_APPROVER_GONE:
	case POLICY_OVERLOADED:
	case POLICY_AUDIT_FAILED:
		return METRICS_BY_NOBODY;
	case POLICY_CLIENT_LEFT:
	case POLICY_WITHDRAWN:
	case POLICY_EXEC_ENDED:
	case POLICY_GATE_CLOSING:
		return METRICS_BY_REQUESTER;
	default:
		return METRICS_BY_POLICY;
	}
}

void metrics_counts_ended(struct metrics_counts *counts, const struct approver_end *end)
{
	enum metrics_source source = source_of(end);

	if (counts->waiting > 0)
		counts->waiting--;
	counts->questions[answer_of(end->action)][kind_of_protocol(end->about)][source]++;
	if (source <= METRICS_BY_REVIEWER)
		add_time(&counts->answered, &metrics_counts_waits, (uint64_t)end->age_ms);
}

void metrics_counts_done(struct metrics_counts *counts)
{
	free(counts->rules);
	*counts = (struct metrics_counts){ 0 };
}
