/* policy_layers: the policy of `run` and of `policy explain`: every file of every layer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

struct err;

#define POLICY_LAYERS_MANAGED "/etc/sallyport/policy.d"

struct policy_layers {
	const char *managed; /* a folder; NULL: POLICY_LAYERS_MANAGED */
	const char *user;    /* a file that may be missing; NULL: none */
	const char *cwd; /* absolute: from where the project's file is looked for; NULL: nowhere */
	char *const *projects;  /* these and no others, as far as they are there; NULL: by @cwd */
	const char *state;      /* the folder that says which files are trusted, or NULL */
	char *const *arguments; /* every --policy, NULL-terminated, or NULL */
	int64_t start;          /* from when `for` counts, seconds since 1970; 0: from now */
};

/* Loads them all; the time is set to now. False: policy_errors() says what is wrong. */
bool policy_layers_load(struct policy *policy, const struct policy_layers *layers);
/* Where all of them are, or would be if they were there, and what says which are trusted: absolute
 * unless @layers is not. Projects as @layers lists them; what files include is not known here. A
 * list, returned owned. */
char **policy_layers_places(const struct policy_layers *layers);
/* The project's files for @cwd: .sallyport/policy there, and in every folder above up to the one
 * that holds .git. A list, returned owned, NULL-terminated. */
char **policy_layers_projects(const char *cwd);
/* Notes down that the bytes in @path, as they are, are trusted. */
int policy_layers_trust(const char *state, const char *path, struct err *why);
