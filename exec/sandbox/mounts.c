#include "exec/sandbox/mounts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/run/wire.h"

static void consider(const struct paths *list, const char *path, enum exec_access access,
		     size_t *longest, enum exec_access *ret)
{
	const char *holder = paths_holder(list, path);

	if (holder && strlen(holder) >= *longest) {
		*longest = strlen(holder);
		*ret = access;
	}
}

int mounts_access(const struct plan *plan, const char *path)
{
	enum exec_access access = plan->flags & WIRE_OPEN    ? EXEC_WRITE
				  : plan->flags & WIRE_EMPTY ? EXEC_DENY
							     : EXEC_READ;
	size_t longest = 0;

	/* Of two for one path the later one is mounted on top. */
	consider(&plan->fresh, path, EXEC_DENY, &longest, &access);
	consider(&plan->writable, path, EXEC_WRITE, &longest, &access);
	consider(&plan->readable, path, EXEC_READ, &longest, &access);
	consider(&plan->caches, path, EXEC_WRITE, &longest, &access);
	consider(&plan->read_only, path, EXEC_READ, &longest, &access);
	consider(&plan->hidden, path, EXEC_DENY, &longest, &access);
	return (int)access;
}

/* Is the parent of @path made by us, and so empty? @path's own entry does not count. */
static bool is_in_the_empty(const struct plan *plan, const char *path)
{
	auto_free char *parent = paths_parent(path);

	/* There is a fresh directory at this path already. */
	if (paths_has(&plan->fresh, path))
		return false;
	/* The /dev that the command sees is ours, too; it contains a mount point for the host's
	 * /dev/shm. */
	if (paths_is_within(path, "/dev"))
		return strcmp(path, "/dev/shm") != 0 && !paths_holder(&plan->writable, parent);
	return mounts_access(plan, parent) == EXEC_DENY;
}

bool mounts_has_way(const struct plan *plan, const char *path)
{
	return paths_is_around(&plan->writable, path) || paths_is_around(&plan->readable, path);
}

static void add(char **list, size_t *count, enum wire_mount what, const char *path)
{
	list[(*count)++] = mem_printf("%c%s", (char)what, path);
}

static void add_all(const struct plan *plan, const struct paths *paths, enum wire_mount what,
		    enum wire_mount what_new, char **list, size_t *count)
{
	/* "/" is the root itself: flags describe it. */
	for (size_t i = 0; i < paths->count; i++)
		if (strcmp(paths->list[i], "/") != 0)
			add(list, count, is_in_the_empty(plan, paths->list[i]) ? what_new : what,
			    paths->list[i]);
}

/* The order at one path: the empty directory, then what is attached to it, then what covers it. */
static int rank(char what)
{
	switch (what) {
	case WIRE_FRESH_TMP:
	case WIRE_FRESH:
		return 0;
	case WIRE_PIN:
		return 1;
	case WIRE_HIDE:
	case WIRE_HIDE_AROUND:
		return 3;
	default:
		return 2;
	}
}

static int order(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	int by_path = strcmp(a + 1, b + 1);

	return by_path ? by_path : rank(a[0]) - rank(b[0]);
}

static size_t count_all(const struct plan *plan)
{
	return plan->fresh.count + plan->writable.count + plan->caches.count +
	       plan->readable.count + plan->pins.count + plan->hidden.count + plan->read_only.count;
}

int mounts_check(const struct plan *plan, struct err *why)
{
	return count_all(plan) <= WIRE_MOUNTS_MAX
		       ? 0
		       : err_set(why, -E2BIG,
				 "the sandbox needs more than %d mounts; name fewer paths, or the "
				 "directories that hold them",
				 WIRE_MOUNTS_MAX);
}

char **mounts_list(const struct plan *plan)
{
	char **list = mem_new_array(count_all(plan) + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < plan->hidden.count; i++) {
		const char *path = plan->hidden.list[i];

		add(list, &count, mounts_has_way(plan, path) ? WIRE_HIDE_AROUND : WIRE_HIDE, path);
	}
	/* The first one is /tmp, or where it leads. */
	for (size_t i = 0; i < plan->fresh.count; i++)
		add(list, &count, i == 0 && plan->has_fresh_tmp ? WIRE_FRESH_TMP : WIRE_FRESH,
		    plan->fresh.list[i]);
	for (size_t i = 0; i < plan->pins.count; i++)
		add(list, &count, WIRE_PIN, plan->pins.list[i]);
	add_all(plan, &plan->writable, WIRE_WRITE, WIRE_WRITE_NEW, list, &count);
	add_all(plan, &plan->readable, WIRE_READ, WIRE_READ_NEW, list, &count);
	add_all(plan, &plan->caches, WIRE_CACHE, WIRE_CACHE_NEW, list, &count);
	for (size_t i = 0; i < plan->read_only.count; i++)
		add(list, &count, WIRE_KEEP, plan->read_only.list[i]);
	qsort(list, count, sizeof(*list), order);
	return list;
}
