/* agent: the pieces of `sallyport agent`: what was asked for, who connects, and what the protocol's
 * server is given by this program. */
#pragma once

#include <stdbool.h>

#include "cli/run_impl.h"

struct agent_host;
struct gate;

/* Who speaks with the agent in the same process, from when it serves until it has ended. */
struct agent_front {
	int (*open)(const struct gate *gate, void *arg); /* an exit status */
	void (*close)(void *arg);
	void *arg;
};

struct agent_options {
	struct run_options run; /* the gate's; its strings point into argv and @words */
	char **words;           /* owned list of borrowed text */
	const char *socket;     /* NULL: stdin and stdout */
	bool may_unconfine;
	const char *approval, *sandbox; /* of `sallyport mcp` */
};
/* As run_options_parse(), for `agent` and `mcp`. */
int agent_options_parse(struct agent_options *options, int argc, char **argv);
/* Descriptors of our own for stdin and stdout, nonblocking: *@ret_in, *@ret_out, to be closed when
 * they are not 0 and 1. An exit status. */
int agent_own_ends(int *ret_in, int *ret_out);
void agent_options_free(struct agent_options *options);

/* Serves one client on @in and @out until it has gone. @hidden: a folder that no command sees;
 * NULL: none, as for @front. An exit status. */
int agent_serve(struct agent_options *options, int in, int out, const char *hidden,
		const struct agent_front *front);

/* Accepts at options->socket, and serves each client in a process of its own, until a signal ends
 * it. An exit status. */
int agent_listen(struct agent_options *options);

/* What struct agent_host asks for, with a struct gate * as its argument; on_end is not there. */
extern const struct agent_host agent_host_of_gate;
