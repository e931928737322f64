/* policy_matches: what `explain` prints besides the verdict: every rule that matches, and what
 * would change the verdict. */
#pragma once

#include <jansson.h>

#include "policies/policies_tools.h"

struct policy_matches {
	const struct policy *policy;
	const struct policy_facts *facts;
	const struct policy_verdict *verdict;
};

void policy_matches_print(const struct policy_matches *matches);
/* Adds "layer", "added_by", "added_at", "matches" and "change" to @object. 0 or -1. */
int policy_matches_put(const struct policy_matches *matches, json_t *object);
/* "until DATE" or "". */
void policy_matches_until(const struct policy_rule_look *look, char *out, size_t size);
