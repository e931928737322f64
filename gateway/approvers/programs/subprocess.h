/* subprocess: runs a program once, with input, for a short time. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/process/child.h"
#include "base/loop.h"
#include "gateway/gateway_tools.h"

#define SUBPROCESS_SAID_MAX 4096
#define SUBPROCESS_MS       10000 /* the program is killed after this time */

struct event;

/* Embedded in its owner, who stops it before freeing it. SUBPROCESS_NONE is stopped. */
struct subprocess {
	struct child child;
	struct event *read_event, *write_event, *exit_event;
	char *input; /* the part from @told on is not written yet */
	size_t told;
	char said[SUBPROCESS_SAID_MAX]; /* the beginning of its output */
	size_t said_len;
	struct loop *loop;
	struct loop_timer deadline;
	/* Set before the run: the longest run time, 0: SUBPROCESS_MS; and whether @done waits for
	 * the exit. */
	int64_t timeout_ms;
	bool waits_for_exit;
	bool was_late;
	int status; /* exit status if it was waited for; -1: none */
	int pidfd;
	loop_fn done;
	void *arg;
};

#define SUBPROCESS_NONE                                                                            \
	((struct subprocess){ .child = { 0, -1, -1, -1 }, .status = -1, .pidfd = -1 })

bool subprocess_is_running(const struct subprocess *subprocess);
/* Runs @argv of @program with @input (copied) on its standard input. @done runs once, from the
 * loop, when it has closed its output or timed out: @subprocess->said is the output so far. 0, or
 * -errno: @done never runs. */
int subprocess_run(struct subprocess *subprocess, struct loop *loop,
		   const struct gateway_program *program, const char *const *argv,
		   const char *input, loop_fn done, void *arg);
void subprocess_stop(struct subprocess *subprocess); /* kills it; @done will not run */
