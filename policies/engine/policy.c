#include "policies/engine/policy_impl.h"

const char *policy_errors(const struct policy *policy)
{
	return policy->problems.text ? policy->problems.text : "";
}

const char *policy_notes(const struct policy *policy)
{
	return policy->notes.text ? policy->notes.text : "";
}

size_t policy_error_count(const struct policy *policy)
{
	return policy->problems.count;
}

size_t policy_rule_count(const struct policy *policy)
{
	return policy->rule_count;
}

size_t policy_expect_count(const struct policy *policy)
{
	return policy->expect_count;
}

void policy_set_default(struct policy *policy, enum policy_action action)
{
	policy->has_set_default = true;
	policy->set_default = action;
}
