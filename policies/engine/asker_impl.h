/* asker: does the requester meet a rule's `by` and `from`? */
#pragma once

#include "policies/policies_tools.h"
#include "policies/engine/policy_impl.h"

enum asker_says { ASKER_YES, ASKER_NO, ASKER_UNKNOWN };

/* @is_loosening: to allow, `from` must match every piece of the command; to tighten, one piece is
 * enough. ASKER_YES also for a rule with neither clause. */
enum asker_says asker_judge(const struct policy *policy, const struct rule *rule,
			    const struct policy_asker *asker, bool is_loosening);
/* BIT(CLAUSE_BY) for `by sha256:…`, which this version parses but does not enforce; otherwise 0. */
unsigned int asker_not_enforced(const struct policy *policy, const struct rule *rule);
