/* exec_run: runs what was approved: starts each exec of a task and reports its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct gateway_exec_event;
struct orchestrator_exec;
struct task_exec;
struct task_ops;

/* For a task that is a command. */
extern const struct task_ops exec_run_ops;
/* Operations of an orchestrator, whose argument is the session: see struct orchestrator_ops. */
int exec_run_start(const struct orchestrator_exec *approved, struct err *why, void *session);
void exec_run_stop(uint64_t number, const char *why, void *session);
void exec_run_pause(uint64_t number, bool is_paused, void *session);
/* The gateway reports what its network did to an exec, and last, that it has ended. */
void exec_run_event(uint64_t number, const struct gateway_exec_event *event, void *agent);
