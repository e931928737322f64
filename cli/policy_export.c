#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/policy_environment.h"
#include "policies/policies_tools.h"

static const char help[] =
	"usage: sallyport policy export [--lossy] FORMAT FILE...\n"
	"\n"
	"Prints the policy of all FILEs together as FORMAT, and on stderr everything that FORMAT\n"
	"does not say. It allows nothing that the policy does not allow: an allow that would be\n"
	"wider there is left out; a denial that cannot be said is an error.\n"
	"\n"
	"  --lossy  a host may stand for all its ports and any bytes, and a denial may be\n"
	"           missing, where FORMAT has no words for them: each is listed as `wider`\n"
	"\n"
	"  codex-config      [permissions.sallyport.network.domains] of a config.toml\n"
	"  codex-rules       network_rule calls\n"
	"  sandbox-runtime   network.allowedDomains and deniedDomains, in JSON\n"
	"  claude-settings   the same below \"sandbox\"\n"
	"  smokescreen       an ACL in YAML: its default\n"
	"  harden-runner     allowed-endpoints, one on a line\n"
	"\n"
	"Exit status: 0 done, 3 error.\n"
	"\n"
	"  sallyport policy export --lossy harden-runner ci.policy > endpoints.txt\n";

enum { OPT_LOSSY = 1, OPT_HELP };

static bool is_format(const char *word)
{
	for (size_t i = 0; policy_import_format(i); i++) {
		if (strcmp(word, policy_import_format(i)) == 0)
			return true;
	}
	return false;
}

static int export_load(struct policy *policy, char **paths)
{
	enum policy_action ignored;
	bool is_bad = false;

	for (; *paths; paths++)
		is_bad |= policy_environment_load(policy, *paths, POLICY_COMMAND_LINE) < 0;
	/* Without a default in any file the question is asked, as in `run`. */
	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
	if (!is_bad && policy_finish(policy) == 0)
		return CLI_OK;
	(void)fputs(policy_errors(policy), stderr);
	return CLI_ERROR;
}

static int export_files(const char *format, char **paths, bool is_lossy)
{
	auto_free char *text = NULL, *losses = NULL;
	struct policy *policy = policy_new();
	struct err why = { 0 };
	int status = export_load(policy, paths);

	if (status == CLI_OK && policy_export(format, policy, is_lossy, &text, &losses, &why) < 0)
		status = cli_fail(CLI_ERROR, "%s", why.text);
	if (status == CLI_OK) {
		(void)fputs(text, stdout);
		(void)fputs(losses, stderr);
	}
	policy_free(policy);
	return status;
}

int cli_policy_export(int argc, char **argv)
{
	static const struct option options[] = {
		{ "lossy", no_argument, NULL, OPT_LOSSY },
		{ "help", no_argument, NULL, OPT_HELP },
		{ 0 },
	};
	bool is_lossy = false;

	optind = 0; /* argv[0] is "export" */
	for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
		if (option == OPT_LOSSY) {
			is_lossy = true;
			continue;
		}
		if (option != OPT_HELP && option != 'h')
			return cli_usage_error("policy export", CLI_ERROR, "no such option: %s",
					       argv[optind - 1]);
		(void)fputs(help, stdout);
		return CLI_OK;
	}
	if (argc - optind < 2)
		return cli_usage_error("policy export", CLI_ERROR, "a format and files, please");
	if (!is_format(argv[optind]))
		return cli_usage_error("policy export", CLI_ERROR, "no such format: %s",
				       argv[optind]);
	return export_files(argv[optind], argv + optind + 1, is_lossy);
}
