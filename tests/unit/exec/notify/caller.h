/* caller: a child whose system calls of one number are reported, and wait for their answer. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct caller {
	pid_t pid;
	int listener;     /* owned by the test */
	uint64_t request; /* the one that was received last */
};

/* The child makes @call, which has no arguments, or, with @run, ends with the status that it
 * returns. */
void caller_start(struct caller *caller, int call, int (*run)(void *arg), void *arg);
/* Waits for the next call. */
void caller_receive(struct caller *caller);
void caller_kill(struct caller *caller);
