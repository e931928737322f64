#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/cover.h"
#include "exec/stages/devices.h"
#include "exec/stages/mounts.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/mount.h>
#include <stdbool.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef MNT_DETACH /* <sys/mount.h> conflicts with <linux/mount.h> */
#define MNT_DETACH 2
#endif

/* The command's view: the host's tree read-only, with some fresh directories and others attached
 * again; or the whole tree writable; or nothing except what is attached. What will be attached is
 * cloned first, because afterwards it may be read-only or out of reach. Nothing here can be undone
 * inside: that needs CAP_SYS_ADMIN, which no process has when the command starts. */

static const uint64_t closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

static int close_tree(struct init *init)
{
	bool is_open = (init->plan.head->flags & WIRE_OPEN) != 0;
	struct mount_attr attr = {
		.attr_set = is_open ? MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV : closed,
		.propagation = MS_PRIVATE,
	};

	init->step = WIRE_STEP_VIEW;
	init->detail = "/";
	return (int)sys(mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr));
}

/* Replaces the host's root by an empty one. The host's stays mounted on top of it, where no path
 * leads to it, only the descriptor *@ret_host: the kernel allows a new /proc only to a namespace
 * that has one already. */
static int enter_empty(struct init *init, int *ret_host)
{
	static const char place[] = "/tmp"; /* any directory will do */

	init->step = WIRE_STEP_ROOT;
	init->detail = place;
	long r = sys(openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (r < 0)
		return (int)r;
	*ret_host = (int)r;
	r = sys(mount, "tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755");
	if (r == 0)
		r = sys(chdir, place);
	if (r == 0)
		r = sys(pivot_root, ".", ".");
	if (r == 0)
		r = sys(chdir, "/");
	if (r == 0)
		r = path_make("/dev");
	return r < 0 ? (int)r : path_make("/proc");
}

static int make_links(struct init *init)
{
	int r = 0;

	init->step = WIRE_STEP_ROOT;
	for (char **pair = init->plan.lists[WIRE_LINKS]; *pair && r == 0; pair += 2) {
		init->detail = pair[0];
		r = path_make_parent(pair[0]);
		if (r == 0)
			r = (int)sys(symlinkat, pair[1], AT_FDCWD, pair[0]);
	}
	return r;
}

/* Unmounts the host's tree, and makes our root read-only. */
static int leave_host(struct init *init, int host)
{
	init->step = WIRE_STEP_ROOT;
	init->detail = "/";
	long r = sys(fchdir, host);

	if (r == 0)
		r = sys(umount2, ".", MNT_DETACH);
	if (r == 0)
		r = sys(chdir, "/");
	(void)sys(close, host);
	r = r < 0 ? r : path_open("/");
	if (r < 0)
		return (int)r;
	int root = (int)r;

	r = path_set_top(root, MOUNT_ATTR_RDONLY, 0);
	(void)sys(close, root);
	return (int)r;
}

/* Parts of /proc that change the machine and not a process. If the caller is root, the command's
 * uid owns them: a plain write would succeed even without capabilities. */
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

	/* In a container whose /proc is masked, the kernel does not allow an unmasked one. The
	 * container's then stays, read-only: it shows names and command lines of processes outside,
	 * which the kernel does not protect, and nothing else. */
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
	bool is_empty = (init->plan.head->flags & WIRE_EMPTY) != 0;
	struct devices devices;
	struct mounts mounts;
	int host = -1;
	int r = mounts_copy(init, &mounts);

	if (r == 0)
		r = devices_copy(init, &devices);
	if (r == 0)
		r = close_tree(init);
	if (r == 0 && is_empty)
		r = enter_empty(init, &host);
	if (r == 0)
		r = devices_make(init, &devices);
	if (r == 0)
		r = make_proc(init);
	if (r == 0 && is_empty)
		r = make_links(init);
	if (r == 0)
		r = cover_begin(init);
	if (r == 0)
		r = mounts_make(init, &mounts);
	if (r == 0)
		r = files_write(init);
	if (r == 0)
		r = door_open(init);
	if (r == 0)
		r = cover_others(init);
	if (r == 0)
		r = cover_sockets(init);
	return r == 0 && is_empty ? leave_host(init, host) : r;
}
