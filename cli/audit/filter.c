#include "cli/audit/filter.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/process/user.h"
#include "base/text.h"
#include "cli/audit/selection.h"
#include "cli/audit/store/store.h"
#include "cli/cli.h"
#include "cli/options.h"

#define LIMIT_MAX 1000000

/* In the order of the words of --verdict in options.def. */
static const enum store_verdict verdicts[] = { STORE_ALLOW, STORE_DENY, STORE_UNANSWERED,
					       STORE_FAILED };

static int take_limit(struct store_filter *ret, const struct options *options)
{
	const char *limit = options_get(options, OPT_LIMIT);

	if (!limit)
		return CLI_OK;
	if (text_to_u64(limit, strlen(limit), LIMIT_MAX, &ret->limit) == 0 && ret->limit > 0)
		return CLI_OK;
	auto_free char *shown = text_visible_dup(limit);

	return options_wrong(options->command, "--limit: `%s` is not a number from 1 to %d", shown,
			     LIMIT_MAX);
}

/* Records have the number; a name stands for the number that it has on this machine. */
static int take_user(struct store_filter *ret, const struct options *options)
{
	const char *user = options_get(options, OPT_OF_USER);
	uint64_t number;

	if (!user)
		return CLI_OK;
	struct user known;

	if (user_find_named(user, &known))
		number = known.uid;
	else if (text_to_u64(user, strlen(user), UINT32_MAX, &number) < 0) {
		auto_free char *shown = text_visible_dup(user);

		return options_wrong(options->command, "--user: there is no user `%s`", shown);
	}
	(void)snprintf(ret->user, sizeof(ret->user), "%" PRIu64, number);
	return CLI_OK;
}

int filter_take(struct store_filter *ret, const struct options *options,
		const struct selection *selection)
{
	size_t verdict = options_choice(options, OPT_VERDICT, ARRAY_SIZE(verdicts));

	ret->host = options_get(options, OPT_OF_HOST);
	ret->domain = options_get(options, OPT_OF_DOMAIN);
	ret->rule = options_get(options, OPT_OF_RULE);
	ret->person = options_get(options, OPT_OF_PERSON);
	ret->program = options_get(options, OPT_OF_PROGRAM);
	ret->session = options_get(options, OPT_OF_SESSION);
	ret->event = options_get(options, OPT_OF_EVENT);
	ret->run = selection->run[0] ? selection->run : NULL;
	ret->since_us = selection->since_us;
	ret->until_us = selection->until_us;
	if (verdict < ARRAY_SIZE(verdicts))
		ret->verdict = verdicts[verdict];
	int status = take_user(ret, options);

	return status == CLI_OK ? take_limit(ret, options) : status;
}
