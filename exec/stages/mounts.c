#include "exec/stages/mounts.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/cover.h"
#include "exec/stages/path.h"

#include <errno.h>
#include <linux/mount.h>
#include <sys/vfs.h>

#define ST_READ_ONLY 1 /* in statfs: MS_RDONLY */

static const uint64_t closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/* A file system mounted inside a writable directory stays read-only, unless the plan names it, or
 * the gate has found that it is mounted nowhere else: it may be another /proc, a container's root,
 * or a disk that others use. */
static int copy(const char *path, bool is_writable)
{
	struct statfs what;
	int at = path_open(path);

	if (at < 0)
		return at;
	long r = sys(fstatfs, at, &what);
	int tree = r < 0 ? (int)r : path_clone(at);

	(void)sys(close, at);
	if (tree < 0)
		return tree;
	r = path_set(tree, closed, 0);
	if (r == 0 && is_writable && (what.f_flags & ST_READ_ONLY) == 0)
		r = path_set_top(tree, 0, MOUNT_ATTR_RDONLY);
	return r < 0 ? (int)r : tree;
}

static bool is_same(const char *left, const char *right)
{
	while (*left && *left == *right)
		left++, right++;
	return *left == *right;
}

/* Of the host's folders, the one that is mounted for the entry @mount. */
static const char *source_of(const struct init *init, const char *mount)
{
	if (mount[0] != WIRE_CACHE && mount[0] != WIRE_CACHE_NEW)
		return mount + 1;
	for (char **pair = init->plan.lists[WIRE_CACHED]; *pair; pair += 2)
		if (is_same(pair[0], mount + 1))
			return pair[1];
	return "";
}

static bool is_for_writing(char what)
{
	return what == WIRE_WRITE || what == WIRE_WRITE_NEW || what == WIRE_CACHE ||
	       what == WIRE_CACHE_NEW;
}

int mounts_copy(struct init *init, struct mounts *ret)
{
	char **list = init->plan.lists[WIRE_MOUNTS];

	for (int i = 0; list[i]; i++) {
		char what = list[i][0];
		bool is_writable = is_for_writing(what);

		ret->trees[i] = -1;
		if (!is_writable && what != WIRE_READ && what != WIRE_READ_NEW)
			continue;
		init->step = is_writable ? WIRE_STEP_WRITABLE : WIRE_STEP_PROTECT;
		init->detail = source_of(init, list[i]);
		ret->trees[i] = copy(init->detail, is_writable);
		if (ret->trees[i] < 0)
			return ret->trees[i];
	}
	return 0;
}

static int make_fresh(const char *path, const char *options)
{
	long r = sys(mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options);

	if (r == -ENOENT) { /* in an empty root the directory is missing */
		r = path_make(path);
		if (r == 0)
			r = sys(mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
	}
	return (int)r;
}

/* Creates the mount point for @tree. Only in a fresh directory or a cover of ours, never on the
 * host. */
static int make_place(const char *path, int tree)
{
	int r = path_is_directory(tree);

	if (r != 0)
		return r < 0 ? r : path_make(path);
	r = path_make_parent(path);
	if (r < 0)
		return r;
	long fd = sys(openat, AT_FDCWD, path, O_CREAT | O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0444);

	if (fd < 0)
		return (int)fd;
	(void)sys(close, fd);
	return 0;
}

static int attach(char what, const char *path, int tree)
{
	bool is_new = what == WIRE_READ_NEW || what == WIRE_WRITE_NEW || what == WIRE_CACHE_NEW;
	int at = is_new ? make_place(path, tree) : 0;

	if (at == 0)
		at = path_open(path);
	if (at < 0)
		return at;
	int r = path_attach(tree, at);

	(void)sys(close, at);
	(void)sys(close, tree);
	return r;
}

/* What another program has removed since the search is left out: settle_covers() looks again. */
static int cover(char what, const char *path)
{
	int at = path_open(path);

	if (at < 0)
		return at == -ENOENT ? 0 : at;
	int r = what == WIRE_PIN    ? cover_pin(at)
		: what == WIRE_KEEP ? cover_keep(at)
				    : cover_hide(at);

	(void)sys(close, at);
	return r == -ENOENT ? 0 : r;
}

static bool is_cover(char what)
{
	return what == WIRE_PIN || what == WIRE_KEEP || what == WIRE_HIDE;
}

int mounts_cover(struct init *init)
{
	int r = 0;

	for (char **mount = init->plan.lists[WIRE_MOUNTS]; *mount && r == 0; mount++) {
		init->detail = *mount + 1;
		if (is_cover((*mount)[0]) && path_is_mount(init->detail) == 0)
			r = cover((*mount)[0], init->detail);
	}
	return r;
}

/* Mounts an empty directory over @path, and keeps it in *@ret_tree until seal(). It uses a
 * descriptor, because @path may have been replaced by a link. */
static int hide_around(const char *path, int *ret_tree)
{
	long fs = sys(fsopen, "tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0)
		return (int)fs;
	long r = sys(fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0700", 0);

	if (r == 0)
		r = sys(fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	if (r == 0)
		r = sys(fsmount, fs, FSMOUNT_CLOEXEC,
			MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	(void)sys(close, fs);
	if (r < 0)
		return (int)r;
	*ret_tree = (int)r;
	int at = path_open(path);

	if (at < 0)
		return at;
	r = path_attach(*ret_tree, at);
	(void)sys(close, at);
	return (int)r;
}

static int make(struct init *init, char what, const char *path, int *ret_tree)
{
	bool is_attached = is_for_writing(what);

	init->detail = path;
	init->step = is_attached ? WIRE_STEP_WRITABLE : WIRE_STEP_PROTECT;
	switch (what) {
	case WIRE_FRESH_TMP:
	case WIRE_FRESH:
		init->step = WIRE_STEP_FRESH;
		return make_fresh(
			path, init->plan.head->limits.texts[what == WIRE_FRESH ? WIRE_FRESH_OPTIONS
									       : WIRE_TMP_OPTIONS]);
	case WIRE_HIDE_AROUND:
		return hide_around(path, ret_tree);
	case WIRE_HIDE:
	case WIRE_PIN:
	case WIRE_KEEP:
		return cover(what, path);
	default:
		return attach(what, path, *ret_tree);
	}
}

/* A process that knows the name of something inside can reach it, but cannot list the directory.
 * The command owns it, so only the read-only mount keeps it from adding permissions. It runs last,
 * because the mount points inside are created in the directory. */
static int seal(struct init *init, const struct mounts *mounts)
{
	char **list = init->plan.lists[WIRE_MOUNTS];

	init->step = WIRE_STEP_PROTECT;
	for (int i = 0; list[i]; i++) {
		if (list[i][0] != WIRE_HIDE_AROUND)
			continue;
		init->detail = list[i] + 1;
		long fd = sys(openat, mounts->trees[i], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		long r = fd < 0 ? fd : sys(fchmod, fd, 0111);

		if (fd >= 0)
			(void)sys(close, fd);
		if (r == 0)
			r = path_set_top(mounts->trees[i], MOUNT_ATTR_RDONLY, 0);
		if (r < 0)
			return (int)r;
		(void)sys(close, mounts->trees[i]);
	}
	return 0;
}

int mounts_make(struct init *init, struct mounts *mounts)
{
	char **list = init->plan.lists[WIRE_MOUNTS];
	int r = 0;

	for (int i = 0; list[i] && r == 0; i++)
		r = make(init, list[i][0], list[i] + 1, &mounts->trees[i]);
	return r < 0 ? r : seal(init, mounts);
}
