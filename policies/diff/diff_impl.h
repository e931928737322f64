/* diff: a finite set of requests, such that two policies that agree on these agree on all.
 * diff_cells.c and docs/decisions/0011 say why. diff_cells.c: hosts and addresses; diff_times.c:
 * times; diff_decide.c: one request; diff_limits.c: limits of an allow; diff_resolve.c: names and
 * the addresses they resolve to; diff_written.c: rules with conditions, which are compared as text;
 * diff_report.c: the report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/diff/diff_cells_impl.h"
#include "policies/diff/diff_limits_impl.h"
#include "policies/policies_tools.h"

#define DIFF_DECISIONS_MAX (1ULL << 29)

/* The part of a verdict that determines what may happen. */
struct diff_outcome {
	uint8_t action, promise, reason;
	bool may_private;
	uint32_t rule;   /* its number; 0: none */
	uint32_t limits; /* in diff->limits.seen; 0: none */
};

struct diff {
	const struct policy *sides[2];
	struct diff_marks marks;
	struct diff_cells names, addresses;
	size_t max, count;
	policy_change_fn report;
	void *arg;
	/* When rules end; [0] is the beginning, 0 if it is unknown. */
	int64_t *times;
	size_t time_count, time_room;
	size_t time; /* index of the current time */
	struct diff_limits limits;
	/* For the current host: by port and protocol. */
	struct diff_outcome *outcomes[2];
	uint64_t *codes;
	bool *is_told;
	uint64_t *line; /* for the current line of the report, by port and protocol */
	/* For the addresses reported last, whose lines may equal the current ones: public and
	 * private ones of a block. */
	uint64_t *told_codes;
	const struct diff_cell *told;
	/* A set of numbers, never 0, in open addressing: pairs of outcomes that agree on every
	 * address (independent of the name); digests of the reported lines. */
	struct diff_set {
		uint64_t *slots;
		size_t count, slot_count;
	} agreed, lines;
};

/* The slot of @number, or the free slot for it, with room for one more. */
uint64_t *diff_set_slot(struct diff_set *set, uint64_t number);

/* Fills diff->times. */
void diff_times(struct diff *diff);

static inline size_t diff_points(const struct diff *diff)
{
	return diff->marks.port_count * DIFF_CARRIES;
}

/* Marks the hosts that have rules with conditions, and reports the lines for those hosts that only
 * one policy has, at the first time. */
void diff_written(struct diff *diff);

enum policy_protocol diff_decide_carries(size_t number);
/* How two outcomes differ: their actions, promises and limits, or 0. Outcomes with equal codes get
 * equal texts. */
uint64_t diff_decide_code(struct diff *diff, const struct diff_outcome *before,
			  const struct diff_outcome *after, size_t point);
const char *diff_decide_what(uint64_t code); /* static */
static inline enum policy_action diff_code_action(uint64_t code, bool is_after)
{
	return (enum policy_action)(code >> (is_after ? 8 : 4) & 15);
}
/* A request to @cell at @point, without further properties. */
void diff_decide_facts(const struct diff *diff, const struct diff_cell *cell, size_t point,
		       struct policy_facts *ret);
/* Decides it with both policies, including when an allow ends and what shares its limits. */
uint64_t diff_decide_both(struct diff *diff, const struct policy_facts *facts, size_t point,
			  struct diff_outcome *before, struct diff_outcome *after);
/* May @addr be dialled in the end? Questions count as answered with allow, to see what may happen
 * then. */
void diff_decide_dial(const struct diff *diff, size_t side, const struct policy_facts *facts,
		      const struct diff_outcome *given, const struct addr *addr,
		      struct diff_outcome *ret);

/* Reports @change, if it is one of the first. */
void diff_report(struct diff *diff, const struct policy_change *change);
/* Reports diff->codes: one line for each protocol and each kind of difference, with all its
 * ports. */
void diff_report_codes(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved);
/* @cell: addresses. Reports them unless the same line was reported. */
void diff_report_addresses(struct diff *diff, const struct diff_cell *host,
			   const struct diff_cell *cell);

/* Where both policies would dial the name: checks every kind of address it can resolve to. @open:
 * room for all points. */
void diff_resolve(struct diff *diff, const struct diff_cell *cell, bool *open);
