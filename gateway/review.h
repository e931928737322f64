/* review: open questions are looked at again, when the policy or the remembered answers changed. */
#pragma once

#include "gateway/core.h"

/* An answer was remembered that is wider than its question: whoever else it covers is decided by
 * it, and questions that nobody waits on any more end. */
void review_grants(struct gateway *gw);
/* The policy is another: whoever it does not ask about any more is decided again, and the others
 * keep their place. @approval may be over when it returns. */
void review_policy(struct approval *approval);
/* By now it is known of @waiter, in a party, from which program it comes: it is decided again where
 * it need not wait. */
void review_waiter(struct waiter *waiter);
