#include "cli/view/run_view.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/agent/command_world.h"
#include "cli/policy/policy_layers.h"
#include "cli/gate/run_helpers.h"
#include "cli/gate/run_upstream.h"
#include "cli/run/run_options.h"
#include "cli/view/reach.h"
#include "cli/view/run_places.h"
#include "cli/run/run_policy.h"
#include "cli/run/run_sources.h"
#include "exec/exec_platform.h"
#include "policies/policies_limits.h"

/* The paths that the command may not change although they lie in a writable folder. */
static char **read_only_paths(const struct run_view_config *config)
{
	char **paths = policy_layers_projects(config->places->cwd);
	const char *trusted = run_upstream_named_authorities();

	if (trusted && access(trusted, F_OK) == 0)
		mem_append_list(&paths, run_places_absolute(config->places, trusted));
	for (char *const *given = config->options->policies; given && *given; given++)
		mem_append_list(&paths, run_places_absolute(config->places, *given));
	/* Includes the files that they include. */
	for (size_t i = 0; i < config->loaded->file_count; i++)
		if (config->loaded->files[i].path[0] == '/')
			mem_append_list(&paths, mem_strdup(config->loaded->files[i].path));
	return paths;
}

/* The gate's own paths, which no command may see. */
static char **own_paths(const struct run_view_config *config)
{
	const char *key = config->options->helpers.webhook_key;
	char **paths = NULL;

	mem_append_list(&paths, mem_strdup(config->places->control_dir));
	/* A process that can open the log can lock it. */
	mem_append_list(&paths, mem_strdup(config->places->audit_path));
	mem_append_list(&paths, mem_strdup(config->places->audit_head));
	if (config->places->config_dir)
		mem_append_list(&paths, mem_strdup(config->places->config_dir));
	if (config->places->state_dir)
		mem_append_list(&paths, mem_strdup(config->places->state_dir));
	if (key) /* a process that has the key can forge questions */
		mem_append_list(&paths, run_places_absolute(config->places, key));
	return paths;
}

/* The policy's `hide`, and --deny-read. Returns as run_policy_paths(). */
static int denied_paths(const struct run_view_config *config, char ***ret)
{
	auto_free_list char **given = mem_new_array(1, sizeof(*given));

	for (char *const *path = config->options->denied; path && *path; path++)
		mem_append_list(&given, run_places_absolute(config->places, *path));
	return run_policy_paths(config->policy, config->places, POLICY_PATH_HIDE, given, ret);
}

/* --read and the policy's `read`, and the paths that every program needs. *@ret stays NULL if there
 * is neither. Returns as run_policy_paths(). */
static int readable_paths(const struct run_view_config *config, char ***ret)
{
	auto_free_list char **given = mem_new_array(1, sizeof(*given));
	auto_free_list char **roots = NULL;

	for (char *const *path = config->options->readable; path && *path; path++)
		mem_append_list(&given, run_places_absolute(config->places, *path));
	int status =
		run_policy_paths(config->policy, config->places, POLICY_PATH_READ, given, &roots);

	if (status != CLI_OK || !roots[0])
		return status;
	for (const char *const *path = exec_platform(); *path; path++) {
		if (access(*path, F_OK) == 0)
			mem_append_list(&roots, mem_strdup(*path));
	}
	*ret = take(roots);
	return CLI_OK;
}

struct entries {
	struct exec_entry list[EXEC_ENTRIES_MAX];
	size_t count;
};

static bool is_written(const struct entries *entries, const char *path)
{
	for (size_t i = 0; i < entries->count; i++)
		if (entries->list[i].access == EXEC_WRITE &&
		    strcmp(entries->list[i].path, path) == 0)
			return true;
	return false;
}

static int add_entries(struct entries *entries, char *const *paths, enum exec_access access)
{
	for (; paths && *paths; paths++) {
		/* A path that is named for reading stays writable if it is named for writing, too.
		 */
		if (access == EXEC_READ && is_written(entries, *paths))
			continue;
		if (entries->count == EXEC_ENTRIES_MAX)
			return cli_fail(CLI_NO_SANDBOX,
					"more than %d paths are denied, or named for reading and "
					"writing; name fewer",
					EXEC_ENTRIES_MAX);
		entries->list[entries->count++] = (struct exec_entry){ *paths, access };
	}
	return CLI_OK;
}

bool run_view_is_workspace(const char *cwd)
{
	static const char *const special[] = { "/proc", "/sys", "/dev" };
	bool is = strcmp(cwd, "/") != 0 && strcmp(cwd, "/run") != 0;

	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		is = is && !command_world_is_below(cwd, special[i]);
	return is;
}

/* Makes a list of entries of which the most specific one counts; a path without an entry cannot be
 * accessed. */
static int make_restricted(struct run_view *view, const struct run_view_config *config,
			   char *const *denied)
{
	const struct run_options *options = config->options;
	bool is_read_only = options->has_sandbox && options->sandbox == EXEC_MODE_READ_ONLY;
	char *const cwd[] = { config->places->cwd, NULL };
	struct entries entries = { .count = 0 };
	struct exec_sandbox_config sandbox = { .mode = EXEC_MODE_SPLIT,
					       .network = options->network };
	struct err why = { 0 };
	int status = CLI_OK;

	if (options->has_sandbox && !is_read_only && options->sandbox != EXEC_MODE_WORKSPACE_WRITE)
		return cli_fail(CLI_NO_SANDBOX,
				"reading is restricted by --read or by `read` in the policy, and "
				"--sandbox %s would open all files",
				exec_mode_name(options->sandbox));
	if (run_view_is_workspace(cwd[0]))
		status = add_entries(&entries, cwd, is_read_only ? EXEC_READ : EXEC_WRITE);
	if (status == CLI_OK && !is_read_only)
		status = add_entries(&entries, view->writable, EXEC_WRITE);
	if (status == CLI_OK)
		status = add_entries(&entries, view->readable, EXEC_READ);
	if (status == CLI_OK)
		status = add_entries(&entries, denied, EXEC_DENY);
	if (status != CLI_OK)
		return status;
	sandbox.entries = entries.list;
	sandbox.entry_count = entries.count;
	view->sandbox = exec_sandbox_new(&sandbox, &why);
	if (!view->sandbox)
		return cli_fail(CLI_NO_SANDBOX, "cannot make the sandbox: %s", why.text);
	if (exec_sandbox_access(view->sandbox, "/") == EXEC_WRITE)
		return cli_fail(CLI_NO_SANDBOX,
				"/ cannot be writable, because it is the whole file system");
	return CLI_OK;
}

static int make_sandbox(struct run_view *view, const struct run_view_config *config,
			char *const *denied)
{
	struct entries entries = { .count = 0 };
	struct exec_sandbox_config sandbox = {
		.mode = config->options->sandbox,
		.network = config->options->network,
		.cwd = config->places->cwd,
		.writable = (const char *const *)view->writable,
		.has_no_tmp = true, /* @writable includes them, if allowed */
		.has_no_tmpdir = true,
		.entries = entries.list,
	};
	struct err why = { 0 };
	int status = add_entries(&entries, denied, EXEC_DENY);

	if (status != CLI_OK)
		return status;
	sandbox.entry_count = entries.count;
	view->sandbox = exec_sandbox_new(&sandbox, &why);
	return view->sandbox ? CLI_OK
			     : cli_fail(CLI_NO_SANDBOX, "cannot make the sandbox: %s", why.text);
}

static struct exec_limits limits_of(const struct policy *policy)
{
	return (struct exec_limits){
		.processes = policy_limit_held(policy, POLICY_LIMIT_PROCESSES),
		.memory = policy_limit_held(policy, POLICY_LIMIT_MEMORY),
		.tmp = policy_limit_held(policy, POLICY_LIMIT_TMP),
		.files = policy_limit_held(policy, POLICY_LIMIT_FILES),
	};
}

int run_view_make(struct run_view *view, const struct run_view_config *config)
{
	auto_free_list char **denied = NULL;
	int status = run_policy_paths(config->policy, config->places, POLICY_PATH_WRITE,
				      config->options->writable, &view->writable);

	if (status == CLI_OK)
		status = denied_paths(config, &denied);
	if (status == CLI_OK)
		status = readable_paths(config, &view->readable);
	if (status == CLI_OK)
		status = run_protect_find(view, config->policy, config->places);
	if (status == CLI_OK)
		status = run_sockets_find(view, config->policy, config->places);
	if (status != CLI_OK)
		return status;
	view->theirs = reach_earlier(config->places->state_dir);
	view->limits = limits_of(config->policy);
	run_env_find(view, config->policy, config->options);
	view->hidden = own_paths(config);
	view->read_only = read_only_paths(config);
	if (view->readable)
		status = make_restricted(view, config, denied);
	else if (config->options->has_sandbox)
		status = make_sandbox(view, config, denied);
	for (char **path = denied; !view->sandbox && *path; path++)
		mem_append_list(&view->hidden, mem_strdup(*path));
	if (view->sandbox)
		view->denied = take(denied);
	return status;
}

void run_view_add_cwd(struct run_view *view, const struct run_places *places)
{
	if (run_view_is_workspace(places->cwd))
		mem_append_list(&view->writable, mem_strdup(places->cwd));
}

void run_view_done(struct run_view *view)
{
	mem_free_list(view->writable);
	mem_free_list(view->theirs);
	mem_free_list(view->readable);
	mem_free_list(view->hidden);
	mem_free_list(view->read_only);
	mem_free_list(view->denied);
	mem_free_list(view->homes);
	mem_free_list(view->named);
	mem_free_list(view->env);
	for (size_t i = 0; i < view->project_count; i++) {
		mem_free_list(view->projects[i].texts);
		free(view->projects[i].list);
		free(view->projects[i].cwd);
	}
	free(view->projects);
	free(view->cache_root);
	mem_free_list(view->sockets);
	mem_free_list(view->socket_names);
	free(view->withheld);
	mem_free_list(view->protect);
	mem_free_list(view->unprotect);
	exec_sandbox_free(view->sandbox);
	*view = (struct run_view){ 0 };
}
