/* trusted: programs that run on our side of the gate, found where a command cannot have put them.
 */
#pragma once

#include <stdbool.h>

/* Is @path, where it really is, in @folder or the folder itself? What cannot be known is. NULL: no.
 */
bool trusted_is_within(const char *path, const char *folder);
/* PATH without what is relative or within @cwd: the interpreter of a script is looked up in it too.
 * Returned owned. */
char *trusted_path(const char *cwd);
/* @name in the folders of @path, a regular file that may be executed and is not within @cwd, also
 * not by a link. Returned owned; NULL: there is none. */
char *trusted_find(const char *path, const char *name, const char *cwd);
