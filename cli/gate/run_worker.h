/* run_worker: starts the proxy worker of a run. */
#pragma once

#include <sys/types.h>

#include "proxy/proxy.h"

struct err;

/* Forks the worker. Call it before there is an event loop or any secret in memory. The fork copies
 * @config and all that it points to. Returns the link's socket, owned, and the pid, which must be
 * waited for. */
int run_worker_start(const struct proxy_config *config, pid_t *ret_pid, int *ret_socket,
		     struct err *why);
