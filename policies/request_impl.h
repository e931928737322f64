/* request: does an HTTP request meet the conditions of a rule? */
#pragma once

#include "policies/policies_request.h"
#include "policies/policy_impl.h"

#define REQUEST_CONDITIONS                                                                         \
	(BIT(CLAUSE_METHOD) | BIT(CLAUSE_PATH) | BIT(CLAUSE_QUERY) | BIT(CLAUSE_HEADER))

/* The byte that %XX at @at stands for, or -1. */
int request_escape(const char *at);

enum request_match { REQUEST_UNMET, REQUEST_MET, REQUEST_UNKNOWN };
/* @is_loosening: what could be read in two ways is unmet; otherwise it is met. @request may be
 * NULL. */
enum request_match request_meets(const struct policy *policy, const struct rule *rule,
				 const struct policy_request *request, bool is_loosening);
