/* policies_load: for code that loads policy files: the environment of `configured`, and the
 * statements that are not rules. docs/decisions/0006 gives the reason for a separate header. */
#pragma once

#include "policies/policies.h"

/* The environment in which `configured TOOL` searches while files are read. Keeps @environment
 * until it is set to NULL, the initial value, with which the statement is an error. Its
 * is_trusted and was_read are not used; policy_set_trust() replaces them. */
struct configured_environment;
void policy_set_environment(struct policy *policy,
			    const struct configured_environment *environment);
/* The real path of the @index-th tool configuration that was used; NULL behind the last. A
 * process that can write such a file can widen the policy. Borrowed. */
const char *policy_configured_file(const struct policy *policy, size_t index);
/* The name of the @index-th preset; NULL behind the last. Static. */
const char *policy_preset_name(size_t index);
const char *policy_preset_text(const char *name); /* NULL: unknown name */

/* The `command` and `program` lines that are in force. Borrowed; NULL until policy_finish() has
 * succeeded. */
struct command_rules;
struct command_world;
struct command_verdict;
const struct command_rules *policy_commands(const struct policy *policy);
/* Decides whether @argv may run: by those rules, otherwise by the default. @ret: the verdict of
 * the rules; @ret_layer: the layer of the rule in it, if there is one. Borrows all; @world may
 * be NULL. */
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
/* Called for every file before its rules are read: its absolute path ("": not known), the path
 * by which it was found (as given, or below the folder of the including file), its layer, and
 * its bytes. For code that watches and compares files. */
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

/* policy_get_prompt_timeout(): the shortest `prompt-timeout` in force; false: none. The others:
 * the @index-th path of the `write`, `hide` ... lines, as written; NULL behind the last. */
bool policy_get_prompt_timeout(const struct policy *policy, int64_t *ret_ms);
enum policy_path {
	POLICY_PATH_WRITE,
	POLICY_PATH_HIDE,
	POLICY_PATH_READ,
	POLICY_PATH_PROTECT, /* see policies_protected.h */
	POLICY_PATH_UNPROTECT,
	POLICY_PATH_ENV,    /* the name of a variable */
	POLICY_PATH_SOCKET, /* or "$" and the name of a variable with the path */
	POLICY_PATHS
};
const char *policy_get_path(const struct policy *policy, enum policy_path what, size_t index);
