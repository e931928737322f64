#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/run_impl.h"

int run_policy_load(struct run_options *options, const struct run_places *places,
		    struct run_sources *ret_sources, struct run_loaded *ret_loaded)
{
	/* A project's file that comes later may be the command's. */
	auto_free_list char **projects = policy_layers_projects(places->cwd);
	const struct run_sources sources = {
		.layers = {
			.user = places->answers_path,
			.cwd = places->cwd,
			.projects = projects,
			.state = places->state_dir,
			.arguments = options->policies,
			.start = time(NULL), /* also for what is read later: it must not begin anew */
		},
		.has_default = options->has_default,
		.default_action = options->default_action,
	};
	int64_t timeout_ms;

	run_sources_copy(ret_sources, &sources);
	run_sources_read(ret_loaded, ret_sources);
	if (!ret_loaded->is_good) {
		(void)fputs(policy_errors(ret_loaded->policy), stderr);
		return cli_fail(CLI_ERROR, "the policy has errors; nothing was run");
	}
	(void)fputs(policy_notes(ret_loaded->policy), stderr);
	if (!options->has_prompt_timeout &&
	    policy_get_prompt_timeout(ret_loaded->policy, &timeout_ms))
		options->prompt_timeout_ms = timeout_ms;
	return CLI_OK;
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
