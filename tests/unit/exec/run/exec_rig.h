/* exec_rig: one exec, or many, run to the end in a loop, with all that they told caught. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "exec/exec.h"
#include "tests/unit/exec/rig.h"

struct exec_text {
	char *bytes; /* owned, NUL-terminated; NULL: nothing */
	size_t len, room;
};

struct exec_rig {
	struct rig rig; /* whose directories, loop and plan are used */
	struct exec_config config;
	struct exec_events events;
	struct exec *exec;
	struct exec_text live[EXEC_STREAMS]; /* from on_output; MERGED in the order of the calls */
	unsigned int events_seen, notes_seen, rooms_seen;
	uint64_t dropped;
	bool has_ended, is_consumer_slow; /* it does not say that it has consumed anything */
	struct exec_result result;
	struct exec_text polled;
	struct exec_poll poll; /* the last one's numbers */
	unsigned int polls_seen;
};

/* @user: as rig_init(). */
void exec_rig_init(struct exec_rig *rig, int user);
void exec_rig_done(struct exec_rig *rig);

/* Makes and starts `sh -c SCRIPT`; exec_rig_new() only makes. */
void exec_rig_new(struct exec_rig *rig);
void exec_rig_go(struct exec_rig *rig, const char *script);
void exec_rig_start(struct exec_rig *rig, const char *script);
/* Runs the loop until it has ended, until @text is in the live standard output, or a poll was
 * answered. */
void exec_rig_wait(struct exec_rig *rig);
void exec_rig_await(struct exec_rig *rig, const char *text);
const char *exec_rig_poll(struct exec_rig *rig, int64_t wait_ms, size_t max_bytes);
/* One turn of the loop, waiting for something to do. */
void exec_rig_turn(struct exec_rig *rig);
/* All of it: start and wait. */
void exec_rig_run(struct exec_rig *rig, const char *script);
