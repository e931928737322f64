/* read: the plan in the form that init uses: fully checked, then used in place. It makes no system
 * calls, so it can be tested separately. */
#pragma once

#include <stddef.h>

#include "exec/run/wire.h"

struct read_plan {
	const struct wire_plan *head;
	const char *cwd;
	char **lists[WIRE_LISTS]; /* NULL-terminated */
};

/* How many pointers read_plan() needs; 0: the head is not a plan's. */
size_t read_pointers(const void *bytes, size_t len);

/* @bytes (only the head has to be aligned, a NUL-terminated string may be anywhere) and @pointers
 * (read_pointers() of them) must outlive @ret. 0, or -EBADMSG: nothing in @ret may be used. */
int read_plan(const void *bytes, size_t len, char **pointers, struct read_plan *ret);
