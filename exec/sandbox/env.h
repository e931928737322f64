/* env: the command's environment: the host's without the variables that lead out, and with
 * variables that point to the gate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum env_kind {
	ENV_GATE,         /* removes what leads out, and injects what points to the gate */
	ENV_HOST_NETWORK, /* keeps the host's proxies, which can be reached */
	ENV_UNCONFINED    /* keeps the host's environment, except our own variables */
};

/* Returned owned, NULL-terminated. @host: our "NAME=VALUE"s; @set: as exec_plan_config.env_set, may
 * be NULL; @tmpdir: a directory of the host, or NULL for /tmp. Later ones override earlier ones:
 * the host's, the injected ones, @set. */
char **env_build(const char *const *host, const char *const *set, enum env_kind kind,
		 const char *tmpdir);

/* Takes @env, from env_build(), and returns it with @asked, which is like @set but comes from a
 * party that may not change the connection to the gate: variables that point to the gate stay (if
 * they hold other options as well, the given value is put first), and our own variables, too. */
char **env_add(char **env, const char *const *host, const char *const *asked, enum env_kind kind);
bool env_has(char *const *env, const char *name);

/* Takes @env, NULL-terminated, and returns it with @value appended to variable @name, or as its
 * value. */
char **env_append(char **env, const char *name, const char *value);

/* The same, but replaces the value. */
char **env_set(char **env, const char *name, const char *value);

/* The injected variable @index as "NAME=VALUE" without a value of the host, returned owned; NULL:
 * past the last. */
char *env_injected(size_t index, enum env_kind kind, const char *tmpdir);
