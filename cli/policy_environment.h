/* policy_environment: this machine, for `configured TOOL` in a policy that is being read. */
#pragma once

#include "cli/ask_tool.h"
#include "policies/configured/configured.h"
#include "policies/policies_tools.h"

/* All of one policy's reading. */
struct policy_environment {
	char *cwd;
	struct ask_tool ask;
	struct configured_environment configured;
};

/* From here on @policy looks at the machine, and runs tools to ask them: before a loop runs. Keeps
 * @environment until it is closed. */
void policy_environment_open(struct policy_environment *environment, struct policy *policy);
void policy_environment_close(struct policy_environment *environment, struct policy *policy);
/* policy_load_layer() between the two. */
int policy_environment_load(struct policy *policy, const char *path, enum policy_layer layer);
