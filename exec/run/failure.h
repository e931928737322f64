/* failure: does a refusal explain that a command failed? For every process that ends it records the
 * exit status, and which of its children had failed before it: a process that fails after a failed
 * child is taken to fail because of that child, whatever was refused to itself. So it finds where
 * the failure began, and whether anything was refused there (docs/decisions/0032). It decides
 * nothing: it only makes the result "denied" more, or less, likely. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exec/exec_process_result.h"

#define FAILURE_TASKS_MAX 256 /* kept at once; beyond that the origin is not known */

struct failure_task {
	pid_t pid, parent; /* parent 0: not known */
	bool is_refused;   /* it, or a process that it started, was refused something */
	bool is_beside;  /* a process beside it, perhaps in the same pipe, was refused something */
	bool has_failed; /* the last of its children to end failed, */
	struct exec_origin origin; /* with this origin */
};

struct failure {
	struct failure_task tasks[FAILURE_TASKS_MAX];
	size_t count;
	bool is_lost; /* more than the table holds */
	pid_t inner;  /* pid inside of the first process of those that have ended; 0: none */
	int status;   /* its exit status */
	struct exec_origin origin;
};

/* The task waits until we answer, so what /proc says about it is valid. @task is a pid in our
 * namespace. */
void failure_refused(struct failure *failure, pid_t task, const char *path);
/* @inner: its pid inside: the command has the lowest. */
void failure_ended(struct failure *failure, pid_t task, pid_t inner, int status);
/* For the command, which exited with @status. */
struct exec_origin failure_origin(const struct failure *failure, int status);
