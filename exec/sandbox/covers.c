#include "exec/sandbox/covers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"

/* Removes the last component of @path, which is not "/". */
static void cut(char *path)
{
	char *slash = strrchr(path, '/');

	slash[slash == path ? 1 : 0] = '\0';
}

/* Adds every folder above @path. A folder that this user can neither read nor write is left out: no
 * program of this user can replace a name in it. */
static int add_folders(struct plan *plan, const char *path, struct err *why)
{
	auto_free char *folder = mem_strdup(path);

	do {
		cut(folder);
		if (paths_has(&plan->folders, folder))
			return 0;
		if (access(folder, R_OK) == 0)
			paths_add(&plan->folders, folder);
		else if (access(folder, W_OK) == 0)
			return err_set(why, -EACCES,
				       "%s cannot be protected: %s can be written but not read, so "
				       "a replacement there would go unnoticed; allow reading it",
				       path, folder);
	} while (strcmp(folder, "/") != 0);
	return 0;
}

static int add(struct plan *plan, const char *path, struct err *why)
{
	if (strcmp(path, "/") == 0 || paths_has(&plan->covered, path))
		return 0;
	paths_add(&plan->covered, path);
	return add_folders(plan, path, why);
}

/* Without its mount the command could write it. */
static bool is_in_writable(const struct plan *plan, const char *path)
{
	auto_free char *folder = mem_strdup(path);

	cut(folder);
	return mounts_access(plan, folder) == EXEC_WRITE;
}

static int add_closed(struct plan *plan, const struct paths *closed, struct err *why)
{
	int r = 0;

	for (size_t i = 0; i < closed->count && r == 0; i++)
		if (strcmp(closed->list[i], "/") != 0 && is_in_writable(plan, closed->list[i]))
			r = add(plan, closed->list[i], why);
	return r;
}

int covers_plan(struct plan *plan, struct err *why)
{
	int r = 0;

	for (size_t i = 0; i < plan->hidden.count && r == 0; i++)
		r = add(plan, plan->hidden.list[i], why);
	if (r == 0)
		r = add_closed(plan, &plan->read_only, why);
	if (r == 0)
		r = add_closed(plan, &plan->readable, why);
	for (size_t i = 0; i < plan->absent.count && r == 0; i++)
		r = add_folders(plan, plan->absent.list[i], why);
	return r;
}
