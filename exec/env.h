/* env: the command's environment: the host's without what leads out, and the variables that point
 * to the gate. */
#pragma once

#include <stddef.h>

enum env_kind {
	ENV_GATE,         /* what leads out is taken away, what points to the gate is injected */
	ENV_HOST_NETWORK, /* the host's proxies stay, since they can be reached */
	ENV_UNCONFINED    /* the host's as it is, but for our own */
};

/* Returned owned, NULL-terminated. @host: "NAME=VALUE"s of ours; @set: as exec_plan_config.env_set,
 * may be NULL; @tmpdir: a directory of the host's, or NULL for /tmp. Later beats earlier: the
 * host's, what is injected, @set. */
char **env_build(const char *const *host, const char *const *set, enum env_kind kind,
		 const char *tmpdir);

/* Takes @env, of env_build(), and returns it with @asked, as @set but of somebody who decides
 * nothing about the way out: what points to the gate stays, with what they say in front of it where
 * a variable holds more than that, and so does what is ours. */
char **env_add(char **env, const char *const *host, const char *const *asked, enum env_kind kind);

/* Takes @env, NULL-terminated, and returns it with @value behind what variable @name holds, or as
 * its value. */
char **env_append(char **env, const char *name, const char *value);

/* The same, in place of what it holds. */
char **env_set(char **env, const char *name, const char *value);

/* What is injected: "NAME=VALUE" of variable @index as it is without a value on the host, returned
 * owned; NULL: past the last. */
char *env_injected(size_t index, enum env_kind kind, const char *tmpdir);
