/* exec_into: a command that is added to one that runs: in its sandbox, with the same restrictions
 * and limits, and with its environment. It ends at the latest with that command. */
#pragma once

#include <stdint.h>

#include "exec/exec_plan.h"
#include "exec/exec_process.h"

#define EXEC_INTO_MAX 16 /* that run at once in one sandbox */

struct exec_into_config {
	const char *const *argv; /* NULL-terminated, at least one */
	const char *term;        /* TERM; NULL: as it is in the sandbox */
	const int *stdio;        /* three descriptors, borrowed; checked as those of a command */
	unsigned int terminals;  /* bit N: descriptor N is a pty, instead of that one */
	struct exec_size size;   /* of the pty, at first */
	struct exec_program program;
	exec_pty_fn on_pty;        /* with @terminals */
	exec_process_done_fn done; /* once, from the loop; only @end, @status and @why are set */
	void *arg;
};
/* *@ret: its number. 0 or -errno with @why; what fails later is reported to @done. */
int exec_into_start(struct exec_process *process, const struct exec_into_config *config,
		    uint64_t *ret, struct err *why);
/* The number that the next one will have. */
uint64_t exec_into_next(const struct exec_process *process);
/* To its process group. */
void exec_into_signal(struct exec_process *process, uint64_t number, int signal);
/* Kills its process group; no callback follows. */
void exec_into_drop(struct exec_process *process, uint64_t number);
