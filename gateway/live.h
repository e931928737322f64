/* live: what was allowed and has not ended yet. It keeps its verdict until it ends, unless it is
 * cut: by a new policy, or by whoever takes a grant back. */
#pragma once

#include "gateway/core.h"

/* What a live request was allowed by, and why it is over. */
struct pass {
	struct waiter_queue *home; /* which of gw->live it is in */
	uint64_t id;               /* rises */
	int64_t since_ms;
	enum policy_reason allowed_by; /* a rule, a kept answer, a grant */
	enum policy_protocol promise;
	struct policy_limits limits;
	int64_t cut_ms;
	struct policy_verdict *cut; /* owned; NULL: it is not */
};

void live_init(struct gateway *gw);
/* @waiter has the verdict @allowed, and is in no queue. */
void live_begin(struct waiter *waiter, const struct policy_verdict *allowed);
/* It is over: reported, withdrawn, or its client is gone. */
void live_end(struct waiter *waiter);
/* It reports that it ended with @reason: where that is its cut, the record shows by what rule. */
void live_report(const struct waiter *waiter, enum policy_reason reason,
		 struct policy_verdict *verdict);

/* Is what @waiter was allowed (waiter->pass says by what) over? Fills @ret, a denial whose reason
 * and rule go to the client and into the record. */
typedef bool (*live_is_over_fn)(struct waiter *waiter, struct policy_verdict *ret, void *arg);
/* Cuts all that are. Their clients are told from the loop; one that does not report the end within
 * LIVE_CUT_MS is cut off itself. Returns how many there were. */
#define LIVE_CUT_MS 5000
size_t live_cut(struct gateway *gw, live_is_over_fn is_over, void *arg);
/* One that is open, and not cut yet. @verdict is a denial. */
void live_cut_one(struct waiter *waiter, const struct policy_verdict *verdict);
/* In every turn: tells the clients. */
void live_turn(struct gateway *gw);
