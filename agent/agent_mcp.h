/* agent_mcp: a server for the Model Context Protocol (revisions 2024-11-05 to 2025-11-25, stdio
 * transport) in front of an agent: it has one tool, which runs a command, and uses elicitation for
 * its questions. To the agent it is an ordinary client. sallyport-mcp(1). */
#pragma once

#include <stdbool.h>

struct err;
struct loop;
struct mcp;

struct mcp_config {
	struct loop *loop;    /* kept, as all members */
	int in, out;          /* messages of the MCP client, one per line; nonblocking */
	int agent;            /* a stream socket whose other end is an agent's; nonblocking */
	const char *version;  /* of the program */
	const char *approval; /* as in configure_session; NULL: its default */
	const char *sandbox;  /* a mode; NULL: workspace-write */
	/* Questions about destinations may be answered in another place (the page, `sallyport
	 * approve`): if the client cannot ask a person, they wait for that. */
	bool may_wait;
	bool may_wait_for_all; /* the same for all other questions */
	/* The folder of the session until the client lists roots. */
	const char *cwd;
	/* May the client's root @path be the folder of the session, or one that it can write? The
	 * real path, owned; NULL with @why. It may block, and runs in another process. NULL: roots
	 * are not asked for. */
	char *(*check_root)(const char *path, struct err *why, const void *arg);
	const void *arg;
};

/* Returned owned. NULL with @why. Ends when either end closes, and closes the other. */
struct mcp *mcp_new(const struct mcp_config *config, struct err *why);
void mcp_free(struct mcp *mcp);
