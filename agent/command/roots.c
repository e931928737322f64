#include "agent/command/roots.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "agent/session/client.h"
#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_platform.h"
#include "exec/exec_sandbox.h"

struct entries {
	struct exec_entry list[EXEC_ENTRIES_MAX + 1];
	size_t count;
};

/* Adds an entry. A list over the limit is kept, and the sandbox refuses it. A path that is writable
 * stays writable if it is also named for reading. */
static void add(struct entries *entries, const char *path, enum exec_access access)
{
	for (size_t i = 0; access == EXEC_READ && i < entries->count; i++)
		if (entries->list[i].access == EXEC_WRITE &&
		    strcmp(entries->list[i].path, path) == 0)
			return;
	if (entries->count <= EXEC_ENTRIES_MAX)
		entries->list[entries->count++] = (struct exec_entry){ path, access };
}

static void add_all(struct entries *entries, const char *const *paths, enum exec_access access)
{
	for (; paths && *paths; paths++)
		add(entries, *paths, access);
}

static struct exec_sandbox *make(const struct entries *entries, enum exec_network network,
				 struct err *why)
{
	const struct exec_sandbox_config config = {
		.mode = EXEC_MODE_SPLIT,
		.network = network,
		.entries = entries->list,
		.entry_count = entries->count,
	};

	return exec_sandbox_new(&config, why);
}

char **roots_platform(void)
{
	char **list = mem_new_array(1, sizeof(*list));

	for (const char *const *path = exec_platform(); *path; path++) {
		if (access(*path, F_OK) == 0)
			mem_append_list(&list, mem_strdup(*path));
	}
	return list;
}

/* Adds what a session may see that may read @readable. */
static void add_roots(struct entries *entries, const struct agent *agent, const char *cwd,
		      const struct exec_sandbox_config *wanted, const char *const *readable)
{
	bool has_write = wanted->mode != EXEC_MODE_READ_ONLY;
	enum exec_access access = has_write ? EXEC_WRITE : EXEC_READ;

	add(entries, cwd, access);
	if (has_write)
		add_all(entries, agent->config.writable, EXEC_WRITE);
	if (wanted->mode == EXEC_MODE_WORKSPACE_WRITE && !wanted->has_no_tmp)
		add(entries, "/tmp", EXEC_WRITE);
	if (wanted->mode == EXEC_MODE_WORKSPACE_WRITE && !wanted->has_no_tmpdir && wanted->tmpdir)
		add(entries, wanted->tmpdir, EXEC_WRITE);
	add_all(entries, readable, EXEC_READ);
}

static int check(const struct exec_sandbox *all, const char *path, struct err *why)
{
	return exec_sandbox_access(all, path) != EXEC_DENY
		       ? 0
		       : err_set(why, -EPERM,
				 "reading is restricted by --read or by the policy, and %.200s is "
				 "outside of what they name",
				 path);
}

static int check_all(const struct exec_sandbox *all, const struct exec_sandbox_config *wanted,
		     const char *const *readable, struct err *why)
{
	int r = 0;

	for (const char *const *path = wanted->writable; path && *path && r == 0; path++)
		r = check(all, *path, why);
	for (; readable && *readable && r == 0; readable++)
		r = check(all, *readable, why);
	for (size_t i = 0; i < wanted->entry_count && r == 0; i++)
		if (wanted->entries[i].access != EXEC_DENY)
			r = check(all, wanted->entries[i].path, why);
	return r;
}

static int make_wanted(const struct exec_sandbox_config *wanted, struct exec_sandbox **ret,
		       struct err *why)
{
	*ret = exec_sandbox_new(wanted, why);
	return *ret ? 0 : -EINVAL;
}

/* Does the user who started the gate permit it? */
static int check_restricted(const struct agent *agent, const char *cwd,
			    const struct exec_sandbox_config *wanted, const char *const *readable,
			    struct err *why)
{
	struct entries entries = { .count = 0 };

	if (!agent->config.readable)
		return 0;
	if (wanted->mode == EXEC_MODE_FULL_ACCESS || wanted->mode == EXEC_MODE_EXTERNAL)
		return err_set(why, -EPERM,
			       "reading is restricted by --read or by the policy, and this mode "
			       "would open all files; choose another mode");
	add_roots(&entries, agent, cwd, wanted, agent->config.readable);
	struct exec_sandbox *all = make(&entries, wanted->network, why);
	int r = all ? check_all(all, wanted, readable, why) : -EINVAL;

	exec_sandbox_free(all);
	return r;
}

int roots_confine(const struct agent *agent, const char *cwd,
		  const struct exec_sandbox_config *wanted, const char *const *readable,
		  struct exec_sandbox **ret, struct err *why)
{
	const char *const *seen = readable ? readable : agent->config.readable;
	struct entries entries = { .count = 0 };

	/* What the client wants must be valid by itself, also if less can be seen. */
	int r = make_wanted(wanted, ret, why);

	if (r < 0 || !seen)
		return r;
	r = check_restricted(agent, cwd, wanted, readable, why);
	if (r == 0 && wanted->mode == EXEC_MODE_SPLIT)
		return 0;
	exec_sandbox_free(*ret);
	*ret = NULL;
	if (r < 0)
		return r;
	add_roots(&entries, agent, cwd, wanted, seen);
	add_all(&entries, wanted->writable, EXEC_WRITE);
	for (size_t i = 0; i < wanted->entry_count; i++)
		add(&entries, wanted->entries[i].path, wanted->entries[i].access);
	*ret = make(&entries, wanted->network, why);
	return *ret ? 0 : -EINVAL;
}
