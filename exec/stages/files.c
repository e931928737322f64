#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <linux/mount.h>

static int write_file(const char *path, const char *text)
{
	size_t len = sys_length(text);
	long fd = sys(openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		      0444);

	if (fd < 0)
		return (int)fd;
	long n = sys(write, fd, text, len);

	(void)sys(close, fd);
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -ENOSPC; /* a tmpfs writes all, or is full */
}

static int replace(const char *path, const char *file)
{
	int from = path_open(path), at = -1;
	int tree = from < 0 ? from : path_clone(from);
	int r = tree < 0 ? tree : path_set(tree, MOUNT_ATTR_RDONLY, 0);

	if (r == 0)
		r = at = path_open(file);
	if (r >= 0)
		r = path_attach(tree, at);
	if (from >= 0)
		(void)sys(close, from);
	if (tree >= 0)
		(void)sys(close, tree);
	if (at >= 0)
		(void)sys(close, at);
	return r;
}

int files_write(struct init *init)
{
	char **pair = init->plan.lists[WIRE_FILES];
	int r = 0;

	init->step = WIRE_STEP_FILES;
	for (; pair[0] && r == 0; pair += 2) {
		init->detail = pair[0];
		r = path_make_parent(pair[0]);
		if (r == 0)
			r = write_file(pair[0], pair[1]);
	}
	for (pair = init->plan.lists[WIRE_INSTEAD]; pair[0] && r == 0; pair += 2) {
		init->detail = pair[1];
		r = replace(pair[0], pair[1]);
	}
	return r;
}
