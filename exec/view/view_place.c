#include "exec/view/view_place.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/paths.h"
#include "exec/sandbox/plan.h"
#include "exec/run/wire.h"
#include "policies/policies_protected.h"

#define LED_LEVELS  2
#define LED_FOLDERS 1000

/* Never writable: they control the machine or its processes. */
static const char *const special[] = { "/proc", "/sys", "/dev" };

const char *view_place_unfit(const struct plan *plan, const char *path)
{
	if (strcmp(path, "/") == 0)
		return "it is the whole file system";
	for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
		if (paths_is_within(path, "/dev/shm") && strcmp(path, "/dev/shm") != 0)
			continue;
		if (paths_is_within(path, special[i]) || paths_is_within(special[i], path))
			return "it belongs to the machine, not to the command";
	}
	for (size_t i = 0; i < plan->fresh.count; i++) {
		const char *dir = plan->fresh.list[i];

		/* /tmp itself is allowed as a working directory, because a person asked for it;
		 * /run is not, because it is full of sockets. */
		if (paths_is_within(dir, path) && (i > 0 || strcmp(dir, path) != 0))
			return "it contains a directory that the sandbox replaces by an empty one";
	}
	return NULL;
}

/* The outermost writable directory that contains @path: a rename anywhere below it could change the
 * file that @path names. */
static const char *outermost(const struct plan *plan, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < plan->writable.count; i++)
		if (paths_is_within(path, plan->writable.list[i]) &&
		    (!best || strlen(plan->writable.list[i]) < strlen(best)))
			best = plan->writable.list[i];
	return best;
}

/* Mounts every directory between the writable root and @path on itself: else `mv project away;
 * mkdir -p project/protected` would replace it by the command's own. */
void view_place_pin(struct plan *plan, const char *path)
{
	const char *root = outermost(plan, path);
	char part[PATH_MAX];

	if (!root)
		return;
	(void)snprintf(part, sizeof(part), "%s", path);
	for (char *slash = strrchr(part, '/'); slash && slash != part; slash = strrchr(part, '/')) {
		*slash = '\0';
		if (strlen(part) <= strlen(root))
			return;
		/* What is read-only or covered cannot be moved, and its own parents are pinned. */
		if (mounts_access(plan, part) == EXEC_WRITE && !paths_has(&plan->pins, part) &&
		    !paths_has(&plan->writable, part))
			paths_add(&plan->pins, part);
	}
}

static bool is_kept_already(const struct plan *plan, const char *path)
{
	/* A path that is listed as writable is so by the user's decision. */
	return paths_has(&plan->writable, path) || paths_has(&plan->read_only, path) ||
	       mounts_access(plan, path) != EXEC_WRITE;
}

static void keep(struct plan *plan, const char *path)
{
	if (is_kept_already(plan, path))
		return;
	paths_add(&plan->read_only, path);
	view_place_pin(plan, path);
}

void view_place_keep_link(struct plan *plan, const char *link)
{
	keep(plan, link);
}

/* Every link on the way is kept, too: else another one could take its place. */
void view_place_keep(struct plan *plan, const char *path)
{
	auto_free char *target = NULL;
	struct paths links = { 0 };
	struct stat what;

	if (lstat(path, &what) < 0)
		return;
	int r = paths_resolve_links(path, &links, &target);

	for (size_t i = 0; i < links.count; i++)
		keep(plan, links.list[i]);
	if (r == 0)
		keep(plan, target);
	paths_done(&links);
}

/* Programs there are executed on request, and may be links to what a project builds. */
static bool is_bin(const char *folder)
{
	return strcmp(strrchr(folder, '/') + 1, "bin") == 0;
}

static void keep_target(struct plan *plan, const struct policy_protection *protection,
			const char *link)
{
	auto_free char *target = NULL;

	if (paths_resolve(link, NULL, &target, NULL) == 0 &&
	    !policy_protected_is_freed(protection, target))
		view_place_keep(plan, link);
}

static void keep_led_by(struct plan *plan, const struct policy_protection *protection,
			DIR *directory, const char *path, struct paths *ret_inner)
{
	const struct dirent *entry;

	while ((entry = readdir(directory)) != NULL) {
		auto_free char *inner = mem_printf("%s/%s", path, entry->d_name);
		struct stat what = { .st_mode = DTTOIF(entry->d_type) };

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    (entry->d_type == DT_UNKNOWN && lstat(inner, &what) < 0))
			continue;
		if (S_ISLNK(what.st_mode))
			keep_target(plan, protection, inner);
		else if (S_ISDIR(what.st_mode))
			paths_add(ret_inner, inner);
	}
}

/* A link is followed by paths_resolve() alone, which asks no automount. */
static DIR *open_directory(const char *path)
{
	auto_free char *real = NULL;

	return paths_resolve(path, NULL, &real, NULL) == 0 ? opendir(real) : NULL;
}

void view_place_keep_led(struct plan *plan, const struct policy_protection *protection,
			 const char *folder)
{
	struct paths folders = { 0 };
	size_t first = 0;
	struct stat what;

	if (lstat(folder, &what) < 0 || S_ISREG(what.st_mode))
		return;
	paths_add(&folders, folder);
	for (int level = 0; level < LED_LEVELS; level++) {
		size_t next = folders.count;

		for (; first < next && folders.count < LED_FOLDERS; first++) {
			DIR *directory = is_bin(folders.list[first])
						 ? NULL
						 : open_directory(folders.list[first]);

			if (!directory)
				continue;
			keep_led_by(plan, protection, directory, folders.list[first], &folders);
			(void)closedir(directory);
		}
	}
	paths_done(&folders);
}

static void pin_existing_parents(struct plan *plan, const char *path)
{
	auto_free char *next = mem_strdup(path); /* the outermost missing component */
	struct stat what;

	for (char *slash = strrchr(next, '/'); slash && slash != next; slash = strrchr(next, '/')) {
		*slash = '\0';
		if (lstat(next, &what) == 0) {
			*slash = '/';
			break;
		}
	}
	view_place_pin(plan, next);
}

void view_place_hide_absent(struct plan *plan, const char *path)
{
	int access = mounts_access(plan, path);

	/* A file that appears there is not visible. */
	if (access == EXEC_DENY || paths_has(&plan->absent, path))
		return;
	paths_add(&plan->absent, path);
	if (access != EXEC_WRITE)
		return;
	plan->flags |= WIRE_KEEPS_ABSENT;
	pin_existing_parents(plan, path);
}

/* Is everything from @directory down to @path, which is inside of it, on one file system? */
static bool is_on_one(const char *path, const char *directory)
{
	auto_free char *at = mem_strdup(path);
	struct stat here, above;

	if (stat(path, &here) < 0)
		return false;
	while (strlen(at) > strlen(directory) && strcmp(at, "/") != 0) {
		char *slash = strrchr(at, '/');

		slash[slash == at ? 1 : 0] = '\0';
		if (stat(at, &above) < 0 || above.st_dev != here.st_dev)
			return false;
	}
	return true;
}

bool view_place_begins(const struct plan *plan, size_t index)
{
	const struct paths *writable = &plan->writable;

	for (size_t i = 0; i < index; i++)
		if (paths_is_within(writable->list[index], writable->list[i]) &&
		    is_on_one(writable->list[index], writable->list[i]))
			return false;
	return true;
}
