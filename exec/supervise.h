/* supervise: the gate's end of a sandbox: init's messages, its end, and what became of the command.
 */
#pragma once

#include <stdbool.h>

#include "exec/exec.h"
#include "exec/launch.h"
#include "exec/wire.h"

struct loop;
struct supervise;

/* All run from the loop; @arg is the creator's. */
struct supervise_events {
	/* The egress descriptors (EXEC_EGRESS_FDS of them), taken. Not 0: the sandbox is ended. */
	int (*on_ready)(int *fds, void *arg);
	/* The master of the command's pty, taken. */
	void (*on_pty)(int master, void *arg);
	/* What tells of the command's calls, and where from (see wire_told.h), taken. Not 0:
	 * nobody asked for it. */
	int (*on_listener)(int listener, int told, void *arg);
	void (*on_stopped)(void *arg);
	/* Nothing of the command is left. At most once, and nothing after it. */
	void (*on_end)(const struct exec_result *result, void *arg);
	/* Nor of the sandbox: not told where on_end() came only then. */
	void (*on_gone)(void *arg);
};

/* Takes @launch's descriptors, keeps the rest; @has_pty: the command waits for on_pty() as well as
 * on_ready(). Returned owned. */
struct supervise *supervise_new(struct loop *loop, const struct launch *launch, const char *program,
				bool has_pty, const struct supervise_events *events, void *arg);
/* Kills what is left, and waits for it. */
void supervise_free(struct supervise *supervise);
/* Is nothing left to wait for? */
bool supervise_is_gone(const struct supervise *supervise);

/* EXEC_KILLED with @why, or, with @status not 0, EXEC_NOT_STARTED with it. The first call counts.
 */
void supervise_kill(struct supervise *supervise, int status, const char *why);
/* To the command's process group; before it exists: as soon as it does. */
void supervise_signal(struct supervise *supervise, int signal);
