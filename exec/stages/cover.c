#include "exec/stages/cover.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"

#include <errno.h>
#include <linux/mount.h>

/* Covers are clones of one empty directory and one empty file without any permission. They are
 * read-only, so that their owner (the command has our ids) cannot chmod them. */
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

int cover_hide(int at)
{
	int r = path_is_directory(at);

	if (r < 0)
		return r;
	int source = path_open(r ? empty_directory : empty_file);

	if (source < 0)
		return source;
	r = attach_copy(source, at, sealed);
	(void)sys(close, source);
	return r;
}

int cover_begin(struct init *init)
{
	init->step = WIRE_STEP_PROTECT;
	init->detail = empty_directory;
	return make_empty();
}

int cover_pin(int at)
{
	return attach_copy(at, at, 0);
}

int cover_keep(int at)
{
	return attach_copy(at, at, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* What the kernel shows to root, or to the user whom the command has the ids of, about others: the
 * names of the user's keys (the filter refuses their contents), and what a tracer records. To read
 * the last takes it from its reader. */
static const char *const others[] = {
	"/proc/keys",        "/proc/key-users",     "/proc/timer_list",
	"/sys/kernel/debug", "/sys/kernel/tracing",
};

int cover_others(struct init *init)
{
	int r = 0;

	init->step = WIRE_STEP_PROTECT;
	for (size_t i = 0; r == 0 && i < sizeof(others) / sizeof(others[0]); i++) {
		init->detail = others[i];
		int at = path_open(others[i]);

		r = at < 0 ? at : cover_hide(at);
		if (at >= 0)
			(void)sys(close, at);
		if (r == -ENOENT || r == -EACCES) /* nor can the command reach it */
			r = 0;
	}
	return r;
}

int cover_sockets(struct init *init)
{
	init->step = WIRE_STEP_PROTECT;
	for (char **path = init->plan.lists[WIRE_SOCKETS]; *path; path++) {
		init->detail = *path;
		int at = path_open(*path);

		/* A daemon that ended may have removed its socket; and a path that we cannot reach,
		 * the command cannot reach, either. */
		if (at < 0)
			continue;
		int r = cover_hide(at);

		(void)sys(close, at);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

int cover_end(struct init *init)
{
	/* Their names are removed; the mounts keep the inodes. */
	init->step = WIRE_STEP_PROTECT;
	init->detail = empty_directory;
	int r = (int)sys(unlinkat, AT_FDCWD, empty_directory, AT_REMOVEDIR);

	return r < 0 ? r : (int)sys(unlinkat, AT_FDCWD, empty_file, 0);
}
