#include "exec/stages/devices.h"

#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <linux/mount.h>

static const char *const nodes[DEVICES_COUNT] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
};

static const struct {
	const char *path, *target;
} links[] = {
	{ "/dev/fd", "/proc/self/fd" },       { "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" }, { "/dev/stderr", "/proc/self/fd/2" },
	{ "/dev/ptmx", "pts/ptmx" },
};

int devices_copy(struct init *init, struct devices *ret)
{
	init->step = WIRE_STEP_DEVICES;
	for (int i = 0; i < DEVICES_COUNT; i++) {
		init->detail = nodes[i];
		int at = path_open(nodes[i]);

		if (at < 0)
			return at;
		ret->trees[i] = path_clone(at);
		(void)sys(close, at);
		if (ret->trees[i] < 0)
			return ret->trees[i];
	}
	return 0;
}

static int attach_node(const char *path, int tree)
{
	long at = sys(openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0444);

	if (at < 0)
		return (int)at;
	int r = path_attach(tree, (int)at);

	(void)sys(close, at);
	(void)sys(close, tree);
	return r;
}

static int make_terminals(struct init *init)
{
	init->detail = "/dev/pts";
	int r = (int)sys(mkdirat, AT_FDCWD, "/dev/pts", 0755);

	/* A separate instance (every mount is one, since Linux 4.7): it does not contain the host's
	 * terminals. All instances but the machine's first share 3072. */
	if (r == 0)
		r = (int)sys(mount, "devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
			     "newinstance,ptmxmode=0666,mode=0620,max=256");
	return r;
}

int devices_make(struct init *init, const struct devices *devices)
{
	init->step = WIRE_STEP_DEVICES;
	init->detail = "/dev";
	int r = (int)sys(mount, "tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
			 init->plan.head->limits.texts[WIRE_DEV_OPTIONS]);

	for (int i = 0; i < DEVICES_COUNT && r == 0; i++) {
		init->detail = nodes[i];
		r = attach_node(nodes[i], devices->trees[i]);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) && r == 0; i++) {
		init->detail = links[i].path;
		r = (int)sys(symlinkat, links[i].target, AT_FDCWD, links[i].path);
	}
	if (r == 0)
		r = make_terminals(init);
	if (r < 0)
		return r;
	init->detail = "/dev/shm";
	r = (int)sys(mkdirat, AT_FDCWD, "/dev/shm", 01777);
	if (r == 0)
		r = (int)sys(fchmodat, AT_FDCWD, "/dev/shm",
			     01777); /* the umask removed some bits */
	return r;
}
