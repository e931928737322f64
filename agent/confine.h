/* confine: what the client says of files and the network, as the value that confines. */
#pragma once

#include <jansson.h>

struct agent;
struct command_world;
struct err;
struct exec_sandbox;

/* @wanted: the member "sandbox", NULL: workspace-write. *@ret is returned owned; @ret_writable:
 * what may be written, a list, owned. 0, -EINVAL or -EPERM with @why. */
int confine_new(const struct agent *agent, const json_t *wanted, const char *cwd,
		struct exec_sandbox **ret, char ***ret_writable, struct err *why);
/* What may be written there: a list, owned. For whoever watches what commands may have changed. */
char **confine_writable(const struct exec_sandbox *sandbox);
/* {"NAME": "VALUE", "OTHER": null} as a list of NAME=VALUE and NAME, behind @before (may be NULL).
 * Returned owned; NULL with @why. */
char **confine_env(const json_t *wanted, const char *const *before, struct err *why);
/* Absolute and without "..": as given, or below @cwd. Owned; NULL with @why. */
char *confine_path(const char *cwd, const char *path, struct err *why);
/* What has to be opened for @path (absolute) to be written: nothing can be mounted on what is not
 * there, so the folder it would be in, which is then what is asked about; never the root. Owned. */
char *confine_openable(const char *path);
