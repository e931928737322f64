#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>

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
	return r;
}
