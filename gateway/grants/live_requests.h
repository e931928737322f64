/* live_requests: requests that were allowed and have not ended. Each keeps its verdict until it
 * ends, unless it is cut by a new policy or by a revoked grant. */
#pragma once

#include "gateway/state.h"

/* How a live request was allowed, and why it was cut. */
struct pass {
	struct waiter_queue *home; /* its queue in gw->live */
	uint64_t id;               /* rises */
	int64_t since_ms;
	enum policy_reason allowed_by; /* a rule, a kept answer, a grant */
	enum policy_protocol promise;
	struct policy_limits limits;
	int64_t cut_ms;
	struct policy_verdict *cut; /* owned; NULL: it was not cut */
};

/* @on_overdue closes the link of a client that does not end what was cut. */
void live_requests_init(struct gateway *gw,
			void (*on_overdue)(struct gateway *gw,
					   const struct gateway_client *client));
/* @waiter has got the verdict @allowed, and is in no queue. */
void live_requests_begin(struct waiter *waiter, const struct policy_verdict *allowed);
/* @waiter has ended: it was reported or withdrawn, or its client is gone. */
void live_requests_end(struct waiter *waiter);
/* @waiter reports that it ended with @reason: if that is its cut, the record gets the rule of the
 * cut. */
void live_requests_report(const struct waiter *waiter, enum policy_reason reason,
			  struct policy_verdict *verdict);

/* Should @waiter be cut (waiter->pass says how it was allowed)? Then fills @ret, a denial, whose
 * reason and rule are sent to the client and recorded. */
typedef bool (*live_requests_is_over_fn)(struct waiter *waiter, struct policy_verdict *ret,
					 void *arg);
/* Cuts every request for which @is_over is true. Clients are told from the loop; one that does not
 * report the end within LIVE_REQUESTS_CUT_MS loses its link. Returns the number of requests. */
#define LIVE_REQUESTS_CUT_MS 5000
size_t live_requests_cut(struct gateway *gw, live_requests_is_over_fn is_over, void *arg);
/* Cuts one that is open and not cut yet. @verdict is a denial. */
void live_requests_cut_one(struct waiter *waiter, const struct policy_verdict *verdict);
/* Call it in every turn: tells the clients. */
void live_requests_turn(struct gateway *gw);
