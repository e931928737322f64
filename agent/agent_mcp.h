/* agent_mcp: the Model Context Protocol (revisions 2024-11-05 to 2025-11-25, stdio transport) in
 * front of an agent: one tool that runs a command, and elicitation for its questions. To the agent
 * it is a client like any other. sallyport-mcp(1). */
#pragma once

#include <stdbool.h>

struct err;
struct loop;
struct mcp;

struct mcp_config {
	struct loop *loop;    /* kept, as all here */
	int in, out;          /* messages of the MCP client, one a line; nonblocking */
	int agent;            /* a stream socket whose other end is an agent's; nonblocking */
	const char *version;  /* of the program */
	const char *approval; /* as in configure_session; NULL: its default */
	const char *sandbox;  /* a mode; NULL: workspace-write */
	/* Questions about destinations may be answered elsewhere (the page, `sallyport approve`):
	 * where the client cannot ask anybody they wait for that. */
	bool may_wait;
};

/* Returned owned. NULL with @why. Ends by itself when either end closes, and closes the other. */
struct mcp *mcp_new(const struct mcp_config *config, struct err *why);
void mcp_free(struct mcp *mcp);
