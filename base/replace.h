/* replace: files that are old or new and never half, and the lock of those who change them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct replace {
	int folder;        /* holds both names; borrowed */
	const char *name;  /* of the file; there may be none yet */
	const char *fresh; /* the new file's until it is whole: no other process uses it now */
	mode_t mode;
	bool is_durable; /* fsync(2) of the file, and of the folder */
	bool is_new;     /* -EEXIST where the name is there */
};

/* Writes a new file and gives it the name. 0 or -errno: then the old file is as it was, unless only
 * the folder could not be written to the disk. */
int replace_file(const struct replace *what, const void *bytes, size_t len);

/* flock(2) of @fd, @how LOCK_SH or LOCK_EX, waiting for at most @limit_ms (0: not at all). 0,
 * -EWOULDBLOCK: another process held it all the time; -errno. Not for the loop, except with 0. */
int replace_lock(int fd, int how, int64_t limit_ms);
