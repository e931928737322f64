/* child: a helper program beside us, in a process group of its own, that ends when we do. */
#pragma once

#include <sys/types.h>

struct err;

/* A plain value. */
struct child {
	pid_t pid;  /* 0: none */
	int input;  /* a socket, so that its end is an error of send() and no signal */
	int output; /* a pipe, as @errors */
	int errors;
};

#define CHILD_NONE ((struct child){ 0, -1, -1, -1 })

/* Starts @program (absolute) with "/" as its folder and nothing open but the three, of which our
 * ends do not block. Killed by the kernel when the calling thread ends. 0 or -errno; what cannot be
 * executed exits with 127. The owner ends it. */
int child_start(const char *program, const char *const *argv, const char *const *environment,
		struct child *ret, struct err *why);
/* It reads to the end, and no more. */
void child_close_input(struct child *child);
/* Kills the group, waits for the child itself and closes: *@child is CHILD_NONE. */
void child_end(struct child *child);
