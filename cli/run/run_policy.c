#include "cli/run/run_policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/bundle_files.h"
#include "cli/cli.h"
#include "cli/agent/command_world.h"
#include "cli/policy/policy_layers.h"
#include "cli/policy/policy_reach.h"
#include "cli/profiles/profiles.h"
#include "cli/run/run_options.h"
#include "cli/view/run_places.h"
#include "cli/run/run_sources.h"
#include "policies/policies_approvers.h"
#include "policies/policies_tools.h"

/* A line that this version cannot enforce must not be ignored: docs/decisions/0007. */
static char *object_to_later(const struct policy *policy)
{
	struct policy_rule_look look;

	for (size_t i = 0; policy_later_look(policy, i, &look); i++) {
		if (look.match == POLICY_MATCH_NOT_ENFORCED)
			return mem_printf("not enforced yet by this version: %s", look.rule);
	}
	return NULL;
}

/* May the command write the files that `configured` lines are read from? docs/decisions/0010. */
static char *object_to_reach(const struct policy *policy, char *const *writable)
{
	const char *file;

	for (size_t i = 0; (file = policy_configured_file(policy, i)); i++) {
		for (char *const *folder = writable; *folder; folder++) {
			if (!command_world_is_below(file, *folder))
				continue;
			auto_free char *shown = text_visible_dup(file);

			return mem_printf("%s defines what the policy's `configured` stands for, "
					  "and the command can write it",
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

/* The folders that commands may write, as far as they are known here: @writable and the working
 * directory. Empty if the sandbox allows no writing. Returned owned. */
static char **reached(const struct run_options *options, const struct run_places *places,
		      char *const *writable)
{
	char **paths = mem_new_array(1, sizeof(*paths));

	if (options->given_to == CLI_PROXY) /* has no commands */
		return paths;
	if (options->has_sandbox &&
	    (options->sandbox == EXEC_MODE_READ_ONLY || options->sandbox == EXEC_MODE_FULL_ACCESS))
		return paths;
	if (strcmp(places->cwd, "/") != 0)
		mem_append_list(&paths, mem_strdup(places->cwd));
	for (; *writable; writable++)
		mem_append_list(&paths, mem_strdup(*writable));
	return paths;
}

/* The folders of the files that the gate writes for an option. */
static void add_outputs(const struct run_options *options, const struct run_places *places,
			char ***list)
{
	const char *const files[] = { options->audit, options->lock_file, options->junit,
				      options->bundle };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *slash = files[i] ? strrchr(files[i], '/') : NULL;
		auto_free char *folder =
			slash ? mem_strndup(files[i], (size_t)(slash - files[i]) + 1) : NULL;

		if (folder)
			mem_append_list(list, run_places_absolute(places, folder));
	}
}

/* The paths that options and files let a command write, read or connect to, and where the gate
 * writes: *@ret is returned owned. */
static int named(const struct run_options *options, const struct run_places *places,
		 const struct policy *policy, char *const *writable, char ***ret)
{
	const char *path;
	int status = run_policy_paths(policy, places, POLICY_PATH_READ, options->readable, ret);

	for (; status == CLI_OK && *writable; writable++)
		mem_append_list(ret, mem_strdup(*writable));
	for (size_t i = 0;
	     status == CLI_OK && (path = policy_get_path(policy, POLICY_PATH_SOCKET, i)); i++) {
		const char *value = path[0] == '$' ? getenv(path + 1) : path;
		char *whole = value ? run_places_expand(places, value) : NULL;

		if (whole)
			mem_append_list(ret, whole);
	}
	add_outputs(options, places, ret);
	return status;
}

static int check_reach(const struct run_options *options, const struct run_places *places,
		       struct run_loaded *loaded, char *const *writable)
{
	auto_free_list char **paths = reached(options, places, writable), **all = NULL;
	int status = named(options, places, loaded->policy, writable, &all);

	if (status != CLI_OK)
		return status;
	const struct policy_reach reach = { places->state_dir, places->cwd, places->config_dir,
					    paths, all };
	struct err why = { 0 };

	if (policy_reach_check(&reach, loaded, &why) < 0)
		return cli_fail(CLI_ERROR, "%s; nothing was run", why.text);
	return CLI_OK;
}

int run_policy_note_reach(const struct run_options *options, const struct run_places *places,
			  const struct run_loaded *loaded, char *const *writable, struct err *why)
{
	auto_free_list char **paths = reached(options, places, writable);
	const struct policy_reach reach = { places->state_dir, places->cwd, places->config_dir,
					    paths, NULL };

	int r = policy_reach_keep(places->state_dir, loaded, why);

	return r < 0 ? r : policy_reach_note(&reach, why);
}

static int check_objection(const struct run_options *options, const struct run_places *places,
			   struct run_loaded *loaded)
{
	const struct policy *policy = loaded->policy;
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
	return status == CLI_OK ? check_reach(options, places, loaded, writable) : status;
}

/* Reads the answers now: they count for the whole run. If one cannot be read, nothing is run. */
static int read_replies(const struct run_options *options, struct run_sources *sources)
{
	struct err why = { 0 };

	free(take(sources->replies)); /* from run_sources_copy(), empty */
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
		(void)cli_fail(0,
			       "%zu destination%s allowed by fewer than the required %u approvers; "
			       "more of them must sign an answer",
			       loaded->lacking, loaded->lacking == 1 ? " is" : "s are",
			       policy_get_approvers_needed(loaded->policy));
	return CLI_OK;
}

int run_policy_load(struct run_options *options, const struct run_places *places,
		    struct run_sources *ret_sources, struct run_loaded *ret_loaded)
{
	/* A command may have written a project's file that appears later, so the list is fixed
	 * here. */
	auto_free_list char **projects = policy_layers_projects(places->cwd);
	auto_free char *extra = options->profile ? profiles_policy(options->profile) : NULL;
	auto_free char *extra_name =
		extra ? mem_printf("profile %s", profiles_name(options->profile)) : NULL;
	const struct run_sources sources = {
		.layers = {
			.user = places->answers_path,
			.cwd = places->cwd,
			.projects = projects,
			.state = places->state_dir,
			.arguments = options->policies,
			.extra = extra,
			.extra_name = extra_name,
			.start = time(NULL), /* also for later readings: `for` does not restart */
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
	return check_objection(options, places, ret_loaded);
}

int run_policy_paths(const struct policy *policy, const struct run_places *places,
		     enum policy_path what, char *const *given, char ***ret_paths)
{
	static const char *const words[POLICY_PATHS] = { "write",     "hide", "read",  "protect",
							 "unprotect", "env",  "socket" };
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

		paths[given_count + i] = run_places_expand(places, path);
		if (!paths[given_count + i]) {
			(void)cli_fail(CLI_ERROR,
				       "HOME is not set, and the policy says %s %s; set HOME",
				       words[what], path);
			return CLI_ERROR;
		}
	}
	*ret_paths = take(paths);
	return CLI_OK;
}
