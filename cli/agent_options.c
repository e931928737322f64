#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/agent_impl.h"
#include "cli/cli.h"
#include "policies/policies_agent.h"

static const char help[] =
	"usage: sallyport agent [options]\n"
	"\n"
	"Speaks the protocol of sallyport-agent(7) on stdin and stdout: an agent's harness\n"
	"configures sessions, runs commands in their sandboxes, and answers questions.\n"
	"\n"
	"  --socket PATH            serve clients that connect there, each in a gate of its own;\n"
	"                           the folder has to be yours alone (0700)\n"
	"  --allow-unconfined       sessions and commands may ask to be without a sandbox\n"
	"  --policy FILE            read rules from FILE (repeatable; the user's own are always "
	"read)\n"
	"  --default ask|deny|allow what no rule matches (default: ask)\n"
	"  --prompt-timeout TIME    how long a question about a destination waits (default 5m)\n"
	"  --web[=PORT], --reviewer COMMAND, --reviewer-mode MODE, --reviewer-timeout TIME,\n"
	"  --notify, --webhook URL, --webhook-key FILE, --webhook-answer URL, --session NAME,\n"
	"  --grants-of NAME, --audit FILE,\n"
	"  --answers FILE, --resolve NAME:ADDRESS, --dns ADDRESS[:PORT], --write DIR,\n"
	"  --read PATH, --env NAME[=VALUE], --clean-env, --verbose\n"
	"                           as for `sallyport run`\n"
	"\n"
	"Exit status: 0 the client has gone, 2 usage, 3 bad policy, 125 no gate could be made.\n";

static const char help_mcp[] =
	"usage: sallyport mcp [options]\n"
	"\n"
	"Speaks the Model Context Protocol on stdin and stdout: one tool, `run`, which runs a\n"
	"command in a sandbox; questions are put to the person by elicitation. sallyport-mcp(1)\n"
	"\n"
	"  --approval MODE          when a person is asked: untrusted, on-request (the default),\n"
	"                           on-failure, never, or granular:WORD,WORD...\n"
	"  --sandbox MODE           read-only, workspace-write (the default), danger-full-access\n"
	"  --allow-unconfined       the sandbox may be none, and commands may ask for that\n"
	"\n"
	"  --policy FILE, --default ask|deny|allow, --prompt-timeout TIME, --web[=PORT],\n"
	"  --reviewer COMMAND, --reviewer-mode MODE, --reviewer-timeout TIME, --notify,\n"
	"  --webhook URL, --webhook-key FILE, --webhook-answer URL, --session NAME,\n"
	"  --grants-of NAME, --audit FILE, --answers FILE, --resolve NAME:ADDRESS,\n"
	"  --dns ADDRESS[:PORT], --write DIR, --read PATH, --env NAME[=VALUE],\n"
	"  --clean-env, --verbose   as for `sallyport agent`\n"
	"\n"
	"  {\"mcpServers\": {\"sallyport\": {\"command\": \"sallyport\", \"args\": [\"mcp\"]}}}\n"
	"\n"
	"Exit status: 0 the client has gone, 2 usage, 3 bad policy, 125 no gate could be made.\n";

enum { OPT_HELP = 256, OPT_SOCKET, OPT_UNCONFINED, OPT_APPROVAL, OPT_SANDBOX, OPT_RUN };

/* Those behind OPT_RUN are handed on as they are. */
static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "allow-unconfined", no_argument, NULL, OPT_UNCONFINED },
	{ "policy", required_argument, NULL, OPT_RUN },
	{ "default", required_argument, NULL, OPT_RUN },
	{ "prompt-timeout", required_argument, NULL, OPT_RUN },
	{ "web", optional_argument, NULL, OPT_RUN },
	{ "reviewer", required_argument, NULL, OPT_RUN },
	{ "reviewer-mode", required_argument, NULL, OPT_RUN },
	{ "reviewer-timeout", required_argument, NULL, OPT_RUN },
	{ "notify", no_argument, NULL, OPT_RUN },
	{ "webhook", required_argument, NULL, OPT_RUN },
	{ "webhook-key", required_argument, NULL, OPT_RUN },
	{ "webhook-answer", required_argument, NULL, OPT_RUN },
	{ "session", required_argument, NULL, OPT_RUN },
	{ "grants-of", required_argument, NULL, OPT_RUN },
	{ "audit", required_argument, NULL, OPT_RUN },
	{ "answers", required_argument, NULL, OPT_RUN },
	{ "resolve", required_argument, NULL, OPT_RUN },
	{ "dns", required_argument, NULL, OPT_RUN },
	{ "write", required_argument, NULL, OPT_RUN },
	{ "read", required_argument, NULL, OPT_RUN },
	{ "env", required_argument, NULL, OPT_RUN },
	{ "clean-env", no_argument, NULL, OPT_RUN },
	{ "verbose", no_argument, NULL, OPT_RUN },
	{ 0 },
};

static const struct option mcp_options[] = {
	{ "approval", required_argument, NULL, OPT_APPROVAL },
	{ "sandbox", required_argument, NULL, OPT_SANDBOX },
};
#define SOCKET_INDEX 1 /* of long_options: what only an agent has */

/* Those of `mcp` or of `agent`, for getopt_long(). */
static void choose_options(bool is_mcp, struct option out[ARRAY_SIZE(long_options) + 2])
{
	size_t count = 0;

	for (size_t i = 0; is_mcp && i < ARRAY_SIZE(mcp_options); i++)
		out[count++] = mcp_options[i];
	for (size_t i = 0; i < ARRAY_SIZE(long_options); i++) {
		if (!is_mcp || i != SOCKET_INDEX)
			out[count++] = long_options[i];
	}
}

static void add_word(struct agent_options *options, const char *word)
{
	mem_append_list(&options->words, mem_strdup(word));
}

/* One spelling, whatever was typed, so that no value is taken for another option. */
static void pass_on(struct agent_options *options, const struct option *option)
{
	auto_free char *word = optarg ? mem_printf("--%s=%s", option->name, optarg)
				      : mem_printf("--%s", option->name);

	add_word(options, word);
}

/* 0, or an exit status + 1 as run_options_parse(). */
static int take_options(struct agent_options *options, int argc, char **argv)
{
	struct option known[ARRAY_SIZE(long_options) + ARRAY_SIZE(mcp_options)];
	bool is_mcp = strcmp(argv[0], "mcp") == 0;
	int option, index = -1;

	choose_options(is_mcp, known);
	opterr = 0;
	optind = 1;
	while ((option = getopt_long(argc, argv, "+h", known, &index)) != -1) {
		switch (option) {
		case OPT_SOCKET:
			options->socket = optarg;
			break;
		case OPT_UNCONFINED:
			options->may_unconfine = true;
			break;
		case OPT_APPROVAL:
			options->approval = optarg;
			break;
		case OPT_SANDBOX:
			options->sandbox = optarg;
			break;
		case OPT_RUN:
			pass_on(options, &known[index]);
			break;
		case OPT_HELP:
		case 'h':
			(void)fputs(is_mcp ? help_mcp : help, stdout);
			return CLI_OK + 1;
		default:
			return cli_usage_error(argv[0], CLI_USAGE,
					       "no such option, or its value is missing: %s",
					       argv[optind - 1]) +
			       1;
		}
	}
	if (argv[optind])
		return cli_usage_error(argv[0], CLI_USAGE,
				       "what is run is said by the client, not here: %s",
				       argv[optind]) +
		       1;
	return 0;
}

int agent_options_parse(struct agent_options *options, int argc, char **argv)
{
	*options = (struct agent_options){ .words = mem_new_array(1, sizeof(char *)) };
	add_word(options, argv[0]);
	/* Lines of the protocol, not answers of a person, come from there. */
	add_word(options, "--no-tty");
	int status = take_options(options, argc, argv);

	add_word(options, "--");
	add_word(options, "sallyport-agent"); /* of the gate as a whole: nothing runs it */
	if (status == 0)
		status = run_options_parse(&options->run, (int)mem_count_list(options->words),
					   options->words);
	options->run.helpers.kinds = POLICY_HELPS_ALL;
	return status;
}

void agent_options_free(struct agent_options *options)
{
	run_options_free(&options->run);
	mem_free_list(options->words);
	*options = (struct agent_options){ 0 };
}
