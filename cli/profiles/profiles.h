/* profiles: what a coding agent needs to run in the sandbox: hosts, folders, variables, as data.
 *
 * To add a profile: cli/profiles/NAME.def, with lines as in cli/profiles/claude.def; its list and
 * its line in cli/profiles/table.c; its section in docs/man/sallyport-agents.7; its case in
 * tests/cli/profiles.py. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

struct profile;
struct run_options;

/* NULL: there is none. */
const struct profile *profiles_find(const char *name);
const struct profile *profiles_at(size_t index); /* NULL behind the last */
const char *profiles_name(const struct profile *profile);
const char *profiles_title(const struct profile *profile); /* "Claude Code" */
/* The command that starts the agent. */
const char *profiles_program(const struct profile *profile);

/* Its rules, as the text of a policy. Returned owned. */
char *profiles_policy(const struct profile *profile);
/* The configuration of hooks and of the Model Context Protocol, on stdout. */
void profiles_print_setup(const struct profile *profile);
/* The @index-th file of that: its path (in the home with "~/", or in the project) and the lines,
 * which are a JSON object if its name says so. Static. False: there is none. */
bool profiles_config(const struct profile *profile, size_t index, const char **ret_path,
		     const char **ret_text);

/* Prints that there is no profile @given, and which there are; returns the exit status. */
int profiles_unknown(enum cli_command command, const char *given);
/* --profile: finds it, and applies its folders, variables and words to @options, as if they had
 * been given; says what it does on stderr, and creates missing folders unless @options is a dry
 * run. An exit status; prints what is wrong. */
int profiles_take(struct run_options *options, const struct options *given);
