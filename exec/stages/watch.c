#include "exec/stages/watch.h"

#include "exec/init/read.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"

#include <errno.h>
#include <linux/limits.h>
#include <linux/sched/types.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <sys/inotify.h>

/* Names are watched in every folder on the path of a cover: if a folder is renamed, the covers in
 * it move with it, and another folder may get its name. If there are few folders, dnotify is used,
 * because closing an inotify descriptor takes the kernel 13 ms at the end of every command. It
 * reports that a folder has changed, but not how, so all covers are checked; that takes 2 µs
 * each. */

#define TURN_NS        100000 /* the kernel's minimum */
#define FOLDERS_MAX    64     /* one descriptor each */
#define FOLDER_CHANGES (DN_CREATE | DN_DELETE | DN_RENAME | DN_MULTISHOT)
#define LOOKS_MAX      16 /* limit, in case the path is created and removed repeatedly */
#define NAME_CHANGES   (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)

/* A mount at the path must be ours: no other process can mount here. */
const char *watch_find_lost(const struct read_plan *plan)
{
	for (char **path = plan->lists[WIRE_COVERED]; *path; path++)
		if (path_is_mount(*path) != 1)
			return *path;
	return NULL;
}

/* Moves @fd to the descriptors of the watch; returns its new number or -errno. */
static int keep(struct watch *watch, long fd)
{
	if (fd < 0)
		return (int)fd;
	int kept = (int)sys(fcntl, fd, F_DUPFD_CLOEXEC, WATCH_FD);

	(void)sys(close, fd);
	if (kept >= 0)
		watch->end = kept + 1;
	return kept;
}

/* The descriptor must not be duplicated after this: closing any copy ends the watch. */
static int add_folder(struct watch *watch, const char *path)
{
	int fd = keep(watch, sys(openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));

	return fd < 0 ? fd : (int)sys(fcntl, fd, F_NOTIFY, FOLDER_CHANGES);
}

static int add_to_inotify(struct watch *watch, const char *path)
{
	if (watch->inotify < 0)
		watch->inotify = keep(watch, sys(inotify_init1, IN_CLOEXEC | IN_NONBLOCK));
	if (watch->inotify < 0)
		return watch->inotify;
	long r = sys(inotify_add_watch, watch->inotify, path, NAME_CHANGES | IN_DONT_FOLLOW);

	return r < 0 ? (int)r : 0;
}

/* A folder that does not exist or cannot be read in the view is a cover itself, or leads to
 * nothing: the covers behind it are checked at the end. */
static int add(struct watch *watch, const char *path, bool is_many)
{
	int r = is_many ? -EINVAL : add_folder(watch, path);

	if (r == -EINVAL) /* too many, or a kernel without dnotify */
		r = add_to_inotify(watch, path);
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES ? 0 : r;
}

/* How many bytes of @path exist: all, or as many as consist of folders, without following a link. A
 * path that cannot be checked counts as existing. */
static size_t reach(const char *path, char folder[PATH_MAX])
{
	size_t all = sys_length(path), len = all;

	for (size_t i = 0; i <= all; i++)
		folder[i] = path[i];
	while (len > 1) {
		int at = path_open(folder);

		if (at < 0 && at != -ENOENT && at != -ENOTDIR)
			return all;
		int is_there = at < 0 ? 0 : len == all ? 1 : path_is_directory(at);

		if (at >= 0)
			(void)sys(close, at);
		if (is_there != 0)
			return is_there < 0 ? all : len;
		while (len > 1 && folder[len - 1] != '/')
			len--;
		len -= len > 1;
		folder[len] = '\0';
	}
	folder[0] = '/';
	folder[1] = '\0';
	return 1;
}

/* Is one of the folders that are open for dnotify at this path now? Another one may have taken its
 * name. */
static bool is_watched(const struct watch *watch, const char *folder)
{
	struct statx at, other;

	if (sys(statx, AT_FDCWD, folder, AT_SYMLINK_NOFOLLOW, STATX_INO, &at) < 0)
		return false;
	for (int fd = WATCH_FD; fd < watch->end; fd++)
		if (sys(statx, fd, "", AT_EMPTY_PATH, STATX_INO, &other) == 0 &&
		    at.stx_ino == other.stx_ino && at.stx_dev_major == other.stx_dev_major &&
		    at.stx_dev_minor == other.stx_dev_minor)
			return true;
	return false;
}

/* Repeats until nothing has changed between a check and the watch set after it. */
static bool is_made(struct watch *watch, const char *path)
{
	char folder[PATH_MAX];
	size_t all = sys_length(path), before = 0;

	if (all >= sizeof(folder))
		return true;
	for (int i = 0; i < LOOKS_MAX; i++) {
		size_t len = reach(path, folder);

		if (len == all)
			return true;
		if (len == before || is_watched(watch, folder))
			return false;
		int r = add_to_inotify(watch, folder);

		if (r == -ENOENT || r == -ENOTDIR)
			continue; /* it was removed since the look */
		if (r < 0)
			return true;
		before = len;
	}
	return true;
}

const char *watch_find_made(struct watch *watch, const struct read_plan *plan)
{
	for (char **path = plan->lists[WIRE_ABSENT]; *path; path++)
		if (is_made(watch, *path))
			return *path;
	for (int i = 0; i < watch->gone_count; i++)
		if (is_made(watch, watch->gone[i]))
			return watch->gone[i];
	return NULL;
}

const char *watch_find_open(const struct read_plan *plan)
{
	for (char **path = plan->lists[WIRE_COVERED]; *path; path++) {
		int r = path_is_mount(*path);

		if (r != 1 && r != -ENOENT)
			return *path;
	}
	return NULL;
}

void watch_set_gone_apart(struct watch *watch, const struct read_plan *plan)
{
	char **kept = plan->lists[WIRE_COVERED];

	for (char **path = kept; *path; path++)
		if (watch->gone_count < WATCH_GONE_MAX && path_is_mount(*path) == -ENOENT)
			watch->gone[watch->gone_count++] = *path;
		else
			*kept++ = *path;
	*kept = NULL;
}

void watch_hurry(const struct watch *watch)
{
	struct sched_attr how = { .size = SCHED_ATTR_SIZE_VER0 };

	if (watch->mounts < 0 || sys(sched_getattr, 0, &how, sizeof(how), 0) < 0 ||
	    how.sched_policy != 0)
		return;
	how.size = SCHED_ATTR_SIZE_VER0;
	how.sched_runtime = TURN_NS;
	(void)sys(sched_setattr, 0, &how, 0); /* if it fails, init waits for its turn */
}

int watch_begin(struct watch *watch, const struct read_plan *plan, const char **ret_detail)
{
	const uint32_t *counts = plan->head->counts;

	if (counts[WIRE_COVERED] == 0 && counts[WIRE_ABSENT] == 0)
		return 0;
	*ret_detail = "/proc/self/mountinfo";
	watch->mounts = keep(watch, sys(openat, AT_FDCWD, *ret_detail, O_RDONLY));
	if (watch->mounts < 0)
		return watch->mounts;
	for (char **path = plan->lists[WIRE_FOLDERS]; *path; path++) {
		int r = add(watch, *path, counts[WIRE_FOLDERS] > FOLDERS_MAX);

		*ret_detail = *path;
		if (r < 0)
			return r;
	}
	*ret_detail = "";
	return 0;
}
