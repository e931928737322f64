#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"

/* To add a subcommand: one file cli/NAME.c, its function in cli.h, one line here, one page in
 * docs/man. */
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *about;
} subcommands[] = {
	{ "run", cli_run, "run a command whose only way out is the gate" },
	{ "agent", cli_agent, "serve an agent's harness: sessions, commands, questions" },
	{ "mcp", cli_mcp, "the same as a tool of the Model Context Protocol" },
	{ "session", cli_session, "share one gate between runs" },
	{ "approve", cli_approve, "list, watch and answer the questions that wait" },
	{ "policy", cli_policy, "check policy files, explain a verdict" },
	{ "audit", cli_audit, "verify an audit log" },
};

static void print_help(FILE *stream)
{
	(void)fprintf(
		stream,
		"usage: sallyport SUBCOMMAND [options]\n"
		"\n"
		"A gate in the wall through which a command may leave, one destination at a time,\n"
		"when policy or a person says so.\n"
		"\n");
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		(void)fprintf(stream, "  %-8s  %s\n", subcommands[i].name, subcommands[i].about);
	(void)fprintf(stream,
		      "\n"
		      "  sallyport run -- curl -sS https://example.org/\n"
		      "\n"
		      "`sallyport SUBCOMMAND --help` says more; the manual is sallyport(1).\n");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		print_help(stdout);
		return CLI_OK;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)printf("sallyport %s\n", SALLYPORT_VERSION);
		return CLI_OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	}
	(void)fprintf(stderr, "sallyport: no subcommand `%s`\n", argv[1]);
	print_help(stderr);
	return CLI_USAGE;
}
