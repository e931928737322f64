/* What every command of a gate has in common: what it may write, not change, and not see. */
#include <stdlib.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/policy_layers.h"

/* What the command may not change where it may write. A list, returned owned. */
static char **read_only_paths(const struct gate *gate)
{
	char **paths = policy_layers_projects(gate->places.cwd);
	char *const *policies = gate->options->policies;
	size_t count = 0, policy_count = 0;

	while (paths[count])
		count++;
	while (policies && policies[policy_count])
		policy_count++;
	paths = mem_grow(paths, count + policy_count + gate->loaded.file_count + 3, sizeof(*paths));
	for (size_t i = 0; i < policy_count; i++)
		paths[count++] = run_places_absolute(&gate->places, policies[i]);
	/* With what they include. */
	for (size_t i = 0; i < gate->loaded.file_count; i++) {
		if (gate->loaded.files[i].path[0] == '/')
			paths[count++] = mem_strdup(gate->loaded.files[i].path);
	}
	paths[count++] = mem_strdup(gate->places.audit_path);
	paths[count++] = mem_strdup(gate->places.audit_head);
	paths[count] = NULL;
	return paths;
}

/* What it may not see. As run_policy_paths(). */
static int hidden_paths(const struct gate *gate, char ***ret_paths)
{
	char *own[5] = { NULL };
	size_t count = 0;
	const char *given = gate->options->helpers.webhook_key;
	auto_free char *key = given ? run_places_absolute(&gate->places, given) : NULL;

	own[count++] = gate->places.control_dir;
	if (gate->places.config_dir)
		own[count++] = gate->places.config_dir;
	if (gate->places.state_dir)
		own[count++] = gate->places.state_dir;
	if (key)
		own[count++] = key; /* who has it can make questions up */
	return run_policy_paths(gate->policy, &gate->places, true, own, ret_paths);
}

int gate_plan_find(struct gate_plan *plan, struct gate *gate)
{
	int status = CLI_OK;

	if (!gate->writable)
		status = run_policy_paths(gate->policy, &gate->places, false,
					  gate->options->writable, &gate->writable);
	if (status == CLI_OK)
		status = hidden_paths(gate, &plan->hidden);
	if (status == CLI_OK)
		plan->read_only = read_only_paths(gate);
	return status;
}

void gate_plan_apply(const struct gate_plan *plan, const struct gate *gate,
		     struct exec_plan_config *ret)
{
	ret->cwd = gate->places.cwd;
	ret->writable = (const char *const *)gate->writable;
	ret->hidden = (const char *const *)plan->hidden;
	ret->read_only = (const char *const *)plan->read_only;
}

void gate_plan_free(struct gate_plan *plan)
{
	mem_free_list(plan->hidden);
	mem_free_list(plan->read_only);
	*plan = (struct gate_plan){ 0 };
}
