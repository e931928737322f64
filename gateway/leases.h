/* leases: requests and the budgets they draw on. What a request may move is asked for, given and
 * called back here; accounts.h counts. */
#pragma once

#include "gateway/core.h"

/* @verdict allows @waiter within limits: they begin to count now, or @verdict becomes a denial. */
void leases_begin(struct waiter *waiter, struct policy_verdict *verdict);
/* @waiter has moved @spent and no more. NULL: that is not known, so it was all it had. None is
 * fine. */
void leases_end(struct waiter *waiter, const uint64_t spent[GATEWAY_WAYS]);
/* As gateway_spend(). */
int leases_spend(struct waiter *waiter, const struct gateway_spent *spent);
/* In every turn: tells who is to be told. */
void leases_turn(struct gateway *gw);
