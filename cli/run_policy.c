#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_world.h"
#include "cli/policy_layers.h"
#include "cli/run_impl.h"
#include "policies/policies_approvers.h"
#include "policies/policies_tools.h"

/* What says so may not be passed over: docs/decisions/0064. */
static char *object_to_later(const struct policy *policy)
{
	struct policy_rule_look look;

	for (size_t i = 0; policy_later_look(policy, i, &look); i++) {
		if (look.match == POLICY_MATCH_NOT_ENFORCED)
			return mem_printf("not enforced yet by this version: %s", look.rule);
	}
	return NULL;
}

/* May the command write what `configured` lines are made of? docs/decisions/0063. */
static char *object_to_reach(const struct policy *policy, char *const *writable)
{
	const char *file;

	for (size_t i = 0; (file = policy_configured_file(policy, i)); i++) {
		for (char *const *folder = writable; *folder; folder++) {
			if (!command_world_is_below(file, *folder))
				continue;
			auto_free char *shown = text_visible_dup(file);

			return mem_printf("%s says what the policy's `configured` stands for, and "
					  "the command may write it",
					  shown);
		}
	}
	return NULL;
}

char *run_policy_objection(const struct policy *policy, char *const *writable)
{
	char *objection = object_to_later(policy);

	return objection ? objection : object_to_reach(policy, writable);
}

static int check_objection(const struct run_options *options, const struct run_places *places,
			   const struct policy *policy)
{
	auto_free_list char **writable = NULL;
	int status =
		run_policy_paths(policy, places, POLICY_PATH_WRITE, options->writable, &writable);
	auto_free char *later = status == CLI_OK ? object_to_later(policy) : NULL;
	auto_free char *reach =
		status == CLI_OK && !later ? object_to_reach(policy, writable) : NULL;

	if (later)
		return cli_fail(CLI_NO_SANDBOX, "%s; nothing was run", later);
	if (reach)
		return cli_fail(CLI_ERROR, "%s; nothing was run", reach);
	return status;
}

/* As they are now: they count in all of the run, or nothing is run. */
static int read_replies(const struct run_options *options, struct run_sources *sources)
{
	struct err why = { 0 };

	free(take(sources->replies)); /* of run_sources_copy(), empty */
	if (bundle_files_replies(options->answers, &sources->replies, &sources->reply_count, &why) <
	    0)
		return cli_fail(CLI_NO_SANDBOX, "--answers: %s; nothing was run", why.text);
	return CLI_OK;
}

static int check_replies(const struct run_loaded *loaded)
{
	if (loaded->left_out.text[0] != '\0')
		return cli_fail(CLI_NO_SANDBOX, "--answers: %s; nothing was run",
				loaded->left_out.text);
	if (loaded->lacking > 0)
		(void)cli_fail(0, "%zu destination%s allowed by fewer than the %u approvers needed",
			       loaded->lacking, loaded->lacking == 1 ? " is" : "s are",
			       policy_get_approvers_needed(loaded->policy));
	return CLI_OK;
}

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
	int status = read_replies(options, ret_sources);

	if (status != CLI_OK)
		return status;
	run_sources_read(ret_loaded, ret_sources);
	if (!ret_loaded->is_good) {
		(void)fputs(policy_errors(ret_loaded->policy), stderr);
		return cli_fail(CLI_ERROR, "the policy has errors; nothing was run");
	}
	(void)fputs(policy_notes(ret_loaded->policy), stderr);
	status = check_replies(ret_loaded);
	if (status != CLI_OK)
		return status;
	if (!options->has_prompt_timeout &&
	    policy_get_prompt_timeout(ret_loaded->policy, &timeout_ms))
		options->prompt_timeout_ms = timeout_ms;
	return check_objection(options, places, ret_loaded->policy);
}

/* NULL: there is no home. */
static char *expand(const struct run_places *places, const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] != '~')
		return run_places_absolute(places, path);
	return home && home[0] == '/' ? mem_printf("%s%s", home, path + 1) : NULL;
}

int run_policy_paths(const struct policy *policy, const struct run_places *places,
		     enum policy_path what, char *const *given, char ***ret_paths)
{
	static const char *const words[POLICY_PATHS] = { "write",   "hide",      "read",
							 "protect", "unprotect", "env" };
	size_t count = 0, given_count = 0;

	while (given && given[given_count])
		given_count++;
	while (policy_get_path(policy, what, count))
		count++;
	auto_free_list char **paths = mem_new_array(given_count + count + 1, sizeof(*paths));

	for (size_t i = 0; i < given_count; i++)
		paths[i] = run_places_absolute(places, given[i]);
	for (size_t i = 0; i < count; i++) {
		const char *path = policy_get_path(policy, what, i);

		paths[given_count + i] = expand(places, path);
		if (!paths[given_count + i]) {
			(void)cli_fail(CLI_ERROR, "HOME is not set, and the policy says %s %s",
				       words[what], path);
			return CLI_ERROR;
		}
	}
	*ret_paths = take(paths);
	return CLI_OK;
}
