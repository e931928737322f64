/* rules: how the rules of a policy and their keys are stored. */
#pragma once

#include "policies/engine/policy_impl.h"

/* Adds to policy->names, terminated; returns the offset. */
uint32_t rules_add_name(struct policy *policy, const char *bytes, size_t len);
/* Appends a copy of @rule; it counts after index_build(). */
void rules_add(struct policy *policy, const struct rule *rule);
/* Reads rule @index, from 0; its key may be stored elsewhere than when it was added. */
void rules_get(const struct policy *policy, uint32_t index, struct rule *ret);
/* As rules_get() without the line, for comparisons. */
void rules_get_bare(const struct policy *policy, uint32_t index, struct rule *ret);
uint32_t rules_next(const struct policy *policy, uint32_t index);
/* The key of a rule or an exception. */
const char *rules_key(const struct policy *policy, const struct pattern *pattern);
