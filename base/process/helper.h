/* helper: a process that runs a function of ours which may block. It ends when we end, unless it
 * runs alone. */
#pragma once

#include <sys/types.h>

struct err;
struct loop;

/* A plain value. */
struct helper {
	int pid;    /* 0: no process */
	int socket; /* SOCK_SEQPACKET, our end does not block; it closes when the process ends */
};

#define HELPER_NONE ((struct helper){ 0, -1 })

/* The process's end of @socket blocks. The return value is the exit status. The process has a copy
 * of our memory, standard error and no other descriptor of ours; it is in a process group of its
 * own and gets no signal that is sent to our group. It must not use our loop. */
typedef int (*helper_fn)(int socket, void *arg);

/* @name: at most 15 bytes, shown by ps(1). 0 or -errno with @why. */
int helper_start(const char *name, helper_fn run, void *arg, struct helper *ret, struct err *why);
/* Kills it and closes the socket without waiting: @loop reaps the process. *@helper is
 * HELPER_NONE. */
void helper_end(struct loop *loop, struct helper *helper);
/* A process that does not end when we end, but after @limit_s seconds: in a session of its own,
 * without a socket and without standard error. Its number, which loop_reap_child() takes, or
 * -errno. */
pid_t helper_start_alone(const char *name, unsigned int limit_s, helper_fn run, void *arg);
