#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_world.h"
#include "cli/policy_layers.h"
#include "cli/run_impl.h"
#include "policies/policies_tools.h"

/* What says so may not be passed over: docs/decisions/0064. */
static int check_enforced(const struct policy *policy)
{
	struct policy_rule_look look;
	bool is_enforced = true;

	for (size_t i = 0; policy_later_look(policy, i, &look); i++) {
		if (look.match != POLICY_MATCH_NOT_ENFORCED)
			continue;
		(void)cli_fail(0, "not enforced yet by this version: %s", look.rule);
		is_enforced = false;
	}
	return is_enforced ? CLI_OK : cli_fail(CLI_NO_SANDBOX, "nothing was run");
}

/* May the command write what `configured` lines are made of? docs/decisions/0063. */
static int check_reach(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy)
{
	auto_free_list char **writable = NULL;
	int status = run_policy_paths(policy, places, false, options->writable, &writable);
	const char *file;

	for (size_t i = 0; status == CLI_OK && (file = policy_configured_file(policy, i)); i++) {
		for (char *const *folder = writable; *folder; folder++) {
			if (!command_world_is_below(file, *folder))
				continue;
			auto_free char *shown = text_visible_dup(file);

			return cli_fail(CLI_ERROR,
					"%s says what the policy's `configured` stands for, and "
					"the command may write it; nothing was run",
					shown);
		}
	}
	return status;
}

int run_policy_load(struct run_options *options, const struct run_places *places,
		    struct policy **ret_policy)
{
	struct policy_layers layers = {
		.user = places->answers_path,
		.cwd = places->cwd,
		.state = places->state_dir,
		.arguments = options->policies,
	};
	struct policy *policy = *ret_policy = policy_new();
	bool is_good = policy_layers_load(policy, &layers);
	enum policy_action ignored;
	int64_t timeout_ms;

	/* "ask with somebody to ask": where nobody is, the gateway denies at once and says so. */
	if (options->has_default || !policy_get_default(policy, &ignored))
		policy_set_default(policy,
				   options->has_default ? options->default_action : POLICY_ASK);
	if (!is_good || policy_finish(policy) < 0) {
		(void)fputs(policy_errors(policy), stderr);
		return cli_fail(CLI_ERROR, "the policy has errors; nothing was run");
	}
	(void)fputs(policy_notes(policy), stderr);
	if (!options->has_prompt_timeout && policy_get_prompt_timeout(policy, &timeout_ms))
		options->prompt_timeout_ms = timeout_ms;
	int status = check_enforced(policy);

	return status == CLI_OK ? check_reach(options, places, policy) : status;
}

/* NULL: there is no home. */
static char *expand(const struct run_places *places, const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] != '~')
		return run_places_absolute(places, path);
	return home && home[0] == '/' ? mem_printf("%s%s", home, path + 1) : NULL;
}

int run_policy_paths(const struct policy *policy, const struct run_places *places, bool is_hide,
		     char *const *given, char ***ret_paths)
{
	size_t count = 0, given_count = 0;

	while (given && given[given_count])
		given_count++;
	while (policy_get_path(policy, is_hide, count))
		count++;
	auto_free_list char **paths = mem_new_array(given_count + count + 1, sizeof(*paths));

	for (size_t i = 0; i < given_count; i++)
		paths[i] = mem_strdup(given[i]);
	for (size_t i = 0; i < count; i++) {
		const char *path = policy_get_path(policy, is_hide, i);

		paths[given_count + i] = expand(places, path);
		if (!paths[given_count + i])
			return cli_fail(CLI_ERROR, "HOME is not set, and the policy says %s %s",
					is_hide ? "hide" : "write", path);
	}
	*ret_paths = take(paths);
	return CLI_OK;
}
