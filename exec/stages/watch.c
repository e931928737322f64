#include "exec/stages/watch.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"

#include <errno.h>
#include <linux/stat.h>
#include <stdbool.h>
#include <sys/inotify.h>

/* Names are watched in every folder on the way to what is covered: a folder that is renamed takes
 * the covers in it along, and another may get its name. By dnotify, where folders are few: to close
 * an inotify descriptor takes the kernel 13 ms, at the end of every command. It says that a folder
 * has changed and not how, so all covers are looked at; that takes 2 µs each. */

#define FOLDERS_MAX    64 /* one descriptor each */
#define FOLDER_CHANGES (DN_CREATE | DN_DELETE | DN_RENAME | DN_MULTISHOT)
#define NAME_CHANGES   (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)

/* What is there is a mount of ours: nobody else can mount here. */
static bool is_covered(const char *path)
{
	struct statx what = { 0 };
	int at = path_open(path);

	if (at < 0)
		return false;
	long r = sys(statx, at, "", AT_EMPTY_PATH, STATX_TYPE, &what);

	(void)sys(close, at);
	return r == 0 && (what.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

const char *watch_find_lost(const struct init *init)
{
	for (char **path = init->plan.lists[WIRE_COVERED]; *path; path++)
		if (!is_covered(*path))
			return *path;
	return NULL;
}

/* Moves @fd to the others; returns its new number or -errno. */
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

/* The descriptor must not be copied from then on: to close any copy of it ends the watch. */
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

/* A folder that is not there or cannot be read in the view is a cover itself, or leads to nothing:
 * what its name leads to is looked at in the end. */
static int add(struct watch *watch, const char *path, bool is_many)
{
	int r = is_many ? -EINVAL : add_folder(watch, path);

	if (r == -EINVAL) /* many, or a kernel without dnotify */
		r = add_to_inotify(watch, path);
	return r == -ENOENT || r == -EACCES ? 0 : r;
}

int watch_begin(struct init *init)
{
	const struct wire_plan *head = init->plan.head;
	struct watch *watch = &init->watch;

	init->step = WIRE_STEP_WATCH;
	if (head->counts[WIRE_COVERED] == 0)
		return 0;
	init->detail = "/proc/self/mountinfo";
	watch->mounts = keep(watch, sys(openat, AT_FDCWD, init->detail, O_RDONLY));
	if (watch->mounts < 0)
		return watch->mounts;
	for (char **path = init->plan.lists[WIRE_FOLDERS]; *path; path++) {
		int r = add(watch, *path, head->counts[WIRE_FOLDERS] > FOLDERS_MAX);

		init->detail = *path;
		if (r < 0)
			return r;
	}
	init->detail = watch_find_lost(init);
	if (init->detail)
		return -ESTALE;
	init->detail = "";
	return 0;
}
