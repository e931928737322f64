/* exec: the state that the parts of an exec share; see exec.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "exec/run/clock.h"
#include "exec/exec.h"
#include "exec/run/exec_input.h"
#include "exec/run/output.h"

enum exec_state {
	EXEC_NEW,
	EXEC_RUNNING,  /* also while it is being set up */
	EXEC_DRAINING, /* the command has ended, and .raw says how */
	EXEC_ENDED
};

struct exec_poll_wait {
	exec_poll_fn done; /* NULL: no poll waits */
	void *arg;
	size_t max;
	int64_t wait_ms; /* on @clock */
	struct clock clock;
	struct loop_timer timer;
};

struct exec {
	struct loop *loop;
	struct exec_config config; /* its strings are copies, owned */
	const struct exec_events *events;
	void *arg;
	exec_evidence_fn on_refused;
	exec_program_fn on_program;
	exec_probed_fn on_probed;
	enum exec_state state;
	struct exec_process *process;
	struct output output;
	struct exec_input input;
	struct clock clock;
	struct loop_timer limit, grace, task;
	bool is_cut;
	struct exec_poll_wait poll;
	bool is_stopping; /* .stop_end and .stop_why are set: the first reason */
	enum exec_end stop_end;
	char stop_why[512];
	bool was_interrupted;
	struct exec_process_result raw;
	struct exec_result result; /* once ENDED */
	/* Callbacks may free the exec: it then calls nothing more, and is freed when they have
	 * returned. */
	unsigned int depth;
	bool is_freed;
};

/* Frees it if a callback asked for that and no caller up the stack uses it. */
void exec_bury(struct exec *exec);
/* The command has ended: stops the timers, and reads the rest of its output. @raw may be the exec's
 * own. */
void exec_ended(struct exec *exec, const struct exec_process_result *raw);

/* exec_stop.c: starts the timer of the time limit, unless it is paused. */
void exec_stop_arm(struct exec *exec);

/* exec_poll.c: starts the poll's timer, unless it is paused; and answers the poll if the answer is
 * ready. */
void exec_poll_arm(struct exec *exec);
void exec_poll_check(struct exec *exec);
/* Answers now, if a poll waits. */
void exec_poll_answer(struct exec *exec);
