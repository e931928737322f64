#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/devices.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/mount.h>
#include <sys/vfs.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* The command's view: the host's tree read-only, a few directories fresh, the writable ones
 * attached back. What is to be writable is copied before the tree becomes read-only, because
 * afterwards there is nothing writable left to copy. Nothing here can be undone inside: that takes
 * CAP_SYS_ADMIN, and nobody has it when the command starts. */

#define WRITABLE_MAX 64
#define ST_READ_ONLY 1 /* of statfs: MS_RDONLY */

static const uint64_t closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

/* A file system mounted inside a writable directory stays read-only unless it is named itself: it
 * may be another /proc, a container's root, a disk somebody else uses. */
static int copy_writable(const char *path)
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
	if (r == 0 && (what.f_flags & ST_READ_ONLY) == 0)
		r = path_set_top(tree, 0, MOUNT_ATTR_RDONLY);
	return r < 0 ? (int)r : tree;
}

static int copy_all(struct init *init, int trees[WRITABLE_MAX])
{
	char **paths = init->plan.lists[WIRE_WRITABLE];

	init->step = WIRE_STEP_WRITABLE;
	for (int i = 0; paths[i]; i++) {
		init->detail = paths[i];
		trees[i] = i < WRITABLE_MAX ? copy_writable(paths[i]) : -E2BIG;
		if (trees[i] < 0)
			return trees[i];
	}
	return 0;
}

static int close_tree(struct init *init)
{
	struct mount_attr attr = { .attr_set = closed, .propagation = MS_PRIVATE };

	init->step = WIRE_STEP_VIEW;
	init->detail = "/";
	return (int)sys(mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr));
}

/* Fresh /tmp, /run… */
static int make_fresh(struct init *init)
{
	char **paths = init->plan.lists[WIRE_FRESH];
	int r = 0;

	init->step = WIRE_STEP_FRESH;
	for (int i = 0; paths[i] && r == 0; i++) {
		init->detail = paths[i];
		r = (int)sys(mount, "tmpfs", paths[i], "tmpfs", MS_NOSUID | MS_NODEV,
			     i == 0 ? "mode=1777" : "mode=0755");
	}
	return r;
}

static int attach_all(struct init *init, const int trees[WRITABLE_MAX])
{
	char **paths = init->plan.lists[WIRE_WRITABLE];

	init->step = WIRE_STEP_WRITABLE;
	for (int i = 0; paths[i]; i++) {
		init->detail = paths[i];
		int at = path_open(paths[i]);

		/* Only inside a fresh directory can it have gone. */
		if (at == -ENOENT) {
			int r = path_make(paths[i]);

			at = r < 0 ? r : path_open(paths[i]);
		}
		if (at < 0)
			return at;
		int r = path_attach(trees[i], at);

		(void)sys(close, at);
		(void)sys(close, trees[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Parts of /proc that change the machine and not a process. As root outside, the command's uid owns
 * them: without capabilities a plain write would still be let through. */
static const char *const proc_parts[] = {
	"/proc/sys", "/proc/sysrq-trigger", "/proc/irq",  "/proc/bus",
	"/proc/fs",  "/proc/acpi",          "/proc/scsi", "/proc/mtrr",
};

static int close_part(const char *path)
{
	int at = path_open(path);

	if (at == -ENOENT)
		return 0;
	if (at < 0)
		return at;
	int tree = path_clone(at);
	int r = tree < 0 ? tree : path_set(tree, closed | MOUNT_ATTR_NOEXEC, 0);

	if (r == 0)
		r = path_attach(tree, at);
	if (tree >= 0)
		(void)sys(close, tree);
	(void)sys(close, at);
	return r;
}

static int make_proc(struct init *init)
{
	init->step = WIRE_STEP_PROC;
	init->detail = "/proc";
	int r = (int)sys(mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);

	/* In a container whose own /proc is masked the kernel lets nobody see an unmasked one. The
	 * container's then stays, read-only: of processes outside it shows names and command lines,
	 * for which the kernel asks nothing, and no more. */
	if (r == -EPERM)
		return 0;
	for (size_t i = 0; r == 0 && i < sizeof(proc_parts) / sizeof(proc_parts[0]); i++) {
		init->detail = proc_parts[i];
		r = close_part(proc_parts[i]);
	}
	return r;
}

int view_build(struct init *init)
{
	struct devices devices;
	int trees[WRITABLE_MAX] = { 0 };
	int r = copy_all(init, trees);
	if (r == 0)
		r = devices_copy(init, &devices);
	if (r == 0)
		r = close_tree(init);
	if (r == 0)
		r = devices_make(init, &devices);
	if (r == 0)
		r = make_fresh(init);
	if (r == 0)
		r = files_write(init);
	if (r == 0)
		r = door_open(init);
	if (r == 0)
		r = attach_all(init, trees);
	if (r == 0)
		r = make_proc(init);
	if (r == 0)
		r = cover_all(init);
	return r;
}
