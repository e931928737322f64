#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/run_help.h"
#include "cli/session_holder.h"

#define IDLE_DEFAULT_MS (30 * 60 * 1000)

static const char help[] =
	"usage: sallyport session start [options] [NAME]\n"
	"\n"
	"Starts a session and prints its name. Runs join it with `sallyport run --join NAME -- "
	"...`\n"
	"and share its policy, its questions, the answers to them, and its records.\n"
	"\n"
	"  --if-needed              be content with one that is there already\n"
	"  --idle TIME              end after so long without a run (default 30m)\n"
	"  --foreground             stay here, as under a service manager; takes a socket that it\n"
	"                           hands over (LISTEN_FDS)\n" RUN_HELP_GRANTS_OF RUN_HELP_POLICY
	"  --default ask|deny|allow what no rule matches\n" RUN_HELP_PROMPT_TIMEOUT RUN_HELP_HELPERS
		RUN_HELP_AUDIT
	"  --bundle FILE            write what nobody answered to FILE when it ends, for "
	"`sallyport\n"
	"                           approve bundle`\n" RUN_HELP_ANSWERS
	"  --verbose                say more; twice: everything\n"
	"\n"
	"Exit status: 0; 1 when there is a session of that name; 2 usage; 3 bad policy; 125.\n";

enum session_option { OPT_HELP = 256, OPT_IF_NEEDED, OPT_IDLE, OPT_FOREGROUND, OPT_OF_RUN };

static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "if-needed", no_argument, NULL, OPT_IF_NEEDED },
	{ "idle", required_argument, NULL, OPT_IDLE },
	{ "foreground", no_argument, NULL, OPT_FOREGROUND },
	/* As `run` has them. */
	{ "grants-of", required_argument, NULL, OPT_OF_RUN },
	{ "policy", required_argument, NULL, OPT_OF_RUN },
	{ "default", required_argument, NULL, OPT_OF_RUN },
	{ "prompt-timeout", required_argument, NULL, OPT_OF_RUN },
	{ "web", optional_argument, NULL, OPT_OF_RUN },
	{ "reviewer", required_argument, NULL, OPT_OF_RUN },
	{ "reviewer-mode", required_argument, NULL, OPT_OF_RUN },
	{ "reviewer-timeout", required_argument, NULL, OPT_OF_RUN },
	{ "notify", no_argument, NULL, OPT_OF_RUN },
	{ "webhook", required_argument, NULL, OPT_OF_RUN },
	{ "webhook-key", required_argument, NULL, OPT_OF_RUN },
	{ "webhook-answer", required_argument, NULL, OPT_OF_RUN },
	{ "audit", required_argument, NULL, OPT_OF_RUN },
	{ "bundle", required_argument, NULL, OPT_OF_RUN },
	{ "answers", required_argument, NULL, OPT_OF_RUN },
	{ "verbose", no_argument, NULL, OPT_OF_RUN },
	{ 0 },
};

static int usage(const char *words)
{
	return cli_usage_error("session start", CLI_USAGE, "%s", words) + 1;
}

static int set_idle(struct session_start *start, const char *value)
{
	return text_to_duration_ms(value, &start->idle_ms) < 0 || start->idle_ms == 0
		       ? usage("--idle: a time such as 30m")
		       : 0;
}

/* As an option of `run`, which reads it. */
static int add_option(struct session_start *start, const char *name, const char *value)
{
	mem_append_list(&start->words,
			value ? mem_printf("--%s=%s", name, value) : mem_printf("--%s", name));
	return 0;
}

/* 0, or as run_options_parse(). */
static int take_option(struct session_start *start, int option, const char *name)
{
	switch (option) {
	case OPT_IF_NEEDED:
		start->is_if_needed = true;
		return 0;
	case OPT_FOREGROUND:
		start->is_foreground = true;
		return 0;
	case OPT_IDLE:
		return set_idle(start, optarg);
	case OPT_OF_RUN:
		return add_option(start, name, optarg);
	case OPT_HELP:
	case 'h':
		(void)fputs(help, stdout);
		return CLI_OK + 1;
	default:
		return -EINVAL;
	}
}

static int take_name(struct session_start *start, int argc, char **argv)
{
	if (optind < argc)
		start->name = argv[optind++];
	if (optind < argc)
		return usage("one name");
	if (start->name && !session_place_is_name(start->name))
		return usage("a name has letters, digits, _, . and -, 32 at most, and begins with "
			     "none of the last two");
	return 0;
}

/* The names of policies are looked up again wherever a run joins from. */
static void make_absolute(struct session_start *start)
{
	char **policies = start->options.policies;
	auto_free char *cwd = get_current_dir_name();

	for (size_t i = 0; cwd && policies && policies[i]; i++) {
		if (policies[i][0] == '/')
			continue;
		mem_append_list(&start->words, mem_printf("%s/%s", cwd, policies[i]));
		for (size_t last = 0; start->words[last]; last++)
			policies[i] = start->words[last];
	}
}

int session_options_parse(struct session_start *start, int argc, char **argv)
{
	int option, place = 0, status = 0;

	*start = (struct session_start){ .idle_ms = IDLE_DEFAULT_MS };
	start->options.json_fd = -1;
	mem_append_list(&start->words, mem_strdup("session start"));
	opterr = 0;
	optind = 0;
	while ((option = getopt_long(argc, argv, "h", long_options, &place)) != -1) {
		status = take_option(start, option, long_options[place].name);
		if (status > 0)
			return status;
		if (status < 0)
			return cli_usage_error("session start", CLI_USAGE,
					       "no such option, or its value is missing: %s",
					       argv[optind - 1]) +
			       1;
	}
	status = take_name(start, argc, argv);
	if (status != 0)
		return status;
	/* `run` wants a command; there is none here. */
	mem_append_list(&start->words, mem_strdup("--"));
	mem_append_list(&start->words, mem_strdup("session"));
	status =
		run_options_parse(&start->options, (int)mem_count_list(start->words), start->words);
	if (status == 0 && start->is_if_needed && start->options.grants_of)
		return usage("--if-needed and --grants-of: one that is there already keeps what it "
			     "remembers");
	if (status == 0)
		make_absolute(start);
	return status;
}

void session_options_free(struct session_start *start)
{
	run_options_free(&start->options);
	mem_free_list(start->words);
	*start = (struct session_start){ 0 };
}
