/* agent_acp: a program that speaks the Agent Client Protocol (version 1, stdio transport), run in
 * the sandbox of a session: its editor sits on one side, and its messages pass here. To the agent's
 * server this is an ordinary client. sallyport-acp(1). */
#pragma once

#include <stdbool.h>

struct acp;
struct err;
struct loop;

struct acp_config {
	struct loop *loop;          /* kept, as all members */
	int in, out;                /* messages of the editor, one per line; nonblocking */
	int errors;                 /* what the program writes to stderr; nonblocking */
	int agent;                  /* a stream socket whose other end is an agent's server's */
	int pipe[2];                /* a pair of stream sockets; all of these are nonblocking */
	const char *const *command; /* of the program */
	const char *approval;       /* as in configure_session; NULL: its default */
	const char *sandbox;        /* a mode; NULL: workspace-write */
};

/* Returned owned. NULL with @why. Ends when the editor, the program or the server ends, and closes
 * the others. */
struct acp *acp_new(const struct acp_config *config, struct err *why);
/* The exit status of the program; 0 if the editor ended it. */
int acp_status(const struct acp *acp);
void acp_free(struct acp *acp);
