/* extra_look: finds, in a separate process (look.h), which path has to be opened for each
 * additional permission of a task, and whether the gate keeps it. */
#pragma once

#include <stdio.h>

struct err;
struct task;

/* In the process: see look_task(). */
void extra_look(FILE *out, const struct task *task);
/* In the server: sets the paths of @task's permissions to those that were found. 0, or -EPERM with
 * @why: the gate keeps one of them. */
int extra_look_read(struct task *task, struct err *why);
