/* policies_load: for code that reads a policy's files: what it needs before, and the statements
 * that are not rules. docs/decisions/0006 says why this is a header of its own. */
#pragma once

#include "policies/policies.h"

/* Where `configured TOOL` looks while files are read; keeps @environment until NULL is set, which
 * is how a policy begins: the statement is then an error. Its is_trusted and was_read are not used:
 * the policy asks policy_set_trust(). */
struct configured_environment;
void policy_set_environment(struct policy *policy,
			    const struct configured_environment *environment);
/* A file that said what a tool is configured to use, and where it really is; NULL behind the last.
 * Whoever may write one may widen the policy. Borrowed. */
const char *policy_configured_file(const struct policy *policy, size_t index);
/* The presets' names, in order; NULL behind the last. Static. */
const char *policy_preset_name(size_t index);
const char *policy_preset_text(const char *name); /* NULL: there is none */

/* `command` and `program` lines that count. Borrowed; NULL until policy_finish() was content. */
struct command_rules;
struct command_world;
struct command_verdict;
const struct command_rules *policy_commands(const struct policy *policy);
/* May @argv run: by those rules, else by the default. @ret: what the rules said; @ret_layer: whose
 * the rule in it is, if there is one. Borrows all; @world may be NULL. */
enum policy_action policy_decide_command(const struct policy *policy,
					 const struct command_world *world, const char *const *argv,
					 struct command_verdict *ret, enum policy_layer *ret_layer);
/* As policy_decide_command(), for a program that is about to be executed:
 * command_program_decide(). */
struct command_opened;
enum policy_action policy_decide_program(const struct policy *policy,
					 const struct command_world *world,
					 const struct command_opened *program,
					 const char *const *argv, struct command_verdict *ret);
/* Called for every file that is read, before its rules are: its absolute path ("": not known), the
 * path by which it was found (as given, or below the folder of the including file), its layer, and
 * its bytes. For code that watches files and compares them. */
typedef void (*policy_witness_fn)(const char *path, const char *asked, enum policy_layer layer,
				  const void *bytes, size_t len, void *arg);
void policy_set_witness(struct policy *policy, policy_witness_fn witness, void *arg);

/* Where the caches of the command's tools are kept; of several lines the last of these holds. */
enum policy_cache {
	POLICY_CACHE_SHARED,  /* by all sandboxes with this policy */
	POLICY_CACHE_PRIVATE, /* for the sandboxes of one working directory */
	POLICY_CACHE_NONE,
	POLICY_CACHES
};
bool policy_get_cache(const struct policy *policy, enum policy_cache *ret); /* false: no line */

/* The shortest `prompt-timeout` that counts; false: none. `write`, `hide` and the like: the
 * @index-th path as written, or NULL. */
bool policy_get_prompt_timeout(const struct policy *policy, int64_t *ret_ms);
enum policy_path {
	POLICY_PATH_WRITE,
	POLICY_PATH_HIDE,
	POLICY_PATH_READ,
	POLICY_PATH_PROTECT, /* see policies_protected.h */
	POLICY_PATH_UNPROTECT,
	POLICY_PATH_ENV,    /* no path, but the name of a variable */
	POLICY_PATH_SOCKET, /* or "$" and the name of a variable that holds it */
	POLICY_PATHS
};
const char *policy_get_path(const struct policy *policy, enum policy_path what, size_t index);
