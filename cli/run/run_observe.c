#include "cli/run/run_observe.h"

#include <stddef.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/run/run_options.h"

int run_observe_check(struct run_options *options, const struct options *given)
{
	static const enum cli_option others[] = { OPT_JOIN,        OPT_DEFAULT, OPT_REVIEWER,
						  OPT_FAIL_ON_ASK, OPT_CI,      OPT_BUNDLE };

	if (!options->is_observing)
		return CLI_OK;
	int status = options_exclude(given, OPT_OBSERVE, others, ARRAY_SIZE(others),
				     "a run that observes asks nothing");
	if (status != CLI_OK)
		return status;
	if (options->network == EXEC_NETWORK_ENABLED)
		return options_wrong(given->command,
				     "--observe needs the gate, and --sandbox external:network "
				     "does without it");
	options->has_default = true;
	options->default_action = POLICY_ASK;
	return CLI_OK;
}

void run_observe_begin(const struct run_options *options)
{
	if (!options->is_observing)
		return;
	(void)cli_fail(0, "OBSERVING: every destination that no rule denies is allowed and "
			  "recorded, and nobody is asked");
	(void)cli_fail(0, "OBSERVING: the command can send what it can read to any server; private "
			  "addresses and cloud metadata stay denied");
}

void run_observe_end(const struct run_options *options, const char *run)
{
	if (options->is_observing)
		(void)cli_fail(0,
			       "OBSERVING has ended; for a policy from what was seen: `sallyport "
			       "policy suggest --run %s`",
			       run);
}
