/* roots: sessions where only the paths that the options and the policy name can be read. */
#pragma once

struct agent;
struct err;
struct exec_sandbox;
struct exec_sandbox_config;

/* As exec_sandbox_new() for @wanted, but only those paths, the working directory @cwd and the
 * writable paths can be seen. Without a restriction on reading, exactly as wanted. 0; -EINVAL, as
 * exec_sandbox_new(); or -EPERM with @why: it wants more. */
int roots_confine(const struct agent *agent, const char *cwd,
		  const struct exec_sandbox_config *wanted, struct exec_sandbox **ret,
		  struct err *why);
