/* cli: the function of each command in commands.def, the exit codes, and what the commands share.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct options;

/* The exit codes of this program; the exit code of a command that it runs is passed on. */
enum cli_exit {
	CLI_OK = 0,
	CLI_DENIED = 1,
	CLI_ASK = 2,
	CLI_USAGE = 2,
	CLI_ERROR = 3,
	CLI_UNSIGNED = 4, /* a log is unbroken, and not all of it is signed */
	CLI_NO_SANDBOX = 125,
	CLI_REFUSED = 126, /* the policy refuses the command itself */
	CLI_NOT_FOUND = 127
};

/* The functions of the commands. Each returns the exit status. */
#define COMMAND(id, words, function, ...) int function(const struct options *options);
#define GROUP(...)
#include "cli/commands.def"
#undef COMMAND
#undef GROUP

/* The names of this user's sessions, the ids of the gates that run, and those of the questions that
 * are waiting: lists, returned owned; NULL: none. They serve completion, so an error counts as
 * none. */
char **cli_session_names(void);
char **cli_run_ids(void);
char **cli_approve_ids(void);

/* Prints "sallyport: TEXT" on stderr; returns @status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, after getcwd() failed: what is wrong with the working directory, and what to do. */
int cli_fail_cwd(int status);

/* Is @stream a terminal, without NO_COLOR and without TERM=dumb? */
bool cli_may_colour(FILE *stream);

/* $XDG_STATE_HOME/sallyport (or ~/.local/state/sallyport), $XDG_CONFIG_HOME/sallyport (or
 * ~/.config/sallyport). Returned owned; NULL: there is no home directory. */
char *cli_state_dir(void);
char *cli_config_dir(void);
/* The folder where runs keep records that are not in the audit log yet; it is not created here.
 * Returned owned; NULL: there is no state folder. */
char *cli_audit_dir(void);
/* As mkdir -p with mode 0700, for our own state. 0 or -errno. */
int cli_make_dirs(const char *path);
/* Removes a folder of our own and its files; ignores errors. */
void cli_remove_dir(const char *path);
