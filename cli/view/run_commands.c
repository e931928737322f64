#include "cli/view/run_commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
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
static int find_program(const char *program, const struct command_world *world,
			const struct command_verdict *verdict, struct command_file *ret,
			struct err *why)
{
	auto_free char *name = text_visible_dup(program);

	*ret = verdict->program;
	if (ret->path[0])
		return CLI_OK;
	switch (world->resolve(program, ret, world->arg)) {
	case 0:
		return CLI_OK;
	case -EPERM:
		return err_set(why, CLI_REFUSED,
			       "%.200s: PATH has a relative folder before the program's, so any "
			       "file there could take its name; nothing was run",
			       name);
	case -EACCES:
		return err_set(why, CLI_REFUSED, "%.200s is not executable; nothing was run", name);
	default:
		return err_set(why, CLI_NOT_FOUND, "%.200s was not found; nothing was run", name);
	}
}

static int find_own(const struct run_options *options, const struct command_world *world,
		    const struct command_verdict *verdict, struct command_file *ret)
{
	struct err why = { 0 };
	int status = find_program(options->command[0], world, verdict, ret, &why);

	return status == CLI_OK ? CLI_OK : cli_fail(status, "%s", why.text);
}

static const char *reason_of(enum policy_action action, const struct command_verdict *verdict)
{
	if (action == POLICY_ASK)
		return "the policy asks about this command, and there is no terminal to ask on";
	return verdict->action == COMMAND_DENY ? "the policy denies this command"
	       : verdict->action == COMMAND_ASK
		       ? "the policy asks about this command, and its setting `approvals` allows "
			 "no answer"
		       : "the policy has rules for commands, and none allows this one";
}

/* The paths that the command may write. Returned owned; NULL after an error was printed. */
static char **writable_of(const struct run_options *options, const struct run_places *places,
			  const struct policy *policy)
{
	char **writable = NULL;

	if (run_policy_paths(policy, places, POLICY_PATH_WRITE, options->writable, &writable) !=
	    CLI_OK)
		return NULL;
	mem_append_list(&writable, mem_strdup(places->cwd));
	return writable;
}

/* A person who types a command at a terminal is the one who would be asked about it, so typing it
 * counts as the answer. docs/decisions/0009. */
int run_commands_check(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, struct command_file *ret)
{
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
	auto_free_list char **writable = writable_of(options, places, policy);

	if (!writable)
		return CLI_ERROR;
	struct command_world_places where = { places->cwd, run_commands_path(options), writable };

	command_world_init(&world, &where);
	enum policy_action action =
		policy_decide_command(policy, &world, options->command, &verdict, &layer);

	if (action == POLICY_ALLOW || (action == POLICY_ASK && isatty(STDIN_FILENO)))
		return find_own(options, &world, &verdict, ret);
	if (action == POLICY_ASK || verdict.action == COMMAND_UNMATCHED)
		command_proposal(rules, &world, options->command, &proposal);
	return refuse(options, reason_of(action, &verdict), &verdict, &proposal);
}

int run_commands_judge(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, const char *const *argv, bool is_typed,
		       struct command_file *ret, struct err *why)
{
	const struct command_rules *rules = policy_commands(policy);
	struct command_verdict verdict;
	struct command_world world;
	enum policy_layer layer;

	*ret = (struct command_file){ 0 };
	if (!rules || command_rules_count(rules) == 0)
		return CLI_OK;
	auto_free_list char **writable = writable_of(options, places, policy);

	if (!writable)
		return err_set(why, CLI_REFUSED, "the paths of the policy cannot be read");
	struct command_world_places where = { places->cwd, run_commands_path(options), writable };

	command_world_init(&world, &where);
	enum policy_action action = policy_decide_command(policy, &world, argv, &verdict, &layer);

	if (action == POLICY_ALLOW || (action == POLICY_ASK && is_typed))
		return find_program(argv[0], &world, &verdict, ret, why);
	auto_free char *command = text_command_line(argv, SHOWN_MAX);

	return err_set(why, CLI_REFUSED, "%s: %s; nothing was run%s%s", command,
		       reason_of(action, &verdict), verdict.rule[0] ? "; rule: " : "",
		       verdict.rule);
}
