/* unattended: adds unanswered requests to the run's bundle. */
#pragma once

#include "gateway/state.h"

/* Does unattended_note() need the program of @waiter? The lookup is expensive: it is done once per
 * destination, for a limited number of destinations. */
bool unattended_wants(const struct waiter *waiter);
/* Call it before @waiter, which is being denied, gets its verdict. */
void unattended_note(struct gateway *gw, const struct waiter *waiter,
		     const struct policy_verdict *verdict);
