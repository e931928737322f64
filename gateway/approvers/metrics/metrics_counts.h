/* metrics_counts: what happened since the start, as numbers. Nothing that a command chooses is
 * counted apart, so their number has a limit. Private to metrics*.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gateway/audit/sink_impl.h"
#include "policies/policies.h"

struct approver_end;

#define METRICS_BOUNDS_MAX 10
#define METRICS_RULES_MAX  200 /* with a number of their own; the others share one */
#define METRICS_RULE_BYTES 256 /* of "FILE:LINE"; a longer one counts as another */

/* What is decided: a protocol, or what agents ask for. */
enum metrics_kind {
	METRICS_HTTP,
	METRICS_HTTPS,
	METRICS_TCP,
	METRICS_UDP,
	METRICS_EXEC,
	METRICS_PATCH,
	METRICS_PERMISSIONS,
	METRICS_ELICITATION,
	METRICS_PROGRAM,
	METRICS_NETWORK,
	METRICS_OTHER,
	METRICS_KINDS
};

/* What ended a question. */
enum metrics_source {
	METRICS_BY_TERMINAL,
	METRICS_BY_PAGE,
	METRICS_BY_APPROVE,
	METRICS_BY_PERSON, /* through something else */
	METRICS_BY_REVIEWER,
	METRICS_BY_POLICY,    /* it was changed */
	METRICS_BY_TIMEOUT,   /* nobody answered in time, */
	METRICS_BY_NOBODY,    /* or nobody could */
	METRICS_BY_REQUESTER, /* it waits no longer */
	METRICS_SOURCES
};

enum metrics_answer { METRICS_DENY, METRICS_ALLOW, METRICS_ANSWERS };

/* The upper bounds of the parts of a distribution, rising; the last part has none. */
struct metrics_bounds {
	size_t count;
	struct metrics_bound {
		int64_t ms;
		const char *text; /* in seconds */
	} list[METRICS_BOUNDS_MAX];
};
struct metrics_times {
	uint64_t parts[METRICS_BOUNDS_MAX + 1]; /* each without those before it */
	uint64_t sum_ms;
};
extern const struct metrics_bounds metrics_counts_waits; /* of decisions and answers */
extern const struct metrics_bounds metrics_counts_opens; /* how long a connection was open */
extern const struct metrics_bounds metrics_counts_steps; /* of names and connections */

struct metrics_rule {
	uint64_t hash;
	char place[METRICS_RULE_BYTES]; /* visible text */
	uint64_t decisions[METRICS_ANSWERS];
};

/* Zeroed at first; done() frees what it holds. */
struct metrics_counts {
	uint64_t decisions[METRICS_ANSWERS][METRICS_KINDS][POLICY_REASON_COUNT];
	uint64_t closed[METRICS_KINDS][POLICY_REASON_COUNT];
	uint64_t questions[METRICS_ANSWERS][METRICS_KINDS][METRICS_SOURCES];
	uint64_t records[SINK_EVENT_COUNT];
	uint64_t bytes_up, bytes_down;
	uint64_t waiting; /* questions */
	struct metrics_times decided, answered, open, named, dialled;
	struct metrics_rule *rules; /* owned, grows; */
	size_t rule_count, rule_room;
	uint64_t other_rules[METRICS_ANSWERS]; /* and the rest */
};

void metrics_counts_record(struct metrics_counts *counts, const struct sink_record *record);
void metrics_counts_asked(struct metrics_counts *counts);
void metrics_counts_ended(struct metrics_counts *counts, const struct approver_end *end);
void metrics_counts_done(struct metrics_counts *counts);

/* The words of labels. Static. */
const char *metrics_counts_kind_name(enum metrics_kind kind);
const char *metrics_counts_source_name(enum metrics_source source);
const char *metrics_counts_answer_name(enum metrics_answer answer);
