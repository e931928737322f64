/* review: reconsiders open questions when the policy or the remembered answers have changed. */
#pragma once

#include "gateway/state.h"

/* An answer was remembered that is wider than its question: other waiters that it covers are
 * decided by it, and questions without waiters end. */
void review_grants(struct gateway *gw);
/* The policy has changed: waiters that it no longer asks about are decided again, the others stay.
 * @approval may have ended on return. */
void review_policy(struct approval *approval);
/* The lookup of the program of @waiter, which is in a party, has ended: decides it again if it need
 * not wait. */
void review_waiter(struct waiter *waiter);
