/* roots: sessions where reading is restricted to what the options and the policy name. */
#pragma once

struct agent;
struct err;
struct exec_sandbox;
struct exec_sandbox_config;

/* exec_sandbox_new() of what a client wants, @wanted, with nothing to be seen but those, the
 * working directory @cwd and what may be written; as it is where nobody restricts reading. 0;
 * -EINVAL, as that, or -EPERM with @why: it wants more. */
int roots_confine(const struct agent *agent, const char *cwd,
		  const struct exec_sandbox_config *wanted, struct exec_sandbox **ret,
		  struct err *why);
