/* exec_place: looks up paths that a command has chosen, on the host. A name that an automount does
 * not list is missing: asking for it would send it to the network. */
#pragma once

#include <stdbool.h>

struct stat;

/* As stat(2), or lstat(2) if it does not follow a link at the end. @path is absolute. Returns 0 or
 * an error. */
int exec_place_look(const char *path, bool follows, struct stat *ret);
/* As realpath(3). Returned owned. */
char *exec_place_real(const char *path);
