/* asker: does who asks meet a rule's `by` and `from`? */
#pragma once

#include "policies/policies_tools.h"
#include "policies/policy_impl.h"

enum asker_says { ASKER_YES, ASKER_NO, ASKER_UNKNOWN };

/* @is_loosening: to allow, every piece of the command must be the one `from` names; to tighten, one
 * is enough. ASKER_YES also for a rule that has neither clause. */
enum asker_says asker_judge(const struct policy *policy, const struct rule *rule,
			    const struct policy_asker *asker, bool is_loosening);
/* The same of one `from`. */
enum asker_says asker_judge_from(const struct policy_asker *asker, const char *prefix,
				 bool is_loosening);
/* BIT(CLAUSE_BY) for `by sha256:…`, which this version reads and does not enforce; else 0. */
unsigned int asker_not_enforced(const struct policy *policy, const struct rule *rule);
