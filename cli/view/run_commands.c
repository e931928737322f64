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
	if (policy_because_adds(verdict->rule, verdict->because))
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
		return "the policy asks about this command, and there is no terminal to ask on "
		       "(on a terminal, typing the command is the answer)";
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

/* What the rules for commands say about a command. Must be freed with judged_done(). */
struct judged {
	const struct command_rules *rules; /* NULL: there are none */
	char **writable;
	struct command_world_places where;
	struct command_world world;
	struct command_verdict verdict;
	enum policy_action action;
};

static void judged_done(struct judged *judged)
{
	mem_free_list(judged->writable);
}

/* CLI_OK, or CLI_ERROR after an error was printed. */
static int judge(struct judged *ret, const struct run_options *options,
		 const struct run_places *places, const struct policy *policy,
		 const char *const *argv)
{
	enum policy_layer layer;

	*ret = (struct judged){ .rules = policy_commands(policy) };
	if (!ret->rules || command_rules_count(ret->rules) == 0) {
		ret->rules = NULL;
		return CLI_OK;
	}
	ret->writable = writable_of(options, places, policy);
	if (!ret->writable)
		return CLI_ERROR;
	ret->where = (struct command_world_places){ places->cwd, run_commands_path(options),
						    ret->writable };
	command_world_init(&ret->world, &ret->where);
	ret->action = policy_decide_command(policy, &ret->world, argv, &ret->verdict, &layer);
	return CLI_OK;
}

/* A person who types a command at a terminal is the one who would be asked about it, so typing it
 * counts as the answer. docs/decisions/0009. Where programs are judged, what a shell executes is
 * decided then. */
static bool is_allowed(const struct judged *judged, bool is_typed, bool judges_programs)
{
	bool is_later = judges_programs && judged->verdict.own == COMMAND_ALLOW;

	return judged->action == POLICY_ALLOW ||
	       (judged->action == POLICY_ASK && (is_typed || is_later));
}

static int check_judged(const struct run_options *options, const struct judged *judged,
			struct command_file *ret)
{
	struct command_proposal proposal = { 0 };

	if (is_allowed(judged, isatty(STDIN_FILENO), options->must_judge_programs))
		return find_own(options, &judged->world, &judged->verdict, ret);
	if (judged->action == POLICY_ASK || judged->verdict.action == COMMAND_UNMATCHED)
		command_proposal(judged->rules, &judged->world, options->command, &proposal);
	return refuse(options, reason_of(judged->action, &judged->verdict), &judged->verdict,
		      &proposal);
}

int run_commands_check(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, struct command_file *ret)
{
	struct judged judged;

	*ret = (struct command_file){ 0 };
	int status = judge(&judged, options, places, policy, options->command);

	if (status == CLI_OK && judged.rules)
		status = check_judged(options, &judged, ret);
	else if (status == CLI_OK && options->must_judge_programs)
		status = options_wrong(options->given_to,
				       "--intercept-exec needs rules for commands in the policy; "
				       "see sallyport-commands(7)");
	judged_done(&judged);
	return status;
}

static int refuse_judged(const struct judged *judged, const char *const *argv, struct err *why)
{
	auto_free char *command = text_command_line(argv, SHOWN_MAX);
	const char *rule = judged->verdict.rule;

	return err_set(why, CLI_REFUSED, "%s: %s; nothing was run%s%s", command,
		       reason_of(judged->action, &judged->verdict), rule[0] ? "; rule: " : "",
		       rule);
}

int run_commands_judge(const struct run_options *options, const struct run_places *places,
		       const struct policy *policy, const char *const *argv, bool is_typed,
		       struct command_file *ret, struct err *why)
{
	struct judged judged;

	*ret = (struct command_file){ 0 };
	int status = judge(&judged, options, places, policy, argv);

	if (status != CLI_OK)
		status = err_set(why, CLI_REFUSED, "the paths of the policy cannot be read");
	else if (judged.rules && is_allowed(&judged, is_typed, false))
		status = find_program(argv[0], &judged.world, &judged.verdict, ret, why);
	else if (judged.rules)
		status = refuse_judged(&judged, argv, why);
	judged_done(&judged);
	return status;
}
