/* leases: connects requests with their budgets: asks for bytes, gives them and recalls them;
 * accounts.h counts. */
#pragma once

#include "gateway/state.h"

/* @verdict allows @waiter within limits: from now on they count, or @verdict becomes a denial. */
void leases_begin(struct waiter *waiter, struct policy_verdict *verdict);
/* @waiter has moved @spent and will move no more. NULL: not known, so all that it was given counts
 * as spent. A waiter without a lease is fine. */
void leases_end(struct waiter *waiter, const uint64_t spent[GATEWAY_WAYS]);
/* As gateway_spend(). */
int leases_spend(struct waiter *waiter, const struct gateway_spent *spent);
/* Call it in every turn: tells the holders of leases. */
void leases_turn(struct gateway *gw);
