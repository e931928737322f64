/* run_worker: starts proxy workers, one after the other. A process forked early, the starter, forks
 * each of them, so that all begin with the same memory and the same descriptors
 * (docs/decisions/0001). */
#pragma once

#include <sys/types.h>

#include "proxy/proxy.h"

struct err;

struct run_worker {
	pid_t starter, pid; /* both are children of this process; 0: there is none */
	int socket;         /* to the starter; -1: there is none */
};

/* Forks the starter. Call it before there is any secret in memory. The fork copies @config and all
 * that it points to, and the starter keeps the listeners. */
int run_worker_prepare(const struct proxy_config *config, struct run_worker *ret, struct err *why);
/* Starts a worker, when none runs. Returns the link's socket, owned. */
int run_worker_start(struct run_worker *worker, int *ret_link, struct err *why);
/* Kills the worker, if it still runs, and returns its status, as of waitpid(2). */
int run_worker_end(struct run_worker *worker);
/* Ends the starter: no worker follows, and nobody but the worker has the listeners. */
void run_worker_end_starter(struct run_worker *worker);
/* Kills both; run_worker_done() waits for them. */
void run_worker_kill(const struct run_worker *worker);
void run_worker_done(struct run_worker *worker);
