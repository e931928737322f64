#include "cli/view/run_commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/agent/command_world.h"
#include "cli/run/run_options.h"
#include "cli/view/run_places.h"
#include "cli/run/run_policy.h"
#include "policies/policies_tools.h"

#define SHOWN_MAX 512

const char *run_commands_path(const struct run_options *options)
{
	const char *path = getenv("PATH");

	for (char *const *at = options->env_set; at && *at; at++) {
		if (strncmp(*at, "PATH=", 5) == 0)
			path = *at + 5;
	}
	return path;
}

static int refuse(const struct run_options *options, const char *why,
		  const struct command_verdict *verdict, const struct command_proposal *proposal)
{
	auto_free char *command = text_command_line(options->command, SHOWN_MAX);
	auto_free char *because = text_visible_dup(verdict->because);
	auto_free char *obstacle = text_visible_dup(verdict->why);

	(void)cli_fail(0, "%s: %s; nothing was run", command, why);
	if (verdict->piece_text[0] && strcmp(verdict->piece_text, command) != 0)
		(void)cli_fail(0, "this part of the command is refused: %s", verdict->piece_text);
	if (verdict->rule[0])
		(void)cli_fail(0, "rule: %s", verdict->rule);
	if (cli_because_adds(verdict->rule, verdict->because))
		(void)cli_fail(0, "because: %s", because);
	if (obstacle[0])
		(void)cli_fail(0, "%s", obstacle);
	for (size_t i = 0; i < proposal->count; i++) {
		auto_free char *line = text_visible_dup(proposal->lines[i]);

		(void)cli_fail(0, "to allow it, add to a policy: %s", line);
	}
	return CLI_REFUSED;
}

/* Only the program that the policy decided about may be executed. A name that could not be resolved
 * then, or that the working directory could provide, is not run. */
static int find_program(const struct run_options *options, const struct command_world *world,
			const struct command_verdict *verdict, struct command_file *ret)
{
	auto_free char *name = text_visible_dup(options->command[0]);

	*ret = verdict->program;
	if (ret->path[0])
		return CLI_OK;
	switch (world->resolve(options->command[0], ret, world->arg)) {
	case 0:
		return CLI_OK;
	case -EPERM:
		return cli_fail(CLI_REFUSED,
				"%s: PATH has a relative folder before the program's, so any file "
				"there could take its name; nothing was run",
				name);
	case -EACCES:
		return cli_fail(CLI_REFUSED, "%s is not executable; nothing was run", name);
	default:
		return cli_fail(CLI_NOT_FOUND, "%s was not found; nothing was run", name);
	}
}

/* A person who types a command at a terminal is the one who would be asked about it, so typing it
 * counts as the answer. docs/decisions/0009. */
int run_commands_check(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, struct command_file *ret)
{
	auto_free_list char **writable = NULL;
	const struct command_rules *rules = policy_commands(policy);
	struct command_proposal proposal = { 0 };
	struct command_verdict verdict;
	struct command_world world;
	enum policy_layer layer;

	*ret = (struct command_file){ 0 };
	if (!rules || command_rules_count(rules) == 0)
		return options->must_judge_programs
			       ? options_wrong(options->given_to,
					       "--intercept-exec needs rules for commands in the "
					       "policy; see sallyport-commands(7)")
			       : CLI_OK;
	int status =
		run_policy_paths(policy, places, POLICY_PATH_WRITE, options->writable, &writable);

	if (status != CLI_OK)
		return status;
	mem_append_list(&writable, mem_strdup(places->cwd));

	struct command_world_places where = { places->cwd, run_commands_path(options), writable };

	command_world_init(&world, &where);
	switch (policy_decide_command(policy, &world, options->command, &verdict, &layer)) {
	case POLICY_ALLOW:
		return find_program(options, &world, &verdict, ret);
	case POLICY_ASK:
		if (isatty(STDIN_FILENO))
			return find_program(options, &world, &verdict, ret);
		command_proposal(rules, &world, options->command, &proposal);
		return refuse(
			options,
			"the policy asks about this command, and there is no terminal to ask on",
			&verdict, &proposal);
	case POLICY_DENY:
	default:
		if (verdict.action == COMMAND_UNMATCHED)
			command_proposal(rules, &world, options->command, &proposal);
		return refuse(options,
			      verdict.action == COMMAND_DENY ? "the policy denies this command"
			      : verdict.action == COMMAND_ASK
				      ? "the policy asks about this command, and its setting "
					"`approvals` allows no answer"
				      : "the policy has rules for commands, and none allows this "
					"one",
			      &verdict, &proposal);
	}
}
