/* cli: one function per subcommand, one line each in main.c's table; options, usage and exit codes.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Exit codes of our own; a command's own code is passed on. */
enum cli_exit {
	CLI_OK = 0,
	CLI_DENIED = 1,
	CLI_ASK = 2,
	CLI_USAGE = 2,
	CLI_ERROR = 3,
	CLI_NO_SANDBOX = 125,
	CLI_REFUSED = 126, /* the policy refuses the command itself */
	CLI_NOT_FOUND = 127
};

/* @argv[0] is the subcommand's name. Each returns the exit status. */
int cli_run(int argc, char **argv);
int cli_policy(int argc, char **argv);
/* Steps of `policy`, called by its table. */
int cli_policy_check(int argc, char **argv);
int cli_policy_diff(int argc, char **argv);
int cli_policy_fmt(int argc, char **argv);
int cli_policy_import(int argc, char **argv);
int cli_policy_export(int argc, char **argv);
int cli_policy_test(int argc, char **argv);
int cli_approve(int argc, char **argv);
int cli_approve_bundle(int argc, char **argv); /* a step of `approve` */
int cli_agent(int argc, char **argv);
int cli_mcp(int argc, char **argv);
int cli_audit(int argc, char **argv);
int cli_session(int argc, char **argv);

/* "sallyport SUBCOMMAND: TEXT\nTry `sallyport SUBCOMMAND --help`." on stderr; returns CLI_USAGE…
 * the caller's @status. */
int cli_usage_error(const char *subcommand, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "sallyport: TEXT" on stderr; returns @status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Colour only on a terminal, and not with NO_COLOR or TERM=dumb. */
bool cli_may_colour(FILE *stream);

/* $XDG_STATE_HOME/sallyport (or ~/.local/state/sallyport), $XDG_CONFIG_HOME/sallyport (or
 * ~/.config/sallyport). Returned owned; NULL: no home. */
char *cli_state_dir(void);
char *cli_config_dir(void);
/* mkdir -p, 0700, for our own state. 0 or -errno. */
/* Where runs keep what is not in the audit log yet; not made. Returned owned; NULL: nowhere. */
char *cli_audit_dir(void);
int cli_make_dirs(const char *path);
/* A folder of our own with its files, as far as that goes. */
void cli_remove_dir(const char *path);
