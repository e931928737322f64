#include "exec/sandbox/caches.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "exec/exec_egress.h"
#include "exec/exec_plan.h"
#include "exec/exec_sandbox.h"
#include "exec/run/wire.h"
#include "exec/sandbox/env.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"

/* A cache over a path of the plan would hide it, and its own mount point would be missing. */
static bool has_inside(const struct plan *plan, const char *path)
{
	const struct paths *const lists[] = { &plan->fresh,  &plan->writable, &plan->readable,
					      &plan->pins,   &plan->hidden,   &plan->read_only,
					      &plan->absent, &plan->caches,   &plan->covered };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (paths_has(lists[i], path) || paths_is_around(lists[i], path))
			return true;
	return paths_is_within(plan->cwd, path);
}

static bool is_below_ours(const char *path)
{
	return paths_is_within(path, EXEC_CACHES);
}

/* An existing folder that the command can read; or a new one in the fresh /run. */
static bool has_place(const struct plan *plan, const char *path)
{
	int access = mounts_access(plan, path);

	if (is_below_ours(path))
		return access == EXEC_DENY && paths_has(&plan->fresh, "/run") &&
		       !paths_holder(&plan->hidden, path);
	return access == EXEC_READ;
}

void caches_plan(struct plan *plan, const struct exec_plan_config *config)
{
	bool is_open = (plan->flags & (WIRE_UNCONFINED | WIRE_OPEN)) != 0;

	for (size_t i = 0; i < config->cache_count && !is_open; i++) {
		const struct exec_cache *cache = &config->caches[i];
		auto_free char *path = NULL, *source = NULL;
		struct stat what;

		int r = paths_resolve(cache->source, &plan->writable, &source, NULL);

		if (r < 0 && !(r == -ENOENT && plan->is_look))
			continue;
		if (is_below_ours(cache->path))
			path = mem_strdup(cache->path);
		else if (paths_resolve(cache->path, &plan->writable, &path, NULL) < 0 ||
			 stat(path, &what) < 0 || !S_ISDIR(what.st_mode))
			continue;
		if (!has_place(plan, path) || has_inside(plan, path))
			continue;
		paths_add(&plan->caches, path);
		paths_add(&plan->cached, path);
		paths_add(&plan->cached, source);
	}
}

void caches_env(struct plan *plan, const struct exec_plan_config *config)
{
	for (size_t i = 0; i < config->cache_count; i++) {
		const struct exec_cache *cache = &config->caches[i];
		size_t len = cache->entry ? strcspn(cache->entry, "=") : 0;

		if (len == 0 || !paths_has(&plan->caches, cache->path))
			continue;
		auto_free char *name = mem_strndup(cache->entry, len);
		const char *value = cache->entry + len + 1;

		plan->env = cache->is_appended ? env_append(plan->env, name, value)
					       : env_set(plan->env, name, value);
	}
}
