/* clauses: the values of a rule's clauses. */
#pragma once

#include "policies/engine/policy_impl.h"

#define CLAUSES_TEXT_MAX 64

/* BIT(kind) of the clauses of @rule that this version does not enforce: conditions, and bounds. */
unsigned int clauses_conditions(const struct rule *rule);
unsigned int clauses_bounds(const struct rule *rule);
/* Those that are budgets: upload, download, rate, connections. */
unsigned int clauses_budgets(const struct rule *rule);
/* "upload, rate" */
void clauses_text(unsigned int kinds, char out[CLAUSES_TEXT_MAX]);
/* The end of @rule; INT64_MIN: unknown (`for` without a beginning); INT64_MAX: never. */
int64_t clauses_until_of(const struct policy *policy, const struct rule *rule);
/* The limits of @rule, which has not ended. */
void clauses_limits_of(const struct policy *policy, const struct rule *rule,
		       struct policy_limits *ret);
