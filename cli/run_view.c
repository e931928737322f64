#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/policy_layers.h"
#include "cli/run_impl.h"

/* @item is taken where the list owns its strings. */
static void append(char ***list, char *item)
{
	size_t count = 0;

	while (*list && (*list)[count])
		count++;
	*list = mem_grow(*list, count + 2, sizeof(**list));
	(*list)[count] = item;
	(*list)[count + 1] = NULL;
}

static const char *own_tmpdir(void)
{
	const char *path = getenv("TMPDIR");

	return path && path[0] == '/' ? path : NULL;
}

int run_view_settle(struct run_options *options)
{
	static char all[] = "/", tmp[] = "/tmp";
	const char *tmpdir = own_tmpdir();

	if (!options->has_sandbox)
		return 0;
	if (options->writable && options->sandbox != EXEC_MODE_WORKSPACE_WRITE)
		return cli_usage_error(options->name, -EINVAL,
				       "--write is for --sandbox workspace-write, not %s",
				       exec_mode_name(options->sandbox));
	switch (options->sandbox) {
	case EXEC_MODE_WORKSPACE_WRITE:
		append(&options->writable, tmp);
		if (tmpdir)
			append(&options->writable, (char *)(uintptr_t)tmpdir);
		break;
	case EXEC_MODE_EXTERNAL:
	case EXEC_MODE_FULL_ACCESS:
		append(&options->writable, all);
		break;
	case EXEC_MODE_READ_ONLY:
	case EXEC_MODE_SPLIT:
		break;
	}
	return 0;
}

/* What the command may not change where it may write. */
static char **read_only_paths(const struct run_view_config *config)
{
	char **paths = policy_layers_projects(config->places->cwd);

	for (char *const *given = config->options->policies; given && *given; given++)
		append(&paths, run_places_absolute(config->places, *given));
	/* With what they include. */
	for (size_t i = 0; i < config->loaded->file_count; i++)
		if (config->loaded->files[i].path[0] == '/')
			append(&paths, mem_strdup(config->loaded->files[i].path));
	append(&paths, mem_strdup(config->places->audit_path));
	append(&paths, mem_strdup(config->places->audit_head));
	return paths;
}

/* The gate's own, which nobody inside may see. */
static char **own_paths(const struct run_view_config *config)
{
	const char *key = config->options->helpers.webhook_key;
	char **paths = NULL;

	append(&paths, mem_strdup(config->places->control_dir));
	if (config->places->config_dir)
		append(&paths, mem_strdup(config->places->config_dir));
	if (config->places->state_dir)
		append(&paths, mem_strdup(config->places->state_dir));
	if (key) /* who has it can make questions up */
		append(&paths, run_places_absolute(config->places, key));
	return paths;
}

/* The policy's `hide`, and --deny-read. As run_policy_paths(). */
static int denied_paths(const struct run_view_config *config, char ***ret)
{
	auto_free_list char **given = mem_new_array(1, sizeof(*given));

	for (char *const *path = config->options->denied; path && *path; path++)
		append(&given, run_places_absolute(config->places, *path));
	return run_policy_paths(config->policy, config->places, true, given, ret);
}

static int make_sandbox(struct run_view *view, const struct run_view_config *config,
			char *const *denied)
{
	struct exec_entry entries[EXEC_ENTRIES_MAX];
	struct exec_sandbox_config sandbox = {
		.mode = config->options->sandbox,
		.network = config->options->network,
		.cwd = config->places->cwd,
		.writable = (const char *const *)view->writable,
		.has_no_tmp = true, /* they are in the list */
		.has_no_tmpdir = true,
		.entries = entries,
	};
	struct err why = { 0 };

	for (; *denied; denied++) {
		if (sandbox.entry_count == EXEC_ENTRIES_MAX)
			return cli_fail(CLI_NO_SANDBOX, "more than %d paths are denied",
					EXEC_ENTRIES_MAX);
		entries[sandbox.entry_count++] = (struct exec_entry){ *denied, EXEC_DENY };
	}
	view->sandbox = exec_sandbox_new(&sandbox, &why);
	return view->sandbox ? CLI_OK : cli_fail(CLI_NO_SANDBOX, "no sandbox: %s", why.text);
}

int run_view_make(struct run_view *view, const struct run_view_config *config)
{
	auto_free_list char **denied = NULL;
	int status = run_policy_paths(config->policy, config->places, false,
				      config->options->writable, &view->writable);

	if (status == CLI_OK)
		status = denied_paths(config, &denied);
	if (status != CLI_OK)
		return status;
	view->hidden = own_paths(config);
	view->read_only = read_only_paths(config);
	if (config->options->has_sandbox)
		return make_sandbox(view, config, denied);
	for (char **path = denied; *path; path++)
		append(&view->hidden, mem_strdup(*path));
	return CLI_OK;
}

void run_view_add_cwd(struct run_view *view, const struct run_places *places)
{
	append(&view->writable, mem_strdup(places->cwd));
}

void run_view_done(struct run_view *view)
{
	mem_free_list(view->writable);
	mem_free_list(view->hidden);
	mem_free_list(view->read_only);
	exec_sandbox_free(view->sandbox);
	*view = (struct run_view){ 0 };
}
