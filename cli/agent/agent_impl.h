/* agent: the parts of `sallyport agent`: the options, the listener for clients, and what this
 * program provides to the protocol server. */
#pragma once

#include <stdbool.h>

#include "cli/run/run_options.h"

struct agent_host;
struct gate;

/* A client of the agent in the same process: opened before the agent serves, closed after it has
 * ended. */
struct agent_front {
	int (*open)(const struct gate *gate, void *arg); /* returns an exit status */
	void (*close)(void *arg);
	/* The exit status, unless the gate has failed; NULL: it is 0. */
	int (*status)(const void *arg);
	void *arg;
};

struct agent_options {
	struct run_options run; /* the options of the gate */
	const char *socket;     /* NULL: stdin and stdout */
	bool may_unconfine;
	const char *approval, *sandbox; /* of `mcp` and `acp` */
};
/* As run_options_take(), for `agent`, `mcp` and `acp`. */
int agent_options_take(struct agent_options *options, const struct options *given);
/* Rejects options that no session could be made with at start-up, while a person can read the
 * error.
 */
int agent_options_check(const struct agent_options *options, enum cli_command command);
/* Opens a nonblocking descriptor of our own for @fd, which is returned; *@ret_owned, if it is not
 * -1 then, must be closed. -errno. */
int agent_own_end(int fd, int flags, int *ret_owned);
/* Opens nonblocking descriptors of our own for stdin and stdout: *@ret_in, *@ret_out; they must be
 * closed unless they are 0 and 1. An exit status. */
int agent_own_ends(int *ret_in, int *ret_out);

/* Serves one client on @in and @out until it disconnects. @hidden: a folder that no command can
 * see; NULL: none. @front: NULL: none. An exit status. */
int agent_serve(struct agent_options *options, int in, int out, const char *hidden,
		const struct agent_front *front);

/* Accepts clients at options->socket and serves each in a process of its own, until a signal ends
 * it. An exit status. */
int agent_listen(struct agent_options *options);

/* Implements struct agent_host for a struct gate * as its argument; on_end is left out. */
extern const struct agent_host agent_host_of_gate;
