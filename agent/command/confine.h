/* confine: turns what the client wants for files and the network into a struct exec_sandbox. */
#pragma once

#include <jansson.h>

struct agent;
struct command_world;
struct err;
struct exec_sandbox;

/* @wanted: the member "sandbox"; NULL: workspace-write. *@ret is returned owned. Looks at no file.
 * 0, -EINVAL or -EPERM with @why. */
int confine_new(const struct agent *agent, const json_t *wanted, const char *cwd,
		struct exec_sandbox **ret, struct err *why);
/* The paths that may be written in @sandbox: a list, owned. They are searched for changes. */
char **confine_writable(const struct exec_sandbox *sandbox);
/* Turns {"NAME": "VALUE", "OTHER": null} into a list of NAME=VALUE and NAME, after the entries of
 * @before (may be NULL). Returned owned; NULL with @why. */
char **confine_env(const json_t *wanted, const char *const *before, struct err *why);
/* An absolute path without "..": as given, or below @cwd. Owned; NULL with @why. */
char *confine_path(const char *cwd, const char *path, struct err *why);
/* The path that must be opened so that @path (absolute) can be written. A path that does not exist
 * cannot be a mount point, so then it is its folder, and the question is about that folder; never
 * the root. Owned. */
char *confine_openable(const char *path);
