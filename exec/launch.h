/* launch: clones sallyport-init into fresh namespaces. */
#pragma once

#include <sys/types.h>

struct err;

struct launch {
	int pidfd;   /* readable when the whole sandbox is gone */
	int control; /* messages of wire.h; blocking is the caller's to change */
	pid_t pid;
};

/* Borrows @plan_fd (a sealed memfd, see wire.h) and @stdio, three descriptors for its 0–2 (NULL:
 * ours). @ret's descriptors are returned owned. Call it from the process's only thread: init dies
 * with the thread that made it. -errno with words that say what was refused and what to do. */
int launch_init(int plan_fd, const int *stdio, struct launch *ret, struct err *why);
