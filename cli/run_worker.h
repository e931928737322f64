/* run_worker: starts the proxy worker of a run. */
#pragma once

#include <sys/types.h>

#include "proxy/proxy.h"

struct err;

/* Forks the worker; call before there is an event loop or anything worth hiding. @config and all it
 * points to is copied by the fork. Returns the link's socket, owned, and the pid, to be waited for.
 */
int run_worker_start(const struct proxy_config *config, pid_t *ret_pid, int *ret_socket,
		     struct err *why);
