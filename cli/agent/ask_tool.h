/* ask_tool: runs a tool briefly to read its effective configuration from its output; for struct
 * configured_environment. */
#pragma once

struct err;
struct reach;

/* @arg of ask_tool(). Borrowed. */
struct ask_tool {
	const char *cwd;           /* working folder of the command: no program in it is run */
	const struct reach *reach; /* nor one that a command could write; NULL: none is run */
};

/* As configured_environment.ask. Blocks for at most CONFIGURED_ASK_MS, so call it before a loop
 * runs. The tool gets "/" as its working folder, no input, and a PATH without relative entries and
 * without folders in @arg's cwd and reach. -ENOENT: not installed there; -ETIMEDOUT; -EIO: it
 * failed; -E2BIG: its output is too long. */
int ask_tool(const char *const *argv, char **ret_output, void *arg, struct err *why);
