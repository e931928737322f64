/* aside: runs a function that may block in a helper process (base/process/helper.h). Its result
 * reaches the loop complete and before a deadline, or not at all. docs/decisions/0037. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct aside;
struct err;
struct loop;

/* Runs in the helper process, with a copy of our memory, and writes its result to @out, a memory
 * stream. It must not use our loop. */
typedef void (*aside_run_fn)(FILE *out, void *arg);
/* Runs once, from the loop; may free the aside. @result: 0, with @len bytes, borrowed and
 * NUL-terminated; -ETIMEDOUT: it was late and has been killed; -EPIPE: it died; -E2BIG. */
typedef void (*aside_done_fn)(int result, const char *bytes, size_t len, void *arg);

struct aside_config {
	const char *name; /* at most 15 bytes, shown by ps(1) */
	aside_run_fn run;
	void *run_arg; /* read when the process starts, with everything it points to */
	/* NULL, or where @run leaves a descriptor that is sent with its result, or -1. */
	const int *run_fd;
	int64_t limit_ms;
	size_t max_bytes;
	aside_done_fn done;
	void *arg;
};

/* Returned owned, also when no process can be started: then @done gets -EPIPE. */
struct aside *aside_start(struct loop *loop, const struct aside_config *config);
/* For @done: the descriptor that was sent with the result, returned owned; -1: none. */
int aside_take_fd(struct aside *aside);
/* @done will not run. A running process is killed, and reaped by the loop. NULL is fine. */
void aside_free(struct aside *aside);
/* Describes a @result for people. */
const char *aside_words(int result);
