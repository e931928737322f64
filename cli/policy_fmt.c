#include <getopt.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "policies/policies_tools.h"

static const char help[] =
	"usage: sallyport policy fmt [--check] FILE...\n"
	"\n"
	"Lays policy files out in one way: one blank between words, three before a comment behind\n"
	"them, hosts in lower case. Order, comments, blank lines and verdicts stay. A file is\n"
	"replaced whole or not at all; one with errors is left alone.\n"
	"\n"
	"  --check   change nothing, name the files that would change\n"
	"\n"
	"Exit status: 0 done, 1 --check found a file that would change, 3 error.\n"
	"\n"
	"  sallyport policy fmt --check team.policy\n";

enum { OPT_CHECK = 1, OPT_HELP };

static int fmt_file(const char *path, bool is_check_only)
{
	auto_free char *shown = text_visible_dup(path);
	struct err why = { 0 };
	bool has_changed = false;

	if (policy_format_file(path, is_check_only, &has_changed, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	if (has_changed)
		(void)printf("%s: %s\n", shown, is_check_only ? "would change" : "laid out");
	return has_changed && is_check_only ? CLI_DENIED : CLI_OK;
}

int cli_policy_fmt(int argc, char **argv)
{
	static const struct option options[] = {
		{ "check", no_argument, NULL, OPT_CHECK },
		{ "help", no_argument, NULL, OPT_HELP },
		{ 0 },
	};
	bool is_check_only = false;
	int worst = CLI_OK;

	optind = 0; /* argv[0] is "fmt" */
	for (int option; (option = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
		if (option == OPT_HELP || option == 'h') {
			(void)fputs(help, stdout);
			return CLI_OK;
		}
		if (option != OPT_CHECK)
			return cli_usage_error("policy fmt", CLI_ERROR, "no such option: %s",
					       argv[optind - 1]);
		is_check_only = true;
	}
	if (optind == argc)
		return cli_usage_error("policy fmt", CLI_ERROR, "which file?");
	for (int i = optind; i < argc; i++) {
		int status = fmt_file(argv[i], is_check_only);

		worst = status > worst ? status : worst;
	}
	return worst;
}
