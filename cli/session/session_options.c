#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/session/session_holder.h"

#define IDLE_DEFAULT_MS (30 * 60 * 1000)

/* Makes the names of policies absolute: a run that joins looks them up again, from another folder.
 */
static void make_absolute(struct session_start *start)
{
	char **policies = start->options.policies;
	auto_free char *cwd = get_current_dir_name();

	for (size_t i = 0; cwd && policies && policies[i]; i++) {
		if (policies[i][0] == '/')
			continue;
		mem_append_list(&start->words, mem_printf("%s/%s", cwd, policies[i]));
		for (size_t last = 0; start->words[last]; last++)
			policies[i] = start->words[last];
	}
}

int session_options_take(struct session_start *start, const struct options *given)
{
	static const char *const command[] = { "session", NULL }; /* a session has no command */
	const char *idle = options_get(given, OPT_IDLE);

	*start = (struct session_start){
		.name = given->operands[0],
		.idle_ms = IDLE_DEFAULT_MS,
		.is_foreground = options_has(given, OPT_FOREGROUND),
		.is_if_needed = options_has(given, OPT_IF_NEEDED),
	};
	int status = run_options_take(&start->options, given);

	start->options.command = command;
	if (status != CLI_OK)
		return status;
	if (idle && (text_to_duration_ms(idle, &start->idle_ms) < 0 || start->idle_ms == 0))
		return options_wrong(given->command, "--idle needs a time such as 30m");
	if (start->name && !session_place_is_name(start->name))
		return options_wrong(given->command,
				     "a session's name has 1 to 32 letters, digits, _, . and -, "
				     "and does not start with . or -");
	if (start->is_if_needed && start->options.grants_of)
		return options_wrong(given->command,
				     "--if-needed and --grants-of cannot be given together: a "
				     "session that exists keeps its own answers");
	make_absolute(start);
	return CLI_OK;
}

void session_options_free(struct session_start *start)
{
	run_options_free(&start->options);
	mem_free_list(start->words);
	*start = (struct session_start){ 0 };
}
