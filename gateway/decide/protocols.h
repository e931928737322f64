/* protocols: finds the protocol as which a request is decided, asked about and recorded, and which
 * is then enforced on its bytes (docs/decisions/0003). */
#pragma once

#include "gateway/state.h"

/* Decides by policy and by the remembered answers: sets the key and the carried protocol in
 * @waiter->facts, whose asker and time are known, and fills @ret with the verdict of policy about
 * that. */
void protocols_decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *ret);
