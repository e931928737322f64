/* ask_tool: runs a tool for a moment, to hear from itself what it is configured to use; for struct
 * configured_environment. */
#pragma once

struct err;

/* @arg of ask_tool(). */
struct ask_tool {
	const char *cwd; /* of the command: nothing within it is run; borrowed */
};

/* As configured_environment.ask. Blocks for at most CONFIGURED_ASK_MS: for the time before a loop
 * runs. The tool gets "/" as its folder, no input, and a PATH without what is relative or within
 * @arg's cwd. -ENOENT: not installed; -ETIMEDOUT; -EIO: it failed; -E2BIG: it said too much. */
int ask_tool(const char *const *argv, char **ret_output, void *arg, struct err *why);
