/* decision_record: the audit record of a decision about a connection. */
#pragma once

#include "gateway/audit/sink_impl.h"
#include "gateway/state.h"

/* Stamped with the current time; borrows its text from @waiter, its exec and @verdict. */
struct sink_record decision_record(const struct gateway *gw, const struct waiter *waiter,
				   const struct policy_verdict *verdict);
/* Records and counts that @waiter was denied with @reason; sends no verdict. */
void decision_record_denial(struct gateway *gw, const struct waiter *waiter,
			    enum policy_reason reason);
