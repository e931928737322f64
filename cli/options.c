#include "cli/options_impl.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/commit.h"

#define LETTERS_MAX   16  /* of one command, including the colons */
#define OPTIONS_VALUE 256 /* the getopt_long(3) value of the first option; above every letter */

const struct options_command options_commands[CLI_COMMANDS] = {
#define COMMAND(id, words, function, ...) [CLI_##id] = { words, __VA_ARGS__ },
#define GROUP(id, words, status, ...)     [CLI_##id] = { words, status, 0, "", __VA_ARGS__ },
#include "cli/commands.def"
#undef COMMAND
#undef GROUP
};

const struct options_option options_options[OPT_COUNT] = {
#define IN(id) (UINT64_C(1) << CLI_##id)
#define OPTION(id, name, letter, argument, commands, page, help)                                   \
	[OPT_##id] = { name, letter, argument, commands, help },
#include "cli/options.def"
#undef OPTION
#undef IN
};
_Static_assert(CLI_COMMANDS <= 64, "the set of commands must fit into a uint64_t");

bool options_takes(enum cli_command command, enum cli_option option)
{
	return (options_options[option].commands & UINT64_C(1) << command) != 0;
}

enum options_argument options_argument(enum cli_option option)
{
	const char *argument = options_options[option].argument;

	if (argument[0] == '[')
		return OPTIONS_OPTIONAL;
	return argument[0] == '\0' || argument[0] == '.' ? OPTIONS_NONE : OPTIONS_REQUIRED;
}

bool options_is_repeatable(enum cli_option option)
{
	const char *argument = options_options[option].argument;
	size_t len = strlen(argument);

	return len >= 3 && strcmp(argument + len - 3, "...") == 0;
}

enum cli_option options_named(enum cli_command command, const char *word)
{
	enum cli_option found = OPT_COUNT;
	size_t len = strlen(word), matches = 0;

	for (enum cli_option option = 0; option < OPT_COUNT; option++) {
		const struct options_option *row = &options_options[option];

		if (!options_takes(command, option))
			continue;
		if (len == 2 && word[0] == '-' && row->letter == word[1])
			return option;
		if (len < 3 || strncmp(word, "--", 2) != 0 ||
		    strncmp(word + 2, row->name, len - 2) != 0)
			continue;
		if (row->name[len - 2] == '\0')
			return option;
		found = option;
		matches++;
	}
	return matches == 1 ? found : OPT_COUNT;
}

const char *options_step(enum cli_command parent, enum cli_command child)
{
	const char *above = options_commands[parent].words, *words = options_commands[child].words;
	size_t len = strlen(above);

	if (strncmp(words, above, len) != 0 || child == parent)
		return NULL;
	words += len;
	if (len > 0 && *words++ != ' ')
		return NULL;
	return strchr(words, ' ') ? NULL : words;
}

static enum cli_command find_step(enum cli_command parent, const char *word)
{
	for (enum cli_command child = 0; child < CLI_COMMANDS; child++) {
		const char *step = options_step(parent, child);

		if (step && strcmp(step, word) == 0)
			return child;
	}
	return CLI_ROOT;
}

enum cli_command options_find(int argc, char **argv, int *ret_words)
{
	enum cli_command command = CLI_ROOT;

	for (*ret_words = 0; *ret_words + 1 < argc; ++*ret_words) {
		enum cli_command next = find_step(command, argv[*ret_words + 1]);

		if (next == CLI_ROOT)
			break;
		command = next;
	}
	return command;
}

struct operand {
	const char *name;
	size_t len;
	bool is_optional, is_many;
};

/* Reads the next operand of a usage line. False: the line has no more operands. */
static bool next_operand(const char **at, int *depth, struct operand *ret)
{
	if (!*at)
		return false;
	const char *from = *at + strspn(*at, " ");

	from += strncmp(from, "-- ", 3) == 0 ? 3 : 0;
	for (; *from == '['; from++)
		++*depth;
	*ret = (struct operand){ from, strcspn(from, " ].\n"), *depth > 0, false };
	from += ret->len;
	ret->is_many = strncmp(from, "...", 3) == 0;
	from += ret->is_many ? 3 : 0;
	for (; *from == ']'; from++)
		--*depth;
	*at = from;
	return ret->len > 0;
}

void options_operand(enum cli_command command, size_t before, char out[OPTIONS_NAME_MAX])
{
	const char *at = options_commands[command].operands;
	struct operand operand = { 0 };
	int depth = 0;

	for (size_t i = 0; i <= before && !operand.is_many; i++) {
		if (!next_operand(&at, &depth, &operand))
			break;
	}
	(void)snprintf(out, OPTIONS_NAME_MAX, "%.*s", (int)operand.len, operand.name);
}

/* Checks the number of operands against the usage line that takes that many. 0, or an exit status.
 */
static int check_operands(const struct options *options)
{
	const char *at = options_commands[options->command].operands;
	size_t least = SIZE_MAX, most = 0;
	char missing[OPTIONS_NAME_MAX];

	for (const char *form = at; form; form = *at == '\n' ? ++at : NULL) {
		size_t needed = 0, all = 0;
		struct operand operand;
		int depth = 0;

		while (next_operand(&at, &depth, &operand)) {
			needed += !operand.is_optional;
			all = operand.is_many ? SIZE_MAX - 1 : all + 1;
		}
		least = needed < least ? needed : least;
		most = all > most ? all : most;
	}
	options_operand(options->command, options->operand_count, missing);
	if (options->operand_count < least)
		return options_wrong(options->command, "%s is missing", missing);
	if (options->operand_count <= most)
		return 0;
	auto_free char *shown = text_visible_dup(options->operands[most]);

	return options_wrong(options->command, "unexpected argument: %s", shown);
}

/* Fills the tables that getopt_long(3) needs for @command. */
static void fill_getopt(enum cli_command command, struct option known[OPT_COUNT + 1],
			char letters[LETTERS_MAX])
{
	static const int has_argument[] = {
		[OPTIONS_NONE] = no_argument,
		[OPTIONS_OPTIONAL] = optional_argument,
		[OPTIONS_REQUIRED] = required_argument,
	};
	size_t count = 0, used = 0;

	letters[used++] = '+'; /* return operands one by one */
	letters[used++] = ':'; /* return ':' for a missing value, not '?' */

	for (enum cli_option option = 0; option < OPT_COUNT; option++) {
		const struct options_option *row = &options_options[option];
		enum options_argument argument = options_argument(option);

		if (!options_takes(command, option))
			continue;
		known[count++] = (struct option){ row->name, has_argument[argument], NULL,
						  OPTIONS_VALUE + (int)option };
		if (!row->letter)
			continue;
		letters[used++] = row->letter;
		if (argument == OPTIONS_REQUIRED)
			letters[used++] = ':';
	}
	known[count] = (struct option){ 0 };
	letters[used] = '\0';
}

/* Explains in @why what getopt_long(3) rejected. */
static int refuse(enum cli_command command, const char *word, struct err *why)
{
	const char *names[OPT_COUNT];
	size_t count = 0, len = strcspn(word, "=");
	auto_free char *dashed = optopt > 0 && optopt < OPTIONS_VALUE ? mem_printf("-%c", optopt)
								      : mem_strndup(word, len);
	auto_free char *shown = text_visible_dup(dashed), *possible = mem_strdup("");

	if (optopt >= OPTIONS_VALUE)
		return err_set(why, -EINVAL, "--%s takes no value",
			       options_options[optopt - OPTIONS_VALUE].name);
	for (enum cli_option option = 0; option < OPT_COUNT; option++) {
		const char *name = options_options[option].name;

		if (!options_takes(command, option))
			continue;
		names[count++] = name;
		if (optopt != 0 || len < 3 || strncmp(name, word + 2, len - 2) != 0)
			continue;
		mem_append(&possible, "%s--%s", possible[0] ? ", " : "", name);
	}
	if (possible[0])
		return err_set(why, -EINVAL, "%s is ambiguous; it may be %s", shown, possible);
	const char *nearest =
		optopt == 0 && len > 2 ? text_nearest(word + 2, len - 2, names, count) : NULL;

	return err_set(why, -EINVAL, "no such option: %s%s%s%s", shown,
		       nearest ? "; did you mean --" : "", nearest ? nearest : "",
		       nearest ? "?" : "");
}

size_t options_choice_of(enum cli_option option, const char *value)
{
	const char *at = options_options[option].argument;
	size_t value_len = strlen(value);

	for (size_t i = 0; *at; i++) {
		size_t len = strcspn(at, "|.");

		if (len == value_len && strncmp(at, value, len) == 0)
			return i;
		at += len;
		at += strspn(at, "|.");
	}
	return SIZE_MAX;
}

/* Writes "a|b|c..." as "a, b or c". Returned owned. */
static char *choices_text(const char *argument)
{
	char *text = mem_strndup(argument, strcspn(argument, "."));

	for (char *bar; (bar = strchr(text, '|'));) {
		char *longer;

		*bar = '\0';
		longer = mem_printf("%s%s%s", text, strchr(bar + 1, '|') ? ", " : " or ", bar + 1);
		free(text);
		text = longer;
	}
	return text;
}

static int add(struct options *options, enum cli_option option, char *value, struct err *why)
{
	const struct options_option *row = &options_options[option];
	bool is_once = (options_commands[options->command].how & ONCE) != 0;

	if (is_once && options_has(options, option))
		return err_set(why, -EINVAL, "--%s was given twice; give it once", row->name);
	if (value && strchr(row->argument, '|') && options_choice_of(option, value) == SIZE_MAX) {
		auto_free char *shown = text_visible_dup(value);
		auto_free char *choices = choices_text(row->argument);

		return err_set(why, -EINVAL, "--%s must be %s, not `%s`", row->name, choices,
			       shown);
	}
	options->given =
		mem_grow(options->given, options->given_count + 1, sizeof(*options->given));
	options->given[options->given_count++] = (struct options_given){ option, value };
	return 0;
}

static void add_operand(struct options *options, char *word)
{
	mem_append_list(&options->operands, word);
	options->operand_count++;
}

/* Do the operands read so far end the options? */
static bool is_stopped(const struct options *options)
{
	unsigned int how = options_commands[options->command].how;

	return options->operand_count > 0 &&
	       (how & STOPS || (how & HAS_COMMAND && strcmp(options->operands[0], "command") == 0));
}

int options_read(struct options *ret, enum cli_command command, int argc, char **argv,
		 struct err *why)
{
	struct option known[OPT_COUNT + 1];
	char letters[LETTERS_MAX];
	bool is_end = false;
	int r = 0;

	*ret = (struct options){ .command = command, .operands = mem_new_array(1, sizeof(char *)) };
	fill_getopt(command, known, letters);
	opterr = 0;
	optind = 0; /* getopt_long(3): restart */
	while (r == 0 && !options_has(ret, OPT_HELP)) {
		int at = optind > 0 ? optind : 1;
		int option = is_end ? -1 : getopt_long(argc, argv, letters, known, NULL);

		if (option == '?' || option == ':') {
			auto_free char *shown = text_visible_dup(argv[optind - 1]);

			return option == ':' ? err_set(why, -EINVAL, "%s needs a value", shown)
					     : refuse(command, argv[optind - 1], why);
		}
		if (option >= OPTIONS_VALUE) {
			r = add(ret, (enum cli_option)(option - OPTIONS_VALUE), optarg, why);
		} else if (option != -1) {
			r = add(ret, options_named(command, (char[]){ '-', (char)option, '\0' }),
				optarg, why);
		} else if (optind >= argc) {
			break;
		} else {
			is_end |= optind > at; /* getopt has skipped a `--` */
			add_operand(ret, argv[optind++]);
			is_end |= is_stopped(ret);
		}
	}
	return r;
}

void options_done(struct options *options)
{
	free(options->given);
	free(options->operands);
	*options = (struct options){ 0 };
}

bool options_has(const struct options *options, enum cli_option option)
{
	for (size_t i = 0; i < options->given_count; i++) {
		if (options->given[i].option == option)
			return true;
	}
	return false;
}

char *options_get(const struct options *options, enum cli_option option)
{
	char *value = NULL;

	for (size_t i = 0; i < options->given_count; i++) {
		if (options->given[i].option == option)
			value = options->given[i].value;
	}
	return value;
}

char **options_get_all(const struct options *options, enum cli_option option)
{
	char **list = NULL;

	for (size_t i = 0; i < options->given_count; i++) {
		if (options->given[i].option == option)
			mem_append_list(&list, options->given[i].value);
	}
	return list;
}

size_t options_choice(const struct options *options, enum cli_option option, size_t otherwise)
{
	const char *value = options_get(options, option);

	return value ? options_choice_of(option, value) : otherwise;
}

int options_exclude(const struct options *options, enum cli_option option,
		    const enum cli_option *others, size_t count, const char *reason)
{
	for (size_t i = 0; options_has(options, option) && i < count; i++)
		if (options_has(options, others[i]))
			return options_wrong(options->command,
					     "--%s and --%s cannot be given together: %s",
					     options_options[option].name,
					     options_options[others[i]].name, reason);
	return CLI_OK;
}

int options_wrong(enum cli_command command, const char *format, ...)
{
	const char *words = options_commands[command].words, *space = words[0] ? " " : "";
	va_list args;

	(void)fprintf(stderr, "sallyport%s%s: ", space, words);
	va_start(args, format);
	(void)vfprintf(stderr, format, args);
	va_end(args);
	(void)fprintf(stderr, "\nTry `sallyport%s%s --help`.\n", space, words);
	return options_commands[command].status;
}

/* `--session NAME` means the same before a subcommand and after it. */
static void move_session(int argc, char **argv)
{
	bool is_one = argc > 2 && strncmp(argv[1], "--session=", 10) == 0;
	bool is_two = argc > 3 && strcmp(argv[1], "--session") == 0;
	int step = is_one ? 2 : is_two ? 3 : 1;
	char *moved = argv[step];

	for (; step > 1; step--)
		argv[step] = argv[step - 1];
	argv[1] = moved;
}

/* @word follows a command that has only subcommands, and is not one of them. */
static int refuse_step(enum cli_command above, const char *word)
{
	const char *names[CLI_COMMANDS];
	auto_free char *shown = text_visible_dup(word ? word : ""), *all = mem_strdup("");
	const char *kind = above == CLI_ROOT ? "command" : "step";
	size_t count = 0;

	for (enum cli_command child = 0; child < CLI_COMMANDS; child++) {
		const char *step = options_step(above, child);

		if (!step || options_commands[child].how & HIDDEN)
			continue;
		mem_append(&all, "%s%s", count > 0 ? ", " : "", step);
		names[count++] = step;
	}
	if (!word)
		return options_wrong(above, "a %s is missing; give one of: %s", kind, all);
	const char *nearest = text_nearest(word, strlen(word), names, count);

	return nearest ? options_wrong(above, "there is no %s `%s`; did you mean %s?", kind, shown,
				       nearest)
		       : options_wrong(above, "there is no %s `%s`; give one of: %s", kind, shown,
				       all);
}

static int print_help(enum cli_command command)
{
	options_help(command, stdout);
	return CLI_OK;
}

/* `help`, `help run`, `policy help diff`: the help of the command that the words after it name.
 * @argv[0] is `help`. */
static int run_help(enum cli_command above, char **argv)
{
	while (*++argv) {
		enum cli_command step = find_step(above, *argv);

		if (step == CLI_ROOT)
			return refuse_step(above, *argv);
		above = step;
	}
	return print_help(above);
}

static int run_group(enum cli_command command, const char *word)
{
	enum cli_option option = word ? options_named(command, word) : OPT_COUNT;

	if (option == OPT_VERSION ||
	    (command == CLI_ROOT && word && strcmp(word, "version") == 0)) {
		bool has_commit = SALLYPORT_COMMIT[0] != '\0';

		(void)printf("sallyport %s%s%s%s\n", SALLYPORT_VERSION, has_commit ? " (" : "",
			     SALLYPORT_COMMIT, has_commit ? ")" : "");
		return CLI_OK;
	}
	if (option == OPT_HELP)
		return print_help(command);
	if (!word && command == CLI_ROOT) {
		options_help(command, stderr);
		return CLI_USAGE;
	}
	return refuse_step(command, word);
}

int options_run(const options_run_fn functions[CLI_COMMANDS], int argc, char **argv)
{
	struct options options;
	struct err why = { 0 };
	int words;

	if (argc > 3 && find_step(CLI_ROOT, argv[1]) == CLI_APPROVE)
		move_session(argc - 1, argv + 1);
	enum cli_command command = options_find(argc, argv, &words);

	if (!functions[command] && argv[words + 1] && strcmp(argv[words + 1], "help") == 0)
		return run_help(command, argv + words + 1);
	if (!functions[command])
		return run_group(command, argv[words + 1]);
	int status = options_read(&options, command, argc - words, argv + words, &why) < 0
			     ? options_wrong(command, "%s", why.text)
			     : CLI_OK;

	if (status == CLI_OK && options_has(&options, OPT_HELP)) {
		status = print_help(command);
	} else if (status == CLI_OK) {
		status = check_operands(&options);
		status = status == CLI_OK ? functions[command](&options) : status;
	}
	options_done(&options);
	return status;
}
