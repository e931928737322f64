/* unattended: what was asked and nobody answered goes into the run's bundle. */
#pragma once

#include "gateway/core.h"

/* Would unattended_note() say of @waiter who asked? It is not free: once for each destination, and
 * not for all that a program may think of. */
bool unattended_wants(const struct waiter *waiter);
/* Before @waiter, which is being denied, is told. */
void unattended_note(struct gateway *gw, const struct waiter *waiter,
		     const struct policy_verdict *verdict);
