#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/policy_environment.h"
#include "policies/policies_tools.h"

static const char help_check[] =
	"usage: sallyport policy check [--managed] FILE...\n"
	"\n"
	"Reads each FILE by itself, with what it includes, and checks its `expect` lines.\n"
	"With --managed as a file of the managed layer, which may say `only`.\n"
	"Errors go to stderr in compiler form. Exit status: 0 all is well, 3 something is not.\n"
	"\n"
	"  sallyport policy check ~/.config/sallyport/policy\n";

enum { OPT_HELP = 256, OPT_MANAGED };

static bool check_file(const char *path, enum policy_layer layer)
{
	struct policy *policy = policy_new();
	auto_free char *shown = text_visible_dup(path);
	enum policy_action ignored;
	bool is_good = policy_environment_load(policy, path, layer) == 0;

	/* Without a default in any file the question is asked, as in `run`. */
	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
	is_good = is_good && policy_finish(policy) == 0;
	if (is_good)
		(void)printf("%s: ok (%zu rule%s)\n", shown, policy_rule_count(policy),
			     policy_rule_count(policy) == 1 ? "" : "s");
	(void)fputs(is_good ? policy_notes(policy) : policy_errors(policy), stderr);
	policy_free(policy);
	return is_good;
}

int cli_policy_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, OPT_HELP },
		{ "managed", no_argument, NULL, OPT_MANAGED },
		{ 0 },
	};
	enum policy_layer layer = POLICY_COMMAND_LINE;
	bool is_good = true;

	optind = 0; /* argv[0] is "check" */
	for (int option; (option = getopt_long(argc, argv, "+:h", options, NULL)) != -1;) {
		if (option == OPT_MANAGED) {
			layer = POLICY_MANAGED;
			continue;
		}
		if (option != OPT_HELP && option != 'h')
			return cli_usage_error("policy check", CLI_ERROR, "no such option: %s",
					       argv[optind - 1]);
		(void)fputs(help_check, stdout);
		return CLI_OK;
	}
	if (optind == argc)
		return cli_usage_error("policy check", CLI_ERROR, "which file?");
	for (int i = optind; i < argc; i++)
		is_good &= check_file(argv[i], layer);
	return is_good ? CLI_OK : CLI_ERROR;
}
