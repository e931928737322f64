/* diff: the finite set of requests on which two policies have to agree to agree on all. Why these
 * are enough is said in diff_cells.c and docs/decisions/0050. diff_cells.c: hosts and addresses;
 * diff_times.c: when; diff_space.c: conditions; diff_decide.c: one request; diff_limits.c: how far
 * an allow goes; diff_resolve.c: names and what they resolve to; diff_cover.c: cases that differ
 * alike; diff_report.c: what is said of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policies/diff_cells_impl.h"
#include "policies/diff_limits_impl.h"
#include "policies/policies_tools.h"

#define DIFF_DECISIONS_MAX (1ULL << 29)
#define DIFF_TABLE_MAX     (1U << 22) /* cases and points of one host */

/* All of a verdict that says what may happen. */
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
	/* When something ends; [0] is the beginning, 0 where it is not known. */
	int64_t *times;
	size_t time_count, time_room;
	size_t time; /* at hand */
	struct diff_space *spaces;
	struct diff_limits limits;
	/* Of the host at hand: by case of its space, then by port and protocol. */
	struct diff_outcome *outcomes[2];
	uint64_t *codes;
	bool *is_told;
	uint64_t *line; /* of the line being told, by port and protocol */
	uint8_t *masks; /* of the line being told: see diff_cover() */
	/* Of the addresses told last, which may read like those at hand: public and private ones of
	 * a block. */
	uint64_t *told_codes;
	const struct diff_cell *told;
	/* Numbers, never 0, in open addressing: pairs of outcomes that were found to agree on every
	 * address (the name says nothing there); digests of the lines that were told. */
	struct diff_set {
		uint64_t *slots;
		size_t count, slot_count;
	} agreed, lines;
};

/* The slot of @number, or the free one where it belongs, with room for one more. */
uint64_t *diff_set_slot(struct diff_set *set, uint64_t number);

/* Fills diff->times. */
void diff_times(struct diff *diff);

static inline size_t diff_points(const struct diff *diff)
{
	return diff->marks.port_count * DIFF_CARRIES;
}

/* Which rules with conditions name each host, and so which cases there are. 0, -E2BIG, or -ENOTSUP
 * with words. */
int diff_cases_find(struct diff *diff, struct err *why);

enum policy_protocol diff_decide_carries(size_t number);
/* Does case @number of @space exist at @point? What promises tcp is a tunnel. */
bool diff_decide_applies(const struct diff_space *space, size_t number, size_t point);
/* How two outcomes differ: their actions, promises and limits, or 0. Equal codes read alike. */
uint64_t diff_decide_code(struct diff *diff, const struct diff_outcome *before,
			  const struct diff_outcome *after, size_t point);
const char *diff_decide_what(uint64_t code); /* static */
static inline enum policy_action diff_code_action(uint64_t code, bool is_after)
{
	return (enum policy_action)(code >> (is_after ? 8 : 4) & 15);
}
/* At @point, in case @number of the cell's space. */
void diff_decide_facts(const struct diff *diff, const struct diff_cell *cell, size_t number,
		       size_t point, struct policy_facts *ret);
/* The same at both sides, with all that can differ: when what is allowed is cut, and what is
 * counted together. */
uint64_t diff_decide_both(struct diff *diff, const struct policy_facts *facts, size_t point,
			  struct diff_outcome *before, struct diff_outcome *after);
/* May @addr be dialled, after all? A question is taken as answered with yes: for what may happen
 * then. */
void diff_decide_dial(const struct diff *diff, size_t side, const struct policy_facts *facts,
		      const struct diff_outcome *given, const struct addr *addr,
		      struct diff_outcome *ret);

/* Tells diff->codes: one line for each protocol and each way to differ, at all its ports. */
void diff_report_codes(struct diff *diff, const struct diff_cell *cell,
		       const struct diff_cell *resolved);
/* @cell: addresses. Tells them unless the line would be there already. */
void diff_report_addresses(struct diff *diff, const struct diff_cell *host,
			   const struct diff_cell *cell);

/* Where both sides would dial the name: every kind of address it can resolve to. @open: room for
 * all cases and points. */
void diff_resolve(struct diff *diff, const struct diff_cell *cell, bool *open);
