/* exec_made: what a start finds in the file system, and which files that a command made run code
 * later. Both may take long, because a file system is slow or because the command can write a large
 * tree: so each can run in another process. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "exec/exec_told.h"

struct err;
struct exec_process;
struct exec_plan_config;

/* What exec_look() wrote. */
struct exec_seen {
	const char *bytes;
	size_t len;
};

/* Writes to @out, which is in memory, what exec_process_start() with the same @config takes as its
 * @seen. Failures are reported by exec_process_start(). */
void exec_look(const struct exec_plan_config *config, FILE *out);

/* Calls @each for every file that runs code outside of the sandbox later, did not exist when the
 * command started, and lies where the command may write: with its path ("": none), and the reason,
 * for people. @config: that of exec_process_start(). Call it after @done; it looks at as many files
 * as the start does. -errno with @why: it is not known. docs/decisions/0035. */
int exec_made(const struct exec_process *process, const struct exec_plan_config *config,
	      exec_made_fn each, void *arg, struct err *why);
/* The same, in another process: @seen is what the command was started with. */
int exec_made_since(const struct exec_seen *seen, const struct exec_plan_config *config,
		    exec_made_fn each, void *arg, struct err *why);
