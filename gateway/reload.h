/* reload: a new policy under a running gateway. Everything that has not been handed out is decided
 * by it anyway; here is what has: live requests, and those who wait for a person. */
#pragma once

#include "gateway/core.h"

/* Cuts @waiter, which is live, where the policy does not allow any more what it was allowed. */
void reload_review(struct waiter *waiter);
