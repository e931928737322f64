/* run_commands: applies the policy's rules for commands to the command itself. */
#pragma once

#include <stdbool.h>

struct command_file;
struct err;
struct policy;
struct run_options;
struct run_places;

/* May the command run, by the policy's rules for commands? Returns an exit status and prints why
 * not. *@ret is the file that the verdict is about; its path is "" if there are no such rules. */
int run_commands_check(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, struct command_file *ret);
/* The same for a command @argv that is added to the run. @is_typed: as a terminal on standard input
 * counts. 0, or an exit status with @why. */
int run_commands_judge(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, const char *const *argv, bool is_typed,
		       struct command_file *ret, struct err *why);
/* The PATH that the command will have; borrowed, may be NULL. */
const char *run_commands_path(const struct run_options *options);
