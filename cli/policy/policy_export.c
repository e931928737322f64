#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "policies/policies_tools.h"

static int export_load(struct policy *policy, char **paths)
{
	enum policy_action ignored;
	bool is_bad = false;

	for (; *paths; paths++)
		is_bad |= policy_environment_load(policy, *paths, POLICY_COMMAND_LINE) < 0;
	/* If no file has a default, the default is ask, as in `run`. */
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

	int r = status == CLI_OK ? policy_export(format, policy, is_lossy, &text, &losses, &why)
				 : 0;

	if (r == -ENOTSUP)
		status = options_wrong(CLI_POLICY_EXPORT, "%s", why.text);
	else if (r < 0)
		status = cli_fail(CLI_ERROR, "%s", why.text);
	if (status == CLI_OK) {
		(void)fputs(text, stdout);
		(void)fputs(losses, stderr);
	}
	policy_free(policy);
	return status;
}

int cli_policy_export(const struct options *options)
{
	return export_files(options->operands[0], options->operands + 1,
			    options_has(options, OPT_LOSSY));
}
