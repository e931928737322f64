/* limit_record: records that a command has reached a `limit` of the policy, once per kind of limit.
 */
#pragma once

#include "gateway/state.h"
#include "policies/policies_limits.h"

/* @exec may be NULL: the request has no exec. */
void limit_record_limit(struct gateway *gw, struct gateway_exec *exec, enum policy_limit limit);
/* NULL: @exec may open one more question. Otherwise the reason, static text; it is recorded. */
const char *limit_record_questions(struct gateway *gw, struct gateway_exec *exec);
