/* seen: encodes what was found in the file system for a plan, so that another process of ours can
 * send it: the search may take as long as the file system needs. docs/decisions/0037. */
#pragma once

#include <stdio.h>

struct err;
struct exec_seen;
struct plan;

/* Writes what view_plan() has filled in, or why it failed with @error (negative; 0: it did not
 * fail). */
void seen_write(FILE *out, const struct plan *plan, int error, const struct err *why);
/* Reads the same into @plan, which must be empty. 0; or -errno with @why: the error that was
 * written, or -EBADMSG. */
int seen_read(const struct exec_seen *seen, struct plan *plan, struct err *why);
