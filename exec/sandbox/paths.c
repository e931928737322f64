#include "exec/sandbox/paths.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define LINKS_MAX 40 /* the kernel's limit */

struct paths paths_of(const char *const *list)
{
	return (struct paths){ (char **)(uintptr_t)list, mem_count_list(list) };
}

void paths_add(struct paths *paths, const char *path)
{
	paths->list = mem_grow(paths->list, paths->count + 2, sizeof(*paths->list));
	paths->list[paths->count++] = mem_strdup(path);
	paths->list[paths->count] = NULL;
}

void paths_remove(struct paths *paths, const char *path)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (strcmp(paths->list[i], path) != 0)
			continue;
		free(paths->list[i]);
		memmove(paths->list + i, paths->list + i + 1,
			(paths->count - i) * sizeof(*paths->list)); /* including the NULL */
		paths->count--;
		return;
	}
}

void paths_done(struct paths *paths)
{
	mem_free_list(paths->list);
	*paths = (struct paths){ 0 };
}

bool paths_has(const struct paths *paths, const char *path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (strcmp(paths->list[i], path) == 0)
			return true;
	return false;
}

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

void paths_sort(struct paths *paths)
{
	if (paths->count > 1)
		qsort(paths->list, paths->count, sizeof(*paths->list), compare);
}

bool paths_is_within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	if (strcmp(directory, "/") == 0)
		return true;
	return strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

char *paths_parent(const char *path)
{
	char *parent = mem_strdup(path);
	char *slash = strrchr(parent, '/');

	slash[slash == parent ? 1 : 0] = '\0';
	return parent;
}

const char *paths_holder(const struct paths *paths, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < paths->count; i++)
		if (paths_is_within(path, paths->list[i]) &&
		    (!best || strlen(paths->list[i]) > strlen(best)))
			best = paths->list[i];
	return best;
}

bool paths_is_around(const struct paths *paths, const char *directory)
{
	for (size_t i = 0; i < paths->count; i++)
		if (strcmp(paths->list[i], directory) != 0 &&
		    paths_is_within(paths->list[i], directory))
			return true;
	return false;
}

/* State of a path walk: @done is canonical and exists (unless @is_missing), @rest still has to be
 * walked. */
struct walk {
	char done[PATH_MAX];
	char rest[PATH_MAX];
	size_t done_len;
	unsigned int links;
	dev_t device; /* of what is done; 0: not known */
	bool is_missing;
	bool is_shared;         /* the result must not depend on the process */
	struct paths *followed; /* gets every link; NULL: not wanted */
};

/* The result of `..` after a missing component is not known, because a link may be created
 * there. */
static int step_up(struct walk *walk)
{
	if (walk->is_shared && walk->is_missing)
		return -ENOTDIR;
	while (walk->done_len > 0 && walk->done[--walk->done_len] != '/')
		; /* "" is the root while walking */
	walk->done[walk->done_len] = '\0';
	walk->device = 0;
	return 0;
}

/* Is it in a /proc, at any mount point? The targets of its links depend on the process. */
static bool is_of_process(const char *directory)
{
	struct statfs what;

	return statfs(directory, &what) < 0 || what.f_type == PROC_SUPER_MAGIC;
}

/* An indirect automount passes each name that is looked up in it to a program outside, which may
 * ask the network for a host of that name, and the name may be the command's. So there only what is
 * listed exists, and nothing else is looked up. */
static bool is_unlisted(const char *directory, const char *name)
{
	const struct dirent *entry = NULL;
	struct statfs what;

	if (statfs(directory, &what) < 0 || what.f_type != AUTOFS_SUPER_MAGIC)
		return false;
	DIR *list = opendir(directory);

	while (list && (entry = readdir(list)) != NULL && strcmp(entry->d_name, name) != 0)
		;
	if (list)
		(void)closedir(list);
	return entry == NULL;
}

/* What is done ends with a symbolic link: puts its target before the rest instead. */
static int follow(struct walk *walk)
{
	char target[PATH_MAX], joined[PATH_MAX];
	ssize_t n = readlink(walk->done, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if (snprintf(joined, sizeof(joined), "%s/%s", target, walk->rest) >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	if (target[0] == '/') {
		walk->done_len = 0;
		walk->device = 0;
	}
	walk->done[walk->done_len] = '\0';
	memcpy(walk->rest, joined, strlen(joined) + 1);
	return 0;
}

static int step_into(struct walk *walk, const char *name, const struct paths *writable)
{
	size_t before = walk->done_len, len = strlen(name);
	struct stat what;

	if (before + 1 + len >= sizeof(walk->done))
		return -ENAMETOOLONG;
	/* An automount has no device (major number 0) and is not the root, so most folders need no
	 * further call. */
	walk->is_missing |= !walk->is_missing && before > 0 && major(walk->device) == 0 &&
			    is_unlisted(walk->done, name);
	walk->done[before] = '/';
	memcpy(walk->done + before + 1, name, len + 1);
	walk->done_len = before + 1 + len;
	if (!walk->is_missing && lstat(walk->done, &what) < 0) {
		if (errno != ENOENT)
			return -errno;
		walk->is_missing = true;
	}
	if (walk->is_missing)
		return 0;
	if (!S_ISLNK(what.st_mode)) {
		walk->device = what.st_dev;
		return 0;
	}
	auto_free char *here = before > 0 ? mem_strndup(walk->done, before) : mem_strdup("/");

	if (walk->is_shared && is_of_process(here))
		return -EXDEV;
	if (writable && paths_holder(writable, here))
		return -EMLINK;
	if (walk->followed)
		paths_add(walk->followed, walk->done);
	walk->done_len = before;
	return follow(walk);
}

/* Walks to the end, or to the first error. */
static int walk_all(struct walk *walk, const char *path, const struct paths *writable)
{
	char name[NAME_MAX + 1];
	int r;

	memcpy(walk->rest, path, strlen(path) + 1);
	while ((r = text_next_name(walk->rest, name, sizeof(name))) > 0) {
		r = 0;
		if (strcmp(name, "..") == 0)
			r = step_up(walk);
		else if (strcmp(name, ".") != 0)
			r = step_into(walk, name, writable);
		if (r < 0)
			break;
	}
	return r;
}

static int resolve(const char *path, struct walk *walk, const struct paths *writable, char **ret,
		   struct err *why)
{
	if (path[0] != '/')
		return err_set(why, -EINVAL, "%s is not an absolute path", path);
	if (strlen(path) >= sizeof(walk->rest))
		return err_errno(why, ENAMETOOLONG, "%.80s…", path);
	int r = walk_all(walk, path, writable);

	if (r == -EMLINK)
		return err_set(
			why, -ELOOP,
			"%s: a symbolic link in this path is in a directory that the command can "
			"write, so the command could redirect it; name the target itself",
			path);
	if (r == -EXDEV)
		return err_set(why, r,
			       "%s: a link of /proc in this path leads each process elsewhere; "
			       "name the target itself",
			       path);
	if (r < 0)
		return err_errno(why, -r, "%s", path);
	*ret = mem_strdup(walk->done[0] ? walk->done : "/");
	return walk->is_missing ? err_errno(why, ENOENT, "%s", path) : 0;
}

int paths_resolve(const char *path, const struct paths *writable, char **ret, struct err *why)
{
	auto_free struct walk *walk = mem_new(sizeof(*walk));

	return resolve(path, walk, writable, ret, why);
}

int paths_resolve_shared(const char *path, const struct paths *writable, char **ret,
			 struct err *why)
{
	auto_free struct walk *walk = mem_new(sizeof(*walk));

	walk->is_shared = true;
	return resolve(path, walk, writable, ret, why);
}

int paths_resolve_links(const char *path, struct paths *links, char **ret)
{
	auto_free struct walk *walk = mem_new(sizeof(*walk));

	walk->followed = links;
	return resolve(path, walk, NULL, ret, NULL);
}

int paths_look(const char *path, bool follows, struct stat *ret)
{
	auto_free char *above = follows ? mem_strdup(path) : paths_parent(path);
	auto_free char *real = NULL;
	const char *name = strrchr(path, '/') + 1;
	int r = paths_resolve(above, NULL, &real, NULL);

	if (r < 0 || !real || (!follows && is_unlisted(real, name)))
		return r < 0 ? r : -ENOENT;
	auto_free char *whole = follows ? take(real) : mem_printf("%s/%s", real, name);

	return lstat(whole, ret) < 0 ? -errno : 0;
}
