/* exec_process: runs one command in its own namespaces, whose only connections are through the
 * listeners that it hands to its egress. It does not depend on the proxy or the gateway. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/exec_egress.h"
#include "exec/exec_plan.h"
#include "exec/exec_process_result.h"
#include "exec/exec_told.h"

struct err;
struct exec_process;
struct loop;

/* Runs once, from the loop, when no process of the command is left. */
typedef void (*exec_process_done_fn)(const struct exec_process_result *result, void *arg);

/* Starts the command: it clones into all namespaces at once, so call it from the process's only
 * thread. 0–2 become the command's, and are checked first: a directory, a network socket or a
 * closed descriptor is refused. Borrows @config, keeps @loop and @arg. NULL with @why (which says
 * what the kernel refused and what to do about it): nothing runs. A later refusal is reported as
 * EXEC_PROCESS_NOT_STARTED, 125. */
struct exec_process *exec_process_start(struct loop *loop, const struct exec_plan_config *config,
					exec_egress_fn egress, exec_process_done_fn done, void *arg,
					struct err *why);
/* Kills the whole sandbox; @done runs later, with EXEC_PROCESS_KILLED and @why. */
void exec_process_kill(struct exec_process *process, const char *why);
/* Sends a signal that we received (SIGINT, SIGTERM, SIGHUP…) to the command's process group. */
void exec_process_signal(struct exec_process *process, int signal);
void exec_process_free(
	struct exec_process *process); /* kills what is left; the loop waits for it */
/* After @done the kernel may still be destroying the sandbox: @gone runs once, from the loop, when
 * that has finished. False: it has finished already. */
bool exec_process_when_gone(struct exec_process *process, void (*gone)(void *arg));
/* @is_allowed: the program that the question is about runs, or it does not. -ENOENT: that question
 * is not open. */
int exec_process_answer(struct exec_process *process, uint64_t id, bool is_allowed);

/* Stops relaying output and input while a question is open on the terminal, and continues. No byte
 * is lost. Without a pty they have no effect. */
void exec_process_hold_terminal(struct exec_process *process);
void exec_process_release_terminal(struct exec_process *process);

/* This process runs in a sandbox of ours, in which no second one can be made. */
bool exec_process_is_inside(void);
/* Writes @pid, its parent, and so on up to the sandbox's first process to @ret. Returns how
 * many; 0: not known, or more than @max. */
size_t exec_process_ancestors(pid_t pid, pid_t *ret, size_t max);

/* The absolute paths that it may not write although they lie in a writable directory. Borrowed. */
const char *const *exec_process_protected(const struct exec_process *process);
