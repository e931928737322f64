#include "cli/policy/policy_environment.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/agent/ask_tool.h"
#include "cli/cli.h"
#include "cli/view/reach.h"

static const char *variable(const char *name, void *arg)
{
	return getenv(name);
}

/* Most policies ask nothing about it, so it is read at its first use. A list that cannot be read: a
 * command could have written everything. */
static const struct reach *reach_of(struct policy_environment *environment)
{
	auto_free char *state = environment->has_reach ? NULL : cli_state_dir();

	if (!environment->has_reach)
		environment->reach = reach_open(state, NULL);
	environment->has_reach = true;
	return environment->reach;
}

static bool may_be_theirs(const char *path, void *arg)
{
	return reach_may_be_theirs(reach_of(arg), path);
}

static int ask(const char *const *argv, char **ret_output, void *arg, struct err *why)
{
	struct policy_environment *environment = arg;
	struct ask_tool tool = { environment->cwd, reach_of(environment) };

	return ask_tool(argv, ret_output, &tool, why);
}

void policy_environment_open(struct policy_environment *environment, struct policy *policy)
{
	/* If the working folder cannot be named, any folder may be it: then every path counts as
	 * within it. */
	char *cwd = getcwd(NULL, 0);

	*environment = (struct policy_environment){ 0 };
	environment->cwd = cwd && cwd[0] == '/' ? take(cwd) : mem_strdup("/");
	free(cwd);
	environment->configured = (struct configured_environment){
		.home = getenv("HOME"),
		.cwd = environment->cwd,
		.variable = variable,
		.ask = ask,
		.may_be_theirs = may_be_theirs,
		.arg = environment,
	};
	policy_set_environment(policy, &environment->configured);
}

void policy_environment_close(struct policy_environment *environment, struct policy *policy)
{
	policy_set_environment(policy, NULL);
	free(environment->cwd);
	reach_close(environment->reach);
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
