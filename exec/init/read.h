/* read: the plan as init sees it: checked to the last byte, then used where it lies. No system
 * call, so it is tested alone. */
#pragma once

#include <stddef.h>

#include "exec/wire.h"

struct read_plan {
	const struct wire_plan *head;
	const char *cwd;
	char **lists[WIRE_LISTS]; /* NULL-terminated */
};

/* How many pointers read_plan() needs; 0: the head is not a plan's. */
size_t read_pointers(const void *bytes, size_t len);

/* @bytes (a NUL-terminated string may lie anywhere, so alignment is the head's only) and @pointers
 * (read_pointers() of them) outlive @ret. 0, or -EBADMSG: nothing of it may be used. */
int read_plan(const void *bytes, size_t len, char **pointers, struct read_plan *ret);
