#include "agent/command/confine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/session/client.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/command/roots.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"

struct wanted {
	const char *mode;
	int network;
	const char **writable, **read, **deny;
	const json_t *access;
	bool has_no_tmp, has_no_tmpdir;
};
static const char *const networks[] = { "restricted", "enabled", NULL };
static const struct fields_entry wanted_fields[] = {
	{ "mode", FIELDS_TEXT, offsetof(struct wanted, mode), AGENT_NAME_MAX, true, NULL },
	{ "network", FIELDS_CHOICE, offsetof(struct wanted, network), 0, false, networks },
	{ "writable", FIELDS_WORDS, offsetof(struct wanted, writable), AGENT_LIST_MAX, false,
	  NULL },
	{ "read", FIELDS_WORDS, offsetof(struct wanted, read), AGENT_LIST_MAX, false, NULL },
	{ "deny", FIELDS_WORDS, offsetof(struct wanted, deny), AGENT_LIST_MAX, false, NULL },
	{ "read_only_access", FIELDS_OBJECT, offsetof(struct wanted, access), 0, false, NULL },
	{ "exclude_slash_tmp", FIELDS_FLAG, offsetof(struct wanted, has_no_tmp), 0, false, NULL },
	{ "exclude_tmpdir", FIELDS_FLAG, offsetof(struct wanted, has_no_tmpdir), 0, false, NULL },
	{ 0 },
};

/* What can be read in the modes that show all files otherwise. */
struct access_wanted {
	const char **roots;
	bool has_platform;
};
static const struct fields_entry access_fields[] = {
	{ "readable_roots", FIELDS_WORDS, offsetof(struct access_wanted, roots), AGENT_LIST_MAX,
	  false, NULL },
	{ "include_platform_defaults", FIELDS_FLAG, offsetof(struct access_wanted, has_platform), 0,
	  false, NULL },
	{ 0 },
};

/* Gives each path one spelling: without empty components and without ".". */
static void clean(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		size_t len = strcspn(from + 1, "/");

		if (len > 0 && !(len == 1 && from[1] == '.')) {
			memmove(to, from, len + 1);
			to += len + 1;
		}
		from += len + 1;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

char *confine_path(const char *cwd, const char *path, struct err *why)
{
	auto_free char *full = path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", cwd, path);
	size_t len = strlen(full);

	if (path[0] == '\0' || len >= AGENT_PATH_MAX || strstr(full, "/../") ||
	    (len >= 3 && strcmp(full + len - 3, "/..") == 0)) {
		auto_free char *shown = text_visible_dup(path);

		(void)err_set(why, -EINVAL,
			      "`%.200s`: the path is empty, too long or contains `..`", shown);
		return NULL;
	}
	clean(full);
	return take(full);
}

char *confine_openable(const char *path)
{
	auto_free char *at = mem_strdup(path);
	struct stat status;

	while (lstat(at, &status) < 0 && errno == ENOENT) {
		char *slash = strrchr(at, '/');

		if (!slash || slash == at)
			return mem_strdup(path); /* never the root */
		*slash = '\0';
	}
	return take(at);
}

static size_t count_of(const char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* Appends the paths of @list to @paths, which has room for them. */
static int add_paths(char **paths, const char *cwd, const char *const *list, struct err *why)
{
	size_t count = count_of((const char *const *)paths);

	for (size_t i = 0; list && list[i]; i++) {
		paths[count] = confine_path(cwd, list[i], why);
		if (!paths[count++])
			return -EINVAL;
	}
	return 0;
}

static void add_entries(struct exec_entry *entries, size_t *count, char *const *paths,
			enum exec_access access)
{
	for (size_t i = 0; paths[i]; i++)
		entries[(*count)++] = (struct exec_entry){ paths[i], access };
}

/* Commands without a sandbox, or in a sandbox of the client's, need the permission of the user who
 * started the gate. */
static int check_leave(const struct agent *agent, const struct exec_sandbox_config *config,
		       struct err *why)
{
	bool is_open = config->mode == EXEC_MODE_FULL_ACCESS ||
		       config->mode == EXEC_MODE_EXTERNAL ||
		       config->network == EXEC_NETWORK_ENABLED;

	if (!is_open || agent->config.may_unconfine)
		return 0;
	return err_set(why, -EPERM,
		       "a session without a sandbox, or on the host's network, is refused; start "
		       "the server with `--allow-unconfined` to allow it");
}

struct lists {
	char **writable, **read, **deny;
	char **readable; /* NULL: reading is not restricted */
};

/* A path in both lists is an error, because it is not clear what is meant. The first @given
 * writable paths come from the client. */
static int check_lists(const struct lists *lists, size_t given, struct err *why)
{
	for (size_t i = 0; lists->read[i]; i++) {
		for (size_t k = 0; k < given; k++) {
			if (strcmp(lists->read[i], lists->writable[k]) == 0)
				return err_set(why, -EINVAL,
					       "%.300s is listed for reading and for writing; list "
					       "it once",
					       lists->read[i]);
		}
	}
	return 0;
}

static void free_lists(struct lists *lists)
{
	mem_free_list(lists->writable);
	mem_free_list(lists->read);
	mem_free_list(lists->deny);
	mem_free_list(lists->readable);
}

static int make(const struct agent *agent, const struct wanted *wanted, const char *cwd,
		const struct lists *lists, struct exec_sandbox **ret, struct err *why)
{
	size_t room = count_of((const char *const *)lists->writable) +
		      count_of((const char *const *)lists->read) +
		      count_of((const char *const *)lists->deny);
	auto_free struct exec_entry *entries = mem_new_array(room + 1, sizeof(*entries));
	struct exec_sandbox_config config = {
		.network = wanted->network ? EXEC_NETWORK_ENABLED : EXEC_NETWORK_RESTRICTED,
		.cwd = cwd,
		.has_no_tmp = wanted->has_no_tmp,
		.has_no_tmpdir = wanted->has_no_tmpdir,
		.tmpdir = getenv("TMPDIR"),
		.entries = entries,
	};

	if (!exec_mode_parse(wanted->mode, &config.mode))
		return err_set(why, -EINVAL,
			       "\"mode\" must be read-only, workspace-write, external, "
			       "danger-full-access or split");
	if (config.mode == EXEC_MODE_FULL_ACCESS)
		config.network = EXEC_NETWORK_ENABLED;
	if (config.tmpdir && config.tmpdir[0] != '/')
		config.tmpdir = NULL;
	int r = check_leave(agent, &config, why);

	if (r < 0)
		return r;
	if (config.mode == EXEC_MODE_SPLIT)
		add_entries(entries, &config.entry_count, lists->writable, EXEC_WRITE);
	else
		config.writable = (const char *const *)lists->writable;
	add_entries(entries, &config.entry_count, lists->read, EXEC_READ);
	add_entries(entries, &config.entry_count, lists->deny, EXEC_DENY);
	if (lists->readable && config.mode != EXEC_MODE_READ_ONLY &&
	    config.mode != EXEC_MODE_WORKSPACE_WRITE)
		return err_set(why, -EINVAL,
			       "\"read_only_access\" is for the modes read-only and "
			       "workspace-write; in split, name the paths in \"read\"");
	return roots_confine(agent, cwd, &config, (const char *const *)lists->readable, ret, why);
}

static int find_readable(const json_t *wanted_json, const char *cwd, struct lists *lists,
			 struct err *why)
{
	struct access_wanted wanted = { .has_platform = true };
	int r = fields_read(wanted_json, access_fields, true, &wanted, why);

	if (r == 0) {
		auto_free_list char **platform =
			wanted.has_platform ? roots_platform() : mem_new_array(1, sizeof(char *));

		lists->readable = mem_new_array(count_of(wanted.roots) +
							count_of((const char *const *)platform) + 1,
						sizeof(char *));
		r = add_paths(lists->readable, cwd, wanted.roots, why);
		if (r == 0)
			r = add_paths(lists->readable, cwd, (const char *const *)platform, why);
	}
	fields_forget(access_fields, &wanted);
	return r;
}

/* The writable paths of the policy and the options count only in the mode workspace-write. */
static int find_lists(const struct agent *agent, const struct wanted *wanted, const char *cwd,
		      struct lists *lists, struct err *why)
{
	bool is_workspace = strcmp(wanted->mode, "workspace-write") == 0;
	size_t given = count_of(wanted->writable);
	size_t ours = is_workspace ? count_of(agent->config.writable) : 0;

	lists->writable = mem_new_array(given + ours + 1, sizeof(char *));
	lists->read = mem_new_array(count_of(wanted->read) + 1, sizeof(char *));
	lists->deny = mem_new_array(count_of(wanted->deny) + 1, sizeof(char *));
	int r = add_paths(lists->writable, cwd, wanted->writable, why);

	if (r == 0 && ours)
		r = add_paths(lists->writable, cwd, agent->config.writable, why);
	if (r == 0)
		r = add_paths(lists->read, cwd, wanted->read, why);
	if (r == 0)
		r = add_paths(lists->deny, cwd, wanted->deny, why);
	return r == 0 && wanted->access ? find_readable(wanted->access, cwd, lists, why) : r;
}

char **confine_writable(const struct exec_sandbox *sandbox)
{
	size_t count, used = 0;
	const struct exec_entry *entries = exec_sandbox_entries(sandbox, &count);
	char **list = mem_new_array(count + 2, sizeof(*list));

	if (exec_sandbox_writes_all(sandbox))
		list[used++] = mem_strdup("/");
	for (size_t i = 0; i < count; i++) {
		if (entries[i].access == EXEC_WRITE)
			list[used++] = mem_strdup(entries[i].path);
	}
	return list;
}

int confine_new(const struct agent *agent, const json_t *wanted_json, const char *cwd,
		struct exec_sandbox **ret, struct err *why)
{
	struct wanted wanted = { .mode = "workspace-write" };
	struct lists lists = { 0 };
	int r = wanted_json ? fields_read(wanted_json, wanted_fields, true, &wanted, why) : 0;

	if (r == 0)
		r = find_lists(agent, &wanted, cwd, &lists, why);
	if (r == 0)
		r = check_lists(&lists, count_of(wanted.writable), why);
	if (r == 0)
		r = make(agent, &wanted, cwd, &lists, ret, why);
	free_lists(&lists);
	fields_forget(wanted_fields, &wanted);
	return r;
}

char **confine_env(const json_t *wanted, const char *const *before, struct err *why)
{
	size_t count = count_of(before), used = 0;
	auto_free_list char **list =
		mem_new_array(count + json_object_size(wanted) + 1, sizeof(*list));
	const char *name;
	json_t *value;

	for (; used < count; used++)
		list[used] = mem_strdup(before[used]);
	if (json_object_size(wanted) > AGENT_ENV_MAX) {
		(void)err_set(why, -EINVAL, "\"env\" has more than %d members", AGENT_ENV_MAX);
		return NULL;
	}
	json_object_foreach((json_t *)(uintptr_t)wanted, name, value)
	{
		if (name[0] == '\0' || strchr(name, '=') ||
		    (!json_is_string(value) && !json_is_null(value))) {
			(void)err_set(why, -EINVAL,
				      "a member of \"env\" must have a name without `=`, and a "
				      "text as its value, or null to pass the variable on");
			return NULL;
		}
		list[used++] = json_is_null(value)
				       ? mem_strdup(name)
				       : mem_printf("%s=%s", name, json_string_value(value));
	}
	return take(list);
}
