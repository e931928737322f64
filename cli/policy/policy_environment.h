/* policy_environment: gives a policy that is being read access to this machine, for its `configured
 * TOOL` lines. */
#pragma once

#include <stdbool.h>

#include "policies/configured/configured.h"
#include "policies/policies_tools.h"

/* For the reading of one policy. */
struct policy_environment {
	char *cwd;
	bool has_reach;      /* it has been asked for */
	struct reach *reach; /* NULL: it cannot be read */
	struct configured_environment configured;
};

/* From here on @policy may look at files and run tools to ask them, so call it before a loop runs.
 * Keeps @environment until it is closed. */
void policy_environment_open(struct policy_environment *environment, struct policy *policy);
void policy_environment_close(struct policy_environment *environment, struct policy *policy);
/* policy_load_layer(), with the environment open meanwhile. For tools: warnings say everything. */
int policy_environment_load(struct policy *policy, const char *path, enum policy_layer layer);
