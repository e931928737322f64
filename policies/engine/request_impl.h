/* request: does an HTTP request meet the conditions of a rule? */
#pragma once

#include "policies/policies_request.h"
#include "base/mem.h"
#include "policies/engine/policy_impl.h"

#define REQUEST_CONDITIONS                                                                         \
	(BIT(CLAUSE_METHOD) | BIT(CLAUSE_PATH) | BIT(CLAUSE_QUERY) | BIT(CLAUSE_HEADER))

enum request_match { REQUEST_UNMET, REQUEST_MET, REQUEST_UNKNOWN };
/* @is_loosening: an ambiguous condition is not met; otherwise it is. @request may be NULL. */
enum request_match request_meets(const struct policy *policy, const struct rule *rule,
				 const struct policy_request *request, bool is_loosening);
