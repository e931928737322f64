#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/mount.h>
#include <linux/stat.h>
#include <stdbool.h>

/* Covers are copies of one empty directory and one empty file that nobody may open, read-only so
 * that their owner (the command has our ids) cannot chmod them. */
static const char empty_directory[] = "/dev/.directory";
static const char empty_file[] = "/dev/.file";

static const uint64_t sealed =
	MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

static int make_empty(void)
{
	long r = sys(mkdirat, AT_FDCWD, empty_directory, 0);

	if (r < 0)
		return (int)r;
	r = sys(openat, AT_FDCWD, empty_file, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0);
	if (r < 0)
		return (int)r;
	(void)sys(close, r);
	return 0;
}

static int is_directory(int at)
{
	struct statx what;
	long r = sys(statx, at, "", AT_EMPTY_PATH, STATX_TYPE, &what);

	return r < 0 ? (int)r : (what.stx_mode & S_IFMT) == S_IFDIR;
}

static int attach_copy(int source, int at, uint64_t flags)
{
	int tree = path_clone(source);

	if (tree < 0)
		return tree;
	int r = flags ? path_set(tree, flags, 0) : 0;

	if (r == 0)
		r = path_attach(tree, at);
	(void)sys(close, tree);
	return r;
}

/* Mounts the empty file or directory over what @at names. */
static int hide(int at)
{
	int r = is_directory(at);

	if (r < 0)
		return r;
	int source = path_open(r ? empty_directory : empty_file);

	if (source < 0)
		return source;
	r = attach_copy(source, at, sealed);
	(void)sys(close, source);
	return r;
}

static int cover(enum wire_list list, int at)
{
	switch ((int)list) {
	case WIRE_PINS: /* a mount point cannot be renamed; its own content stays as it is */
		return attach_copy(at, at, 0);
	case WIRE_READ_ONLY:
		return attach_copy(at, at,
				   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	default:
		return hide(at);
	}
}

static int cover_list(struct init *init, enum wire_list list)
{
	for (char **path = init->plan.lists[list]; *path; path++) {
		init->detail = *path;
		int at = path_open(*path);

		/* A daemon that ended took its socket along; where we may not go, neither may the
		 * command. */
		if (at < 0 && list == WIRE_SOCKETS)
			continue;
		if (at < 0)
			return at;
		int r = cover(list, at);

		(void)sys(close, at);
		if (r < 0)
			return r;
	}
	return 0;
}

int cover_all(struct init *init)
{
	char ***lists = init->plan.lists;
	bool has_hidden = *lists[WIRE_HIDDEN] || *lists[WIRE_SOCKETS];

	init->step = WIRE_STEP_PROTECT;
	init->detail = empty_directory;
	int r = has_hidden ? make_empty() : 0;

	for (int i = WIRE_PINS; i <= WIRE_SOCKETS && r == 0; i++)
		r = cover_list(init, (enum wire_list)i);
	if (r == 0 && has_hidden) {
		/* Their names go, the mounts hold what they need. */
		init->detail = empty_directory;
		r = (int)sys(unlinkat, AT_FDCWD, empty_directory, AT_REMOVEDIR);
		if (r == 0)
			r = (int)sys(unlinkat, AT_FDCWD, empty_file, 0);
	}
	return r;
}
