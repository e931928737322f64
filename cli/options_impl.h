/* options: the rows of commands.def and options.def. To add a subcommand or an option, edit those
 * files. Private to options*.c and complete.c. */
#pragma once

#include "cli/options.h"

enum { STOPS = 1, HAS_COMMAND = 2, ONCE = 4, HIDDEN = 8 };

extern const struct options_command {
	const char *words;
	int status;
	unsigned int how;
	const char *operands, *page, *about, *text, *notes;
} options_commands[CLI_COMMANDS];

extern const struct options_option {
	const char *name;
	char letter;
	const char *argument;
	uint64_t commands;
	const char *help;
} options_options[OPT_COUNT];

#define OPTIONS_NAME_MAX 32

bool options_takes(enum cli_command command, enum cli_option option);
/* The option of @command that @word names: "--name", or a prefix that only one name begins with;
 * OPT_COUNT: none. */
enum cli_option options_named(enum cli_command command, const char *word);
/* Does an option take an argument: never, optionally, or always? */
enum options_argument { OPTIONS_NONE, OPTIONS_OPTIONAL, OPTIONS_REQUIRED };
enum options_argument options_argument(enum cli_option option);
bool options_is_repeatable(enum cli_option option);

/* The command that the first words of @argv name, after the program's name, and the number of those
 * words. */
enum cli_command options_find(int argc, char **argv, int *ret_words);
/* The last word of @child, if it is a subcommand of @parent; otherwise NULL. */
const char *options_step(enum cli_command parent, enum cli_command child);
/* The name of the operand that follows @before others; "": there is none. */
void options_operand(enum cli_command command, size_t before, char out[OPTIONS_NAME_MAX]);

void options_help(enum cli_command command, FILE *stream);
