/* reload: replaces the policy of a running gateway. A verdict not yet sent is decided by the new
 * policy anyway; this file handles live requests and open questions. */
#pragma once

#include "gateway/state.h"

/* Cuts @waiter, which is live, if the policy no longer allows what it was allowed. */
void reload_review(struct waiter *waiter);
