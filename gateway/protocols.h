/* protocols: which protocol a request is decided, asked about and recorded as: what its bytes are
 * held to (docs/decisions/0226). */
#pragma once

#include "gateway/core.h"

/* By policy and what is remembered: sets the key and what it carries in @waiter->facts, whose asker
 * and time are known, and fills @ret with the verdict of policy on that. */
void protocols_decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *ret);
