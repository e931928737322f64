/* policy_layers: the policy of `run` and of `policy explain`, from all files of all layers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

#define POLICY_LAYERS_MANAGED "/etc/sallyport/policy.d"

struct policy_layers {
	const char *managed;    /* a folder; NULL: POLICY_LAYERS_MANAGED */
	const char *user;       /* a file, which may be missing; NULL: none */
	const char *cwd;        /* absolute: the search for project files begins here; NULL: none */
	char *const *projects;  /* only these files, if they exist; NULL: search from @cwd */
	const char *state;      /* the folder with the list of trusted files, or NULL */
	char *const *arguments; /* every --policy, NULL-terminated, or NULL */
	const char *extra;      /* the text of another one, or NULL; messages say @extra_name */
	const char *extra_name;
	int64_t start; /* the time that `for` counts from, in seconds since 1970; 0: now */
};

/* Loads them all, and sets the policy's time to now. False: policy_errors() says what is wrong. */
bool policy_layers_load(struct policy *policy, const struct policy_layers *layers);
/* The paths of all these files, also of missing ones, and of the list of trusted files: absolute
 * unless @layers is not. Projects as @layers lists them; included files are not known here. A list,
 * returned owned. */
char **policy_layers_places(const struct policy_layers *layers);
/* The project's files for @cwd: .sallyport/policy in @cwd and in every folder above it, up to the
 * one that contains .git. A list, returned owned, NULL-terminated. */
char **policy_layers_projects(const char *cwd);
