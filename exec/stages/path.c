#include "exec/stages/path.h"

#include "exec/init/sys.h"

#include <errno.h>
#include <linux/limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

int path_open(const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	return (int)sys(openat2, AT_FDCWD, path, &how, sizeof(how));
}

int path_make(const char *path)
{
	char part[PATH_MAX];
	size_t len = sys_length(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 0; i <= len; i++) {
		part[i] = '\0';
		if (i > 0 && (path[i] == '/' || path[i] == '\0')) {
			long r = sys(mkdirat, AT_FDCWD, part, 0755);

			if (r < 0 && r != -EEXIST)
				return (int)r;
		}
		part[i] = path[i];
	}
	return 0;
}

int path_make_parent(const char *path)
{
	char parent[PATH_MAX];
	size_t len = sys_length(path);

	while (len > 1 && path[len - 1] != '/')
		len--;
	if (len > sizeof(parent))
		return -ENAMETOOLONG;
	if (len < 2)
		return 0;
	for (size_t i = 0; i < len - 1; i++)
		parent[i] = path[i];
	parent[len - 1] = '\0';
	return path_make(parent);
}

int path_is_directory(int at)
{
	struct statx what;
	long r = sys(statx, at, "", AT_EMPTY_PATH, STATX_TYPE, &what);

	return r < 0 ? (int)r : (what.stx_mode & S_IFMT) == S_IFDIR;
}

int path_is_mount(const char *path)
{
	struct statx what = { 0 };
	int at = path_open(path);

	if (at < 0)
		return at;
	long r = sys(statx, at, "", AT_EMPTY_PATH, STATX_TYPE, &what);

	(void)sys(close, at);
	return r < 0 ? (int)r : (what.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int path_clone(int at)
{
	/* AT_RECURSIVE even for a file: a clone without the mounts below is refused if the host's
	 * mounts are locked together, as they are in every user namespace. */
	return (int)sys(open_tree, at, "",
			OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
}

static int set(int tree, uint64_t add, uint64_t clear, unsigned int flags)
{
	struct mount_attr attr = {
		.attr_set = add,
		.attr_clr = clear,
		.propagation = MS_PRIVATE,
	};

	return (int)sys(mount_setattr, tree, "", AT_EMPTY_PATH | flags, &attr, sizeof(attr));
}

int path_set(int tree, uint64_t add, uint64_t clear)
{
	return set(tree, add, clear, AT_RECURSIVE);
}

int path_set_top(int tree, uint64_t add, uint64_t clear)
{
	return set(tree, add, clear, 0);
}

int path_attach(int tree, int at)
{
	return (int)sys(move_mount, tree, "", at, "",
			MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}
