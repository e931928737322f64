/* run_policy: the policy of a run, and its lines about paths. */
#pragma once

#include "policies/policies_load.h"

struct err;
struct policy;
struct run_loaded;
struct run_options;
struct run_places;
struct run_sources;

/* Reads the policy of all layers; both results are returned owned in every case, also with errors.
 * Fills those @options that were not given from the policy. An exit status; it is not CLI_OK either
 * if a line cannot be enforced. */
int run_policy_load(struct run_options *options, const struct run_places *places,
		    struct run_sources *ret_sources, struct run_loaded *ret_loaded);
/* Notes that commands may write to @writable from now on, and which files of @loaded are used for
 * the first time: call it before one begins. 0 or -errno with @why. */
int run_policy_note_reach(const struct run_options *options, const struct run_places *places,
			  const struct run_loaded *loaded, char *const *writable, struct err *why);
/* Why @policy, which has no errors, cannot be enforced if the command may write to @writable:
 * returned owned. NULL: it can. */
char *run_policy_objection(const struct policy *policy, char *const *writable);
/* @given (may be NULL), then the paths of the policy's lines, absolute: returned owned. An exit
 * status. */
int run_policy_paths(const struct policy *policy, const struct run_places *places,
		     enum policy_path what, char *const *given, char ***ret_paths);
