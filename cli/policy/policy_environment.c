#include "cli/policy/policy_environment.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

static const char *variable(const char *name, void *arg)
{
	return getenv(name);
}

void policy_environment_open(struct policy_environment *environment, struct policy *policy)
{
	/* If the working folder cannot be named, any folder may be it: then every path counts as
	 * within it. */
	char *cwd = getcwd(NULL, 0);

	environment->cwd = cwd && cwd[0] == '/' ? take(cwd) : mem_strdup("/");
	free(cwd);
	environment->ask = (struct ask_tool){ .cwd = environment->cwd };
	environment->configured = (struct configured_environment){
		.home = getenv("HOME"),
		.cwd = environment->cwd,
		.variable = variable,
		.ask = ask_tool,
		.arg = &environment->ask,
	};
	policy_set_environment(policy, &environment->configured);
}

void policy_environment_close(struct policy_environment *environment, struct policy *policy)
{
	policy_set_environment(policy, NULL);
	free(environment->cwd);
	*environment = (struct policy_environment){ 0 };
}

int policy_environment_load(struct policy *policy, const char *path, enum policy_layer layer)
{
	struct policy_environment environment;

	policy_environment_open(&environment, policy);
	environment.configured.tells_all = true;
	int r = policy_load_layer(policy, path, layer);

	policy_environment_close(&environment, policy);
	return r;
}
