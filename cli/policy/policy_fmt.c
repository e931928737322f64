#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "policies/policies_tools.h"

static int fmt_file(const char *path, bool is_check_only)
{
	auto_free char *shown = text_visible_dup(path);
	struct err why = { 0 };
	bool has_changed = false;

	if (policy_format_file(path, is_check_only, &has_changed, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	if (has_changed)
		(void)printf("%s: %s\n", shown,
			     is_check_only ? "its layout would change" : "its layout was changed");
	return has_changed && is_check_only ? CLI_DENIED : CLI_OK;
}

int cli_policy_fmt(const struct options *options)
{
	bool is_check_only = options_has(options, OPT_FMT_CHECK);
	int worst = CLI_OK;

	for (char **path = options->operands; *path; path++) {
		int status = fmt_file(*path, is_check_only);

		worst = status > worst ? status : worst;
	}
	return worst;
}
