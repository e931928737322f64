#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/policy/policy_environment.h"
#include "policies/policies_tools.h"

static bool check_file(const char *path, enum policy_layer layer)
{
	struct policy *policy = policy_new();
	auto_free char *shown = text_visible_dup(path);
	enum policy_action ignored;
	bool is_good = policy_environment_load(policy, path, layer) == 0;

	/* If no file has a default, the default is ask, as in `run`. */
	if (!policy_get_default(policy, &ignored))
		policy_set_default(policy, POLICY_ASK);
	is_good = is_good && policy_finish(policy) == 0;
	if (is_good)
		(void)printf("%s: ok (%zu rule%s)\n", shown, policy_rule_count(policy),
			     policy_rule_count(policy) == 1 ? "" : "s");
	if (is_good)
		policy_note_dead(policy, (int64_t)time(NULL));
	(void)fputs(is_good ? policy_notes(policy) : policy_errors(policy), stderr);
	policy_free(policy);
	return is_good;
}

int cli_policy_check(const struct options *options)
{
	enum policy_layer layer =
		options_has(options, OPT_MANAGED) ? POLICY_MANAGED : POLICY_COMMAND_LINE;
	bool is_good = true;

	for (char **path = options->operands; *path; path++)
		is_good &= check_file(*path, layer);
	return is_good ? CLI_OK : CLI_ERROR;
}
