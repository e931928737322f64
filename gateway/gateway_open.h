/* gateway_open: makes a gateway with the caller's own approvers; for tests. */
#pragma once

#include "gateway/gateway.h"

struct approver_ops;

/* As gateway_new(); @table ends with NULL. */
struct gateway *gateway_open_with(struct loop *loop, const struct gateway_config *config,
				  const struct approver_ops *const *table, struct err *why);
