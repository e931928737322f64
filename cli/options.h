/* options: reads the words after a command according to commands.def and options.def, and prints
 * the help of a command from the same tables. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum cli_command {
#define COMMAND(id, ...) CLI_##id,
#define GROUP            COMMAND
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
	CLI_COMMANDS
};

enum cli_option {
#define OPTION(id, ...) OPT_##id,
#include "cli/options.def"
#undef OPTION
	OPT_COUNT
};

/* The options and operands that were given. The words are borrowed from argv. */
struct options {
	enum cli_command command;
	struct options_given {
		enum cli_option option;
		char *value; /* NULL: none */
	} * given;           /* owned, in order */
	size_t given_count;
	char **operands; /* owned list, NULL-terminated */
	size_t operand_count;
};
/* Executes a command; returns its exit status. */
typedef int (*options_run_fn)(const struct options *options);

/* Finds the command in @argv, reads its options, and calls its entry in @functions. Returns the
 * exit status. */
int options_run(const options_run_fn functions[CLI_COMMANDS], int argc, char **argv);
/* Reads the words of @command that follow @argv[0]; stops at --help. Does not check the number of
 * operands. -EINVAL with @why. Must be freed in every case. */
int options_read(struct options *ret, enum cli_command command, int argc, char **argv,
		 struct err *why);
void options_done(struct options *options);

bool options_has(const struct options *options, enum cli_option option);
/* The last value of the option, borrowed; NULL: the option was not given, or has no value. */
char *options_get(const struct options *options, enum cli_option option);
/* Every value of the option, in order: a list, owned, of borrowed words. NULL: none. */
char **options_get_all(const struct options *options, enum cli_option option);
/* The index of the last value among the words of the option's argument; @otherwise: the option was
 * not given. */
size_t options_choice(const struct options *options, enum cli_option option, size_t otherwise);
/* As options_choice(), for @value. SIZE_MAX: it is not one of the words. */
size_t options_choice_of(enum cli_option option, const char *value);

/* Was @option given together with one of the @count @others? CLI_OK, or an exit status after that
 * and the @reason were printed. */
int options_exclude(const struct options *options, enum cli_option option,
		    const enum cli_option *others, size_t count, const char *reason);

/* Prints "sallyport COMMAND: TEXT\nTry `sallyport COMMAND --help`." on stderr; returns the exit
 * status. */
int options_wrong(enum cli_command command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
