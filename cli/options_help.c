#include <string.h>

#include "base/mem.h"
#include "cli/options_impl.h"

#define LINE_MAX    96
#define LABEL_LEAST 8
#define LABEL_MOST  25 /* a longer label gets a line of its own */
#define SHOWN_MAX   4  /* a usage line names at most this many options */

/* The length of the argument in a usage line ("FILE...") or in the list of options ("FILE"). */
static size_t argument_len(const char *argument)
{
	size_t len = strlen(argument);

	return len >= 3 && strcmp(argument + len - 3, "...") == 0 ? len - 3 : len;
}

/* "-o, --output FILE", "--web[=PORT]". Returned owned. */
static char *label_of(enum cli_option option)
{
	const struct options_option *row = &options_options[option];
	int len = (int)argument_len(row->argument);
	char letter[] = { '-', row->letter, ',', ' ', '\0' };
	const char *shown = row->letter ? letter : "";

	if (options_argument(option) == OPTIONS_OPTIONAL)
		return mem_printf("%s--%s[=%.*s", shown, row->name, len - 1, row->argument + 1);
	return mem_printf("%s--%s%s%.*s", shown, row->name, len > 0 ? " " : "", len, row->argument);
}

/* Prints @text from @column on, wrapped. A line may also be broken after a `|`. */
static void print_wrapped(FILE *stream, const char *text, size_t column, size_t indent)
{
	bool has_space = false;

	while (*text) {
		size_t len = strcspn(text, " |");

		len += text[len] == '|';
		if (column + has_space + len > LINE_MAX && column > indent) {
			(void)fprintf(stream, "\n%*s", (int)indent, "");
			column = indent;
			has_space = false;
		}
		(void)fprintf(stream, "%s%.*s", has_space ? " " : "", (int)len, text);
		column += has_space + len;
		text += len;
		has_space = *text == ' ';
		text += has_space;
	}
	(void)fputc('\n', stream);
}

static void print_option(FILE *stream, enum cli_option option, size_t width)
{
	auto_free char *label = label_of(option);
	auto_free char *help =
		mem_printf("%s%s", options_options[option].help,
			   options_is_repeatable(option) && options_argument(option) != OPTIONS_NONE
				   ? " (repeatable)"
				   : "");
	size_t len = strlen(label);

	(void)fputs("  ", stream);
	if (len > width)
		print_wrapped(stream, label, 2, 4);
	else
		(void)fprintf(stream, "%s", label);
	(void)fprintf(stream, "%*s", (int)(len > width ? width + 4 : width + 2 - len), "");
	print_wrapped(stream, help, width + 4, width + 4);
}

static void print_options(FILE *stream, enum cli_command command)
{
	size_t width = LABEL_LEAST;

	for (enum cli_option option = 0; option < OPT_COUNT; option++) {
		if (!options_takes(command, option))
			continue;
		auto_free char *label = label_of(option);
		size_t len = strlen(label);

		width = len > width && len <= LABEL_MOST ? len : width;
	}
	for (enum cli_option option = 0; option < OPT_COUNT; option++) {
		if (options_takes(command, option))
			print_option(stream, option, width);
	}
}

/* " [--json]", or " [options]" if there are too many options. */
static void print_usage_options(FILE *stream, enum cli_command command)
{
	size_t count = 0;

	for (enum cli_option option = 0; option < OPT_COUNT; option++)
		count += options_takes(command, option);
	if (count > SHOWN_MAX)
		(void)fputs(" [options]", stream);
	for (enum cli_option option = 0; count <= SHOWN_MAX && option < OPT_COUNT; option++) {
		auto_free char *label = label_of(option);

		if (options_takes(command, option) && option != OPT_HELP)
			(void)fprintf(stream, " [%s]", strstr(label, "--"));
	}
}

/* Prints one line for each form of the operands. */
static void print_usage(FILE *stream, enum cli_command command, const char **lead)
{
	const struct options_command *row = &options_commands[command];
	const char *form = row->operands;

	do {
		size_t len = strcspn(form, "\n");

		(void)fprintf(stream, "%s sallyport %s", *lead, row->words);
		*lead = "      ";
		print_usage_options(stream, command);
		(void)fprintf(stream, "%s%.*s\n", len > 0 ? " " : "", (int)len, form);
		form += len;
	} while (*form++ == '\n');
}

/* Prints the subcommands of @parent, one per line. */
static void print_steps(FILE *stream, enum cli_command parent)
{
	size_t width = 0;

	for (enum cli_command child = 0; child < CLI_COMMANDS; child++) {
		const char *step = options_step(parent, child);

		if (step && !(options_commands[child].how & HIDDEN) && strlen(step) > width)
			width = strlen(step);
	}
	for (enum cli_command child = 0; child < CLI_COMMANDS; child++) {
		const char *step = options_step(parent, child);

		if (!step || options_commands[child].how & HIDDEN)
			continue;
		(void)fprintf(stream, "  %-*s  ", (int)width, step);
		print_wrapped(stream, options_commands[child].about, width + 4, width + 4);
	}
}

static bool has_steps(enum cli_command command)
{
	for (enum cli_command child = 0; child < CLI_COMMANDS; child++) {
		if (options_step(command, child))
			return true;
	}
	return false;
}

void options_help(enum cli_command command, FILE *stream)
{
	const struct options_command *row = &options_commands[command];
	const char *lead = "usage:", *space = row->words[0] ? " " : "";
	bool is_group = has_steps(command);

	if (command == CLI_ROOT)
		(void)fputs("usage: sallyport COMMAND [options]\n", stream);
	for (enum cli_command child = 0; is_group && child < CLI_COMMANDS; child++) {
		if (command != CLI_ROOT && options_step(command, child) &&
		    !(options_commands[child].how & HIDDEN))
			print_usage(stream, child, &lead);
	}
	if (!is_group)
		print_usage(stream, command, &lead);
	(void)fprintf(stream, "%s%s\n", row->text[0] ? "\n" : "", row->text);
	if (is_group) {
		print_steps(stream, command);
		(void)fputc('\n', stream);
	}
	print_options(stream, command);
	(void)fprintf(stream, "%s%s\n", row->notes[0] ? "\n" : "", row->notes);
	if (is_group)
		(void)fprintf(
			stream, "See `sallyport%s%s %s --help` for details; the manual is %s.\n",
			space, row->words, command == CLI_ROOT ? "COMMAND" : "STEP", row->page);
	else
		(void)fprintf(stream, "The manual is %s.\n", row->page);
}
