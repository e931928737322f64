/* launch: clones sallyport-init into fresh namespaces. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct launch {
	int pidfd;   /* readable when the whole sandbox is gone */
	int control; /* messages of wire.h; blocking is the caller's to change */
	pid_t pid;
	bool has_egress; /* it will hand out what exec_start() promises */
	bool is_alone;   /* nothing but init knows what belongs to it: ask it to end, do not kill it
			  */
};

/* Borrows @plan_fd (a sealed memfd, see wire.h) with @flags (enum wire_flag), and @stdio, three
 * descriptors for its 0–2 (NULL: ours). @ret's descriptors are returned owned. Call it from the
 * process's only thread: init dies with the thread that made it. -errno with words that say what
 * was refused and what to do. */
int launch_init(int plan_fd, uint32_t flags, const int *stdio, struct launch *ret, struct err *why);
