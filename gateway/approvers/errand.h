/* errand: a program that is run once, told something, and ends soon. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/child.h"
#include "base/loop.h"
#include "gateway/gateway_tools.h"

#define ERRAND_SAID_MAX 4096
#define ERRAND_MS       10000 /* then it is killed */

struct event;

/* Embedded in its owner, who stops it before it dies. ERRAND_NONE is stopped. */
struct errand {
	struct child child;
	struct event *read_event, *write_event, *exit_event;
	char *input; /* what is not told yet begins at @told */
	size_t told;
	char said[ERRAND_SAID_MAX]; /* the beginning of what it printed */
	size_t said_len;
	struct loop_timer deadline;
	/* Set before it is run: how long at most, 0: ERRAND_MS; and @done waits for its end. */
	int64_t timeout_ms;
	bool waits_for_exit;
	bool was_late;
	int status; /* when it was waited for: of exit(); -1: none */
	int pidfd;
	loop_fn done;
	void *arg;
};

#define ERRAND_NONE ((struct errand){ .child = { 0, -1, -1, -1 }, .status = -1, .pidfd = -1 })

bool errand_is_running(const struct errand *errand);
/* Runs @argv of @program; @input goes to its standard input (copied). @done runs once, from the
 * loop, when it has closed its output or its time is over: @errand->said is what it printed by
 * then. 0, or -errno: @done never runs. */
int errand_run(struct errand *errand, struct loop *loop, const struct gateway_program *program,
	       const char *const *argv, const char *input, loop_fn done, void *arg);
void errand_stop(struct errand *errand); /* kills it; @done will not run */
