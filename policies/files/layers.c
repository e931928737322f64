#include "policies/files/layers_impl.h"

#include "base/mem.h"
#include "policies/policies_tools.h"

static const char *const layers_names[] = {
	[POLICY_PROJECT] = "project, not trusted",
	[POLICY_TRUSTED] = "project, trusted",
	[POLICY_COMMAND_LINE] = "command line",
	[POLICY_USER] = "user",
	[POLICY_MANAGED] = "managed",
};

const char *policy_layer_name(enum policy_layer layer)
{
	return (unsigned int)layer < ARRAY_SIZE(layers_names) ? layers_names[layer]
							      : layers_names[POLICY_PROJECT];
}

void policy_set_trust(struct policy *policy, policy_trust_fn trust, void *arg)
{
	policy->trust = trust;
	policy->trust_arg = arg;
}

void policy_set_start(struct policy *policy, int64_t now)
{
	policy->start = now;
}

bool layers_may_loosen(const struct policy *policy, uint32_t source)
{
	return policy->sources[source].layer != POLICY_PROJECT;
}

/* Settings affect more than the project: its own settings do not count even when it is trusted. */
bool layers_may_set(const struct policy *policy, uint32_t source)
{
	return policy->sources[source].layer >= POLICY_COMMAND_LINE;
}

/* The strictest default of the files; @is_managed: of the managed layer only. */
static bool layers_default(const struct policy *policy, bool is_managed, enum policy_action *ret)
{
	bool has_any = false;

	for (size_t i = 0; i < policy->source_count; i++) {
		const struct source *source = &policy->sources[i];
		enum policy_action action = (enum policy_action)source->default_action;

		if (!source->has_default || (is_managed && source->layer != POLICY_MANAGED))
			continue;
		if (action == POLICY_ALLOW && !layers_may_loosen(policy, (uint32_t)i))
			continue;
		if (!has_any || action < *ret)
			*ret = action;
		has_any = true;
	}
	return has_any;
}

bool policy_get_default(const struct policy *policy, enum policy_action *ret_action)
{
	return layers_default(policy, false, ret_action);
}

enum policy_action layers_otherwise(const struct policy *policy)
{
	enum policy_action action = POLICY_DENY, managed = POLICY_ALLOW;

	(void)layers_default(policy, false, &action);
	(void)layers_default(policy, true, &managed);
	if (policy->has_set_default)
		action = policy->set_default;
	return action < managed ? action : managed;
}
