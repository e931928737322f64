/* tool: runs a program of this machine with input, until it ends or is late. It waits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct loop;

#define TOOL_SAID_MAX 65536

/* Finds @name on the PATH. Returned owned; NULL with @why. */
char *tool_find(const char *name, struct err *why);
/* Gives @input to @argv of the program at @path, for at most @limit_ms. 0: it has ended with 0, and
 * *@ret_said is the beginning of its output, returned owned. -errno with @why, which has the first
 * line of its errors. */
int tool_run(const char *path, const char *const *argv, const char *input, size_t len,
	     int64_t limit_ms, char **ret_said, struct err *why);
