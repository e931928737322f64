/* task_exec: one run of a command: its number, its output, its time, and what was refused to it.
 * exec_run.c begins and ends it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/rpc/piece.h"
#include "agent/command/refusal.h"
#include "base/loop.h"
#include "exec/exec.h"
#include "exec/exec_plan.h"
#include "policies/commands/commands.h"

struct aside;
struct exec_sandbox;
struct orchestrator_judge;
struct task;
struct task_exec;

/* The state of its files before it starts and after it has ended: see look.h. */
struct task_exec_look {
	void (*run)(struct task_exec *exec); /* called then; starts it */
	struct aside *aside;                 /* NULL: no search is running */
	char *seen;                          /* the basis of the start: see exec_look(); owned */
	json_t *made; /* what it made, as told, the first of made_count; NULL: none */
	size_t made_count;
	char *unknown; /* why it is not known what it made, owned; NULL: it is known */
};

/* Owned by its task. */
struct task_exec {
	struct task *task;
	uint64_t number; /* the same for orchestrator, gateway and records */
	size_t attempt;  /* of its task: 1, or 2 for a retry */
	struct exec_sandbox *sandbox;
	bool is_confined;
	char **env;                  /* instead of the task's; NULL: that one */
	struct command_file program; /* path "": argv[0] is looked up */
	struct exec_plan_config plan;
	struct task_exec_look look; /* its search, before it has a result: it was not started */
	struct exec *running;
	struct orchestrator_judge *judge; /* NULL: it has started no program that was judged */
	struct orchestrator_judge *again; /* NULL: no person has allowed one */
	struct exec_result result;
	bool has_result;  /* it has ended; the gateway has not finished with it */
	bool has_settled; /* the orchestrator was told its end */
	bool is_deferred; /* it continues after its task's result */
	unsigned int pauses;
	int64_t yield_ms; /* time of going to the background; paused: the time left */
	struct loop_timer yield;
	bool is_waiting;                           /* for the answer to a question of the gateway */
	uint64_t owed;                             /* bytes of output that wait in the channel */
	struct piece pieces[EXEC_STREAMS], polled; /* of incomplete characters */
	uint64_t told[EXEC_STREAMS];               /* bytes, sent or waiting */
	struct refusal_list refusals;
	json_t *allowed; /* destinations, each once */
	bool is_allowed_cut;
};
