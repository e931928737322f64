/* look: finds what the server needs to know of the file system, in a separate process: the client,
 * its model or a command chooses the paths, so the search may take long or block.
 * docs/decisions/0037. */
#pragma once

#include <stdio.h>

struct err;
struct task;
struct task_exec;

/* Runs in the process; writes with look_put(). */
typedef void (*look_task_fn)(FILE *out, const struct task *task);
/* Looks for a task. Until @then (see struct task_look) is called, @task is in its session's list
 * but has not begun. */
void look_task(struct task *task, look_task_fn run,
	       int (*then)(struct task *task, struct err *why));
void look_put(FILE *out, char kind, const char *key, const char *value);
/* Borrowed from @task; NULL: there is no entry of this kind, or no more. @at: begins as 0. */
const char *look_next(const struct task *task, char kind, size_t *at, const char **ret_value);

/* Writes the state of the file system that the words of @task need. A name that was not looked up
 * is unknown, so no rule allows it. Borrows. */
void look_words(FILE *out, const struct task *task);
void look_world_init(struct task *task);
/* The PATH of a command that a rule lets leave its sandbox: no command could have put a program
 * into it. Borrowed from @task. */
const char *look_own_path(const struct task *task);

/* Finds the state of the exec's files, and then calls @run, which starts @exec, unless the search
 * has failed. */
void look_before(struct task_exec *exec, void (*run)(struct task_exec *exec));
/* @exec has ended: the gateway is told when the search for what it made is complete. */
void look_after(struct task_exec *exec);
