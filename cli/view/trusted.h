/* trusted: finds programs that run on our side of the gate, in folders that a command cannot write.
 */
#pragma once

#include <stdbool.h>

struct reach;

/* Is the real path of @path in @folder, or the folder itself? A path that cannot be resolved counts
 * as within. NULL: no. */
bool trusted_is_within(const char *path, const char *folder);
/* @path, a PATH, without entries that are relative, within @cwd or in @reach: the interpreter of a
 * script is searched in it, too. NULL: the usual one. Returned owned. */
char *trusted_path(const char *path, const char *cwd, const struct reach *reach);
/* The program @name in the folders of @path: an executable regular file that is not within @cwd or
 * in @reach. Returned owned; NULL: there is none. */
char *trusted_find(const char *path, const char *name, const char *cwd, const struct reach *reach);
