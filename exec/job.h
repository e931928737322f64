/* job: what the parts of a job share; see exec_job.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "exec/clock.h"
#include "exec/exec_job.h"
#include "exec/job_input.h"
#include "exec/output.h"

enum job_state {
	JOB_NEW,
	JOB_RUNNING,  /* or being set up */
	JOB_DRAINING, /* the command is gone, and .raw says how */
	JOB_ENDED
};

struct job_poll {
	exec_poll_fn done; /* NULL: nobody waits */
	void *arg;
	size_t max;
	int64_t wait_ms; /* of @clock */
	struct clock clock;
	struct loop_timer timer;
};

struct exec_job {
	struct loop *loop;
	struct exec_job_config config; /* its strings are ours */
	const struct exec_job_events *events;
	void *arg;
	exec_evidence_fn on_refused;
	exec_program_fn on_program;
	enum job_state state;
	struct exec *exec;
	struct output output;
	struct job_input input;
	struct clock clock;
	struct loop_timer limit, grace, task;
	bool is_cut;
	struct job_poll poll;
	bool is_stopping; /* for .stop_end, .stop_why: the first reason */
	enum exec_job_end stop_end;
	char stop_why[512];
	bool was_interrupted;
	struct exec_result raw;
	struct exec_job_result result; /* once ENDED */
	/* Callbacks may free the job: then it is silent at once, and goes when they have returned.
	 */
	unsigned int depth;
	bool is_freed;
};

/* Frees it if a callback wanted that and nothing further up needs it. */
void job_bury(struct exec_job *job);
/* The command is gone: no timer, and the rest of its output. @raw may be the job's own. */
void job_end(struct exec_job *job, const struct exec_result *raw);

/* job_stop.c: the time limit, as far as it is not paused. */
void job_stop_arm(struct exec_job *job);

/* job_poll.c: starts its time, as far as it is not paused; and answers it when there is something
 * to answer. */
void job_poll_arm(struct exec_job *job);
void job_poll_check(struct exec_job *job);
/* At once, if anybody waits. */
void job_poll_answer(struct exec_job *job);
