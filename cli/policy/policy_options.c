#include "cli/policy/policy_options.h"

#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_layers.h"

char *policy_options_user_file(void)
{
	auto_free char *folder = cli_config_dir();

	return folder ? mem_printf("%s/policy", folder) : NULL;
}

bool policy_options_load(const struct options *options, struct policy *policy)
{
	auto_free char *user = policy_options_user_file(), *state = cli_state_dir();
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char **policies = options_get_all(options, OPT_TOO_POLICY);
	const struct policy_layers layers = {
		.managed = options_get(options, OPT_MANAGED_DIR),
		.user = options_has(options, OPT_NO_USER) ? NULL : user,
		.cwd = cwd,
		.state = state,
		.arguments = policies,
	};

	return policy_layers_load(policy, &layers);
}
