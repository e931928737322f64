/* inside_links: paths as a task inside means them, through the kernel's own links of its /proc. */
#pragma once

#include "exec/inside.h"

/* Absolute @path, every link followed (its last by @follows), as @task means it: also what the
 * kernel's own lead to now, /proc/self/root, /proc/PID/cwd, /dev/fd/N. Of what is not there the
 * rest stays as it is written. 0 or -errno: -ENOENT for what has no path, a pipe. */
int inside_links_expand(const struct inside *inside, pid_t task, const char *path, bool follows,
			char ret[PATH_MAX]);
