/* agent: the pieces of `sallyport agent`: what was asked for, who connects, and what the protocol's
 * server is given by this program. */
#pragma once

#include <stdbool.h>

#include "cli/run_impl.h"

struct agent_host;
struct gate;

struct agent_options {
	struct run_options run; /* the gate's; its strings point into argv and @words */
	char **words;           /* owned list of borrowed text */
	const char *socket;     /* NULL: stdin and stdout */
	bool may_unconfine;
};
/* As run_options_parse(). */
int agent_options_parse(struct agent_options *options, int argc, char **argv);
void agent_options_free(struct agent_options *options);

/* Serves one client on @in and @out until it has gone. @hidden: a folder that no command sees;
 * NULL: none. An exit status. */
int agent_serve(struct agent_options *options, int in, int out, const char *hidden);

/* Accepts at options->socket, and serves each client in a process of its own, until a signal ends
 * it. An exit status. */
int agent_listen(struct agent_options *options);

/* What struct agent_host asks for, with a struct gate * as its argument; on_end is not there. */
extern const struct agent_host agent_host_of_gate;
