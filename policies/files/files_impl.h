/* files: opens policy files only if no other user can have changed them. */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

struct err;

/* The folder of @path as a descriptor, returned owned, and the rest of @path in *@ret_name
 * (borrowed from it). -errno. */
int files_open_folder(const char *path, const char **ret_name, struct err *why);
/* @name below @folder, read-only, returned owned. Symbolic links may be followed, but never out of
 * @folder. -errno. */
int files_open_below(int folder, const char *name, int flags, struct err *why);
/* Is it a regular file (or a folder) that only we or root can write? 0 or -EPERM, -EINVAL. */
int files_check_file(int fd, struct stat *ret, struct err *why);
int files_check_folder(int fd, struct err *why);
/* The lock of those who change files in @folder, waited for; gone with the descriptor. 0, -EAGAIN:
 * another program holds it; -errno. */
int files_lock(int folder, struct err *why);
