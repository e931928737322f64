/* decide: makes the verdict. */
#pragma once

#include "policies/policies.h"

/* The verdict of the rules alone, without kept answers: for `expect`. */
void decide_by_rules(const struct policy *policy, const struct policy_facts *facts,
		     struct policy_verdict *ret);
