/* roots: sessions where only the paths that the options and the policy name can be read. */
#pragma once

struct agent;
struct err;
struct exec_sandbox;
struct exec_sandbox_config;

/* As exec_sandbox_new() for @wanted, but only those paths, or of them only @readable, the working
 * directory @cwd and the writable paths can be seen. @readable: the client's own restriction, for
 * read-only and workspace-write; NULL: none. Without a restriction on reading, exactly as wanted.
 * 0; -EINVAL, as exec_sandbox_new(); or -EPERM with @why: it wants more. */
int roots_confine(const struct agent *agent, const char *cwd,
		  const struct exec_sandbox_config *wanted, const char *const *readable,
		  struct exec_sandbox **ret, struct err *why);
/* The system files that programs need, as far as they exist: owned. */
char **roots_platform(void);
