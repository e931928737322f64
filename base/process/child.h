/* child: a helper program in a process group of its own, which ends when we end. */
#pragma once

#include <sys/types.h>

struct err;
struct loop;

/* A plain value. */
struct child {
	pid_t pid;  /* 0: no process */
	int input;  /* a socket, so that a closed peer is an error of send() and not a signal */
	int output; /* a pipe, like @errors */
	int errors;
};

#define CHILD_NONE ((struct child){ 0, -1, -1, -1 })

/* Starts @program (an absolute path) in "/" with no open descriptors but these three; our ends do
 * not block. The kernel kills it when the calling thread ends. 0 or -errno; a program that cannot
 * be executed exits with 127. The owner ends it. */
int child_start(const char *program, const char *const *argv, const char *const *environment,
		struct child *ret, struct err *why);
/* The path of this program, to start it again: a PATH may lead elsewhere. Returned owned; NULL with
 * errno: unknown. */
char *child_own_path(void);
/* The child reads end of file. */
void child_close_input(struct child *child);
/* Kills the group and closes the descriptors: *@child is CHILD_NONE. @loop reaps the child. */
void child_end(struct loop *loop, struct child *child);
