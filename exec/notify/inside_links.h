/* inside_links: resolves paths as a task inside would, including the kernel's own links in its
 * /proc. */
#pragma once

#include "exec/notify/inside.h"

/* Absolute @path with every link followed (the last one if @follows), as @task sees it, including
 * the current targets of the kernel's own links: /proc/self/root, /proc/PID/cwd, /dev/fd/N. If a
 * component does not exist, the rest stays as written. 0 or -errno: -ENOENT for a file without a
 * path, such as a pipe. */
int inside_links_expand(const struct inside *inside, pid_t task, const char *path, bool follows,
			char ret[PATH_MAX]);
