#include "exec/view/view.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/sandbox/covers.h"
#include "exec/exec_plan.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/sandbox/sockets.h"
#include "exec/view/view_aliases.h"
#include "exec/view/view_entries.h"
#include "exec/view/view_names.h"
#include "exec/view/view_place.h"
#include "exec/view/view_protect.h"
#include "exec/view/view_repository.h"
#include "exec/run/wire.h"

#define WRITABLE_MAX 64 /* the same as in init */

/* Empty for the command, if the host has them. */
static const char *const fresh[] = { "/tmp", "/run", "/var/run" };

static int add_fresh(struct plan *plan, struct err *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(fresh); i++) {
		auto_free char *path = NULL;
		int r = paths_resolve(fresh[i], NULL, &path, why);

		if (r == -ENOENT && i > 0)
			continue;
		if (r < 0)
			return err_prefix(why, r, "cannot give the command a fresh directory");
		if (!paths_holder(&plan->fresh, path))
			paths_add(&plan->fresh, path);
		plan->has_fresh_tmp = true;
	}
	return 0;
}

static int add_writable(struct plan *plan, const char *given, const struct paths *theirs,
			struct err *why)
{
	auto_free char *path = NULL;
	struct stat what;
	int r = paths_resolve(given, theirs, &path, why);

	if (r < 0)
		return err_prefix(why, r, "cannot make a path writable");
	if (stat(path, &what) < 0 || (!S_ISDIR(what.st_mode) && !S_ISREG(what.st_mode)))
		return err_set(why, -EINVAL,
			       "%s cannot be writable: it is neither a directory nor a file",
			       given);
	if (view_place_unfit(plan, path))
		return err_set(why, -EINVAL, "%s cannot be writable: %s", given,
			       view_place_unfit(plan, path));
	if (!paths_has(&plan->writable, path))
		paths_add(&plan->writable, path);
	if (plan->writable.count > WRITABLE_MAX)
		return err_set(why, -E2BIG, "more than %d directories are writable; name fewer",
			       WRITABLE_MAX);
	return 0;
}

enum protection { HIDE, KEEP_READ_ONLY };

/* A protected path must not contain a writable one, and a hidden path must not contain any other:
 * that would be mounted on top. */
static int check_conflict(const struct plan *plan, const char *path, enum protection how,
			  struct err *why)
{
	const struct paths *const shown[] = { &plan->writable, &plan->readable, &plan->read_only };

	for (size_t list = 0; list < (how == HIDE ? ARRAY_SIZE(shown) : 2); list++)
		for (size_t i = 0; i < shown[list]->count; i++)
			if (paths_is_within(shown[list]->list[i], path))
				return err_set(why, -EINVAL,
					       "the command cannot use %s: the gate keeps its own "
					       "files in %s",
					       shown[list]->list[i], path);
	if (paths_is_within(plan->cwd, path))
		return err_set(why, -EINVAL,
			       "the command cannot use %s: the gate keeps its own files there",
			       plan->cwd);
	return 0;
}

static int protect(struct plan *plan, const char *given, enum protection how, struct err *why)
{
	struct paths *list = how == HIDE ? &plan->hidden : &plan->read_only;
	auto_free char *path = NULL;
	int r = paths_resolve(given, &plan->writable, &path, why);

	if (r < 0 && r != -ENOENT)
		return err_prefix(why, r, "cannot protect a path");
	int access = mounts_access(plan, path);
	bool is_writable = access == EXEC_WRITE;

	if (r == -ENOENT && how == HIDE) {
		view_place_hide_absent(plan, path);
		return 0;
	}
	if (r == -ENOENT && is_writable)
		return err_set(why, r,
			       "%s does not exist, and the command could create it, "
			       "because it can write there; create it first",
			       given);
	/* It does not exist, or lies in an empty or hidden directory: nothing to protect. */
	if (r == -ENOENT || (access == EXEC_DENY && !mounts_has_way(plan, path)))
		return 0;
	if (how == HIDE || is_writable || access == EXEC_DENY) {
		r = check_conflict(plan, path, how, why);
		if (r < 0)
			return r;
	}
	if (how == KEEP_READ_ONLY && !is_writable)
		return 0;
	paths_add(list, path);
	view_place_pin(plan, path);
	return 0;
}

static int protect_all(struct plan *plan, const char *const *paths, enum protection how,
		       struct err *why)
{
	int r = 0;

	for (; paths && *paths && r == 0; paths++)
		r = protect(plan, *paths, how, why);
	return r;
}

static int add_sockets(struct plan *plan, struct err *why)
{
	struct paths found = { 0 };
	int r = sockets_find(plan, &found, why);

	for (size_t i = 0; i < found.count && r == 0; i++)
		if (!paths_has(&plan->open_sockets, found.list[i]))
			paths_add(&plan->sockets, found.list[i]);
	paths_done(&found);
	return r;
}

static int plan_default(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	const struct paths theirs = paths_of(config->theirs);
	int r = add_fresh(plan, why);

	if (r == 0 && !view_place_unfit(plan, plan->cwd))
		r = add_writable(plan, plan->cwd, &theirs, why);
	for (const char *const *dir = config->writable; dir && *dir && r == 0; dir++)
		r = add_writable(plan, *dir, &theirs, why);
	if (r == 0)
		r = view_aliases_add_volumes(plan, config, why);
	paths_sort(&plan->writable);
	return r;
}

/* A path in a hidden folder is covered by that folder, and could not be reached to be covered
 * again. */
static void drop_buried(const struct plan *plan, struct paths *list)
{
	struct paths kept = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		auto_free char *folder = paths_parent(list->list[i]);

		if (strcmp(list->list[i], "/") == 0 || !paths_holder(&plan->hidden, folder) ||
		    mounts_access(plan, folder) != EXEC_DENY)
			paths_add(&kept, list->list[i]);
	}
	paths_done(list);
	*list = kept;
	paths_sort(list);
}

static int find(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	int r = config->sandbox ? view_entries(plan, config, why) : plan_default(plan, config, why);
	if (r == 0)
		r = view_protect_place(plan, config->protection, why);
	if (r == 0)
		view_repository(plan, config->protection);
	if (r == 0)
		r = protect_all(plan, config->hidden, HIDE, why);
	if (r == 0)
		r = view_entries_open_sockets(plan, config->sockets, config->theirs, why);
	paths_sort(&plan->readable);
	if (r == 0)
		r = protect_all(plan, config->read_only, KEEP_READ_ONLY, why);
	if (r == 0)
		r = view_protect(plan, config->protection, why);
	return r;
}

int view_find(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	int r = paths_resolve(config->cwd, NULL, &plan->cwd, why);

	plan->is_look = true;
	return r == 0 ? find(plan, config, why) : r;
}

int view_plan(struct plan *plan, const struct exec_plan_config *config, struct err *why)
{
	const struct paths theirs = paths_of(config->theirs);
	/* An agent names its folder; that of a run is the one that it is in, which no link led to.
	 */
	int r = paths_resolve(config->cwd, config->sandbox ? NULL : &theirs, &plan->cwd, why);

	plan->cache_root = config->cache_root;
	if (r < 0)
		return err_prefix(why, r, "cannot use the working directory");
	if (config->sandbox && exec_sandbox_is_unconfined(config->sandbox)) {
		plan->flags |= WIRE_UNCONFINED | WIRE_HOST_NETWORK;
		return 0;
	}
	plan->is_look = config->is_look;
	r = find(plan, config, why);
	if (r == 0)
		r = view_names_cover(plan, why);
	if (r == 0)
		r = view_aliases_cover(plan, why);
	paths_sort(&plan->pins);
	paths_sort(&plan->hidden);
	paths_sort(&plan->read_only);
	drop_buried(plan, &plan->read_only);
	drop_buried(plan, &plan->hidden);
	if (r == 0)
		r = covers_plan(plan, why);
	if (r == 0)
		r = add_sockets(plan, why);
	return r == 0 ? mounts_check(plan, why) : r;
}

/* Is it one of @paths, under any name? */
static bool is_one_of(const struct paths *paths, const struct stat *what)
{
	struct stat other;

	for (size_t i = 0; i < paths->count; i++)
		if (lstat(paths->list[i], &other) == 0 && other.st_dev == what->st_dev &&
		    other.st_ino == what->st_ino)
			return true;
	return false;
}

/* Is it, or a directory that it is in, protected? It may have been opened by another mount, which
 * has other paths. */
static bool is_protected(const struct plan *plan, const char *path)
{
	auto_free char *at = mem_strdup(path);
	struct stat what;

	if (paths_holder(&plan->hidden, path) || paths_holder(&plan->read_only, path))
		return true;
	for (char *slash = strrchr(at, '/'); slash && slash != at; slash = strrchr(at, '/')) {
		if (stat(at, &what) == 0 &&
		    (is_one_of(&plan->hidden, &what) || is_one_of(&plan->read_only, &what)))
			return true;
		*slash = '\0';
	}
	return false;
}

/* An open descriptor refers to the host's writable mount, and Landlock allows everything in a
 * writable directory: so a protected file must not be one of 0–2. */
int view_check_open_file(const struct plan *plan, int fd, const char *what, struct err *why)
{
	char link[64], path[PATH_MAX];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	if (n < 0)
		return err_errno(why, errno, "cannot determine which file %s is", what);
	path[n] = '\0';
	return is_protected(plan, path)
		       ? err_set(why, -EPERM,
				 "%s is %s, which the gate protects from the command; if the "
				 "command may read it, put a pipe there (cat |)",
				 what, path)
		       : 0;
}
