/* `sallyport complete [WORD...]`: prints the completions of the last word, one per line, as
 * "WORD\tTEXT"; or ":files", ":folders", or ":command N" if the words from the Nth on are another
 * command. The shell scripts in completions/ call it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options_impl.h"
#include "cli/profiles/profiles.h"
#include "policies/policies_tools.h"

extern char **environ;

static void offer(const char *word, const char *text, const char *begun)
{
	if (strncmp(word, begun, strlen(begun)) == 0)
		(void)printf("%s\t%.*s\n", word, (int)strcspn(text, ";:("), text);
}

/* Offers the words of "a|b|c...". */
static void offer_choices(const char *choices, const char *begun)
{
	while (*choices) {
		size_t len = strcspn(choices, "|.");
		auto_free char *word = mem_strndup(choices, len);

		offer(word, "", begun);
		choices += len;
		choices += strspn(choices, "|.");
	}
}

static void offer_list(char **list, const char *begun)
{
	for (char **word = list; word && *word; word++)
		offer(*word, "", begun);
	mem_free_list(list);
}

static void offer_sessions(const char *begun)
{
	offer_list(cli_session_names(), begun);
}

static void offer_questions(const char *begun)
{
	offer_list(cli_approve_ids(), begun);
}

static void offer_runs(const char *begun)
{
	offer_list(cli_run_ids(), begun);
}

static void offer_profiles(const char *begun)
{
	for (size_t i = 0; profiles_at(i); i++)
		offer(profiles_name(profiles_at(i)), profiles_title(profiles_at(i)), begun);
}

static void offer_formats(const char *begun)
{
	for (size_t i = 0; policy_import_format(i); i++)
		offer(policy_import_format(i), "", begun);
}

static void offer_variables(const char *begun)
{
	for (char **entry = environ; *entry; entry++) {
		auto_free char *name = mem_strndup(*entry, strcspn(*entry, "="));

		offer(name, "", begun);
	}
}

static void offer_approvals(const char *begun)
{
	offer_choices("untrusted|on-request|on-failure|never|granular:", begun);
}

static void offer_receivers(const char *begun)
{
	offer_choices("udp:|tcp:|unix:", begun);
}

static void offer_schemes(const char *begun)
{
	offer_choices("otlp+http://|otlp+https://|postgresql://|syslog+tls://", begun);
}

static void offer_methods(const char *begun)
{
	offer_choices("GET|HEAD|POST|PUT|DELETE", begun);
}

static void offer_files(const char *begun)
{
	(void)puts(":files");
}

static void offer_folders(const char *begun)
{
	(void)puts(":folders");
}

/* The names of values in options.def and commands.def, without the "..." that may follow them. */
static const struct {
	const char *name;
	void (*offer)(const char *begun);
} kinds[] = {
	{ "FILE", offer_files },
	{ "PATH", offer_files },
	{ "KEYFILE", offer_files },
	{ "PROGRAM", offer_files },
	{ "DIR", offer_folders },
	{ "SESSION", offer_sessions },
	{ "ID", offer_questions },
	{ "FORMAT", offer_formats },
	{ "RUN", offer_runs },
	{ "AGENT", offer_profiles },
	{ "MODE", offer_approvals },
	{ "METHOD", offer_methods },
	{ "NAME[=VALUE]", offer_variables },
	{ "RECEIVER", offer_receivers },
	{ "TO", offer_schemes },
};

/* False: no completion is known for @name. */
static bool offer_value(const char *name, const char *begun)
{
	auto_free char *kind = mem_strdup(name);
	char *dots = strstr(kind, "...");

	if (dots)
		*dots = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, kind) == 0) {
			kinds[i].offer(begun);
			return true;
		}
	}
	if (!strchr(kind, '|'))
		return false;
	offer_choices(kind, begun);
	return true;
}

static void offer_options(enum cli_command command, const char *begun)
{
	for (enum cli_option option = 0; option < OPT_COUNT; option++) {
		auto_free char *word = mem_printf("--%s", options_options[option].name);

		if (options_takes(command, option))
			offer(word, options_options[option].help, begun);
	}
}

/* False: @command has no subcommands. */
static bool offer_steps(enum cli_command command, const char *begun)
{
	bool has_steps = false;

	for (enum cli_command child = 0; child < CLI_COMMANDS; child++) {
		const char *step = options_step(command, child);

		if (!step || options_commands[child].how & HIDDEN)
			continue;
		has_steps = true;
		offer(step, options_commands[child].about, begun);
	}
	return has_steps;
}

/* What the words before the last one mean for it. */
struct place {
	enum cli_command command;
	enum cli_option option; /* the option whose value the last word is; OPT_COUNT: none */
	size_t operands;        /* number of complete operands */
	int command_at;         /* index of the first word of another command; 0: there is none */
	bool is_end;            /* no more options may follow */
};

/* Takes the complete word @argv[@i] into account. */
static void pass_word(struct place *place, char **argv, int i)
{
	unsigned int how = options_commands[place->command].how;
	enum cli_option option = options_named(place->command, argv[i]);

	if (place->option != OPT_COUNT) {
		place->option = OPT_COUNT;
	} else if (!place->is_end && strcmp(argv[i], "--") == 0) {
		place->is_end = true;
		if (how & STOPS && options_commands[place->command].operands[0] == '-')
			place->command_at = i + 1;
	} else if (!place->is_end && argv[i][0] == '-') {
		if (option != OPT_COUNT && options_argument(option) == OPTIONS_REQUIRED)
			place->option = option;
	} else {
		if (place->operands == 0 && how & HAS_COMMAND && strcmp(argv[i], "command") == 0)
			place->command_at = i + 1;
		else if (options_commands[place->command].operands[0] == '-')
			place->command_at = i;
		place->operands++;
		place->is_end |= (how & STOPS) != 0;
	}
}

/* Reads the words as options_run() does; skips @argv[0]. */
int cli_complete(const struct options *options)
{
	char name[OPTIONS_NAME_MAX], *empty[] = { (char[]){ "" }, NULL };
	int words = 0, count = (int)options->operand_count;
	char **argv = count > 0 ? options->operands : empty;
	const char *last = count > 0 ? argv[count - 1] : "";
	struct place place = { .option = OPT_COUNT };

	/* options_find() skips the first word, which is the program's name. */
	place.command = options_find(count > 0 ? count - 1 : 0, argv, &words);
	for (int i = words + 1; i + 1 < count && place.command_at == 0; i++)
		pass_word(&place, argv, i);
	if (place.command_at > 0) {
		(void)printf(":command %d\n", place.command_at);
	} else if (place.option != OPT_COUNT) {
		(void)offer_value(options_options[place.option].argument, last);
	} else if (last[0] == '-' && !place.is_end) {
		offer_options(place.command, last);
	} else if (!offer_steps(place.command, last)) {
		options_operand(place.command, place.operands, name);
		if (name[0] == '\0' && !place.is_end)
			offer_options(place.command, last);
		else
			(void)offer_value(name, last);
	}
	return fflush(stdout) == EOF ? CLI_ERROR : CLI_OK;
}
