/* unattended: what was asked and nobody answered goes into the run's bundle. */
#pragma once

#include "gateway/core.h"

/* Before @waiter, which is being denied, is told. */
void unattended_note(struct gateway *gw, const struct waiter *waiter,
		     const struct policy_verdict *verdict);
