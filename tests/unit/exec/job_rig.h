/* job_rig: one job, or many, run to the end in a loop, with all that they told caught. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exec/exec_job.h"
#include "tests/unit/exec/rig.h"

struct job_text {
	char *bytes; /* owned, NUL-terminated; NULL: nothing */
	size_t len, room;
};

struct job_rig {
	struct rig rig; /* whose directories, loop and plan are used */
	struct exec_job_config config;
	struct exec_job_events events;
	struct exec_job *job;
	struct job_text live[EXEC_STREAMS]; /* from on_output; MERGED in the order of the calls */
	unsigned int events_seen, notes_seen, rooms_seen;
	uint64_t dropped;
	bool has_ended, is_consumer_slow; /* it does not say that it has consumed anything */
	struct exec_job_result result;
	struct job_text polled;
	struct exec_poll poll; /* the last one's numbers */
	unsigned int polls_seen;
};

/* @user: as rig_init(). */
void job_rig_init(struct job_rig *rig, int user);
void job_rig_done(struct job_rig *rig);

/* Makes and starts `sh -c SCRIPT`; job_rig_new() only makes. */
void job_rig_new(struct job_rig *rig);
void job_rig_go(struct job_rig *rig, const char *script);
void job_rig_start(struct job_rig *rig, const char *script);
/* Runs the loop until it has ended, until @text is in the live standard output, or a poll was
 * answered. */
void job_rig_wait(struct job_rig *rig);
void job_rig_await(struct job_rig *rig, const char *text);
const char *job_rig_poll(struct job_rig *rig, int64_t wait_ms, size_t max_bytes);
/* One turn of the loop, waiting for something to do. */
void job_rig_turn(struct job_rig *rig);
/* All of it: start and wait. */
void job_rig_run(struct job_rig *rig, const char *script);
