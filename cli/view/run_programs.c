#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/agent/command_world.h"
#include "cli/view/run_programs.h"
#include "exec/exec_process.h"
#include "exec/orchestrator/orchestrator_program.h"
#include "policies/policies_tools.h"

/* --intercept-exec: each program that the command starts is judged by the same rules as the
 * command, as the file that is executed. docs/decisions/0030. */

#define REFUSED_MAX 64
#define SHOWN_MAX   256

struct run_programs {
	const char *const *command; /* judged before; borrowed */
	bool has_started;
	const char *path; /* the PATH of the command, borrowed */
	char **writable;
	char *refused[REFUSED_MAX]; /* for the report: "COMMAND: why" */
	size_t refused_count, more;
	char *paths[EXEC_EVIDENCE_MAX]; /* of refused programs, each once */
	size_t path_count;
	run_refused_fn on_refused; /* may be NULL */
	void *arg;
};

struct run_programs *run_programs_new(const char *const *command, const char *path,
				      char *const *writable, const char *cwd)
{
	struct run_programs *programs = mem_new(sizeof(*programs));

	programs->command = command;
	programs->path = path;
	programs->writable = mem_copy_list((const char *const *)writable);
	mem_append_list(&programs->writable, mem_strdup(cwd));
	return programs;
}

void run_programs_free(struct run_programs *programs)
{
	if (!programs)
		return;
	for (size_t i = 0; i < programs->refused_count; i++)
		free(programs->refused[i]);
	for (size_t i = 0; i < programs->path_count; i++)
		free(programs->paths[i]);
	mem_free_list(programs->writable);
	free(programs);
}

void run_programs_on_refused(struct run_programs *programs, run_refused_fn fn, void *arg)
{
	programs->on_refused = fn;
	programs->arg = arg;
}

static bool is_equal(const char *const *left, const char *const *right)
{
	while (*left && *right && strcmp(*left, *right) == 0) {
		left++;
		right++;
	}
	return !*left && !*right;
}

static const char *why_of(enum command_action said, enum policy_action action)
{
	if (said == COMMAND_DENY)
		return "the policy denies this program";
	if (said == COMMAND_ASK)
		return "the policy asks about this program, and `sallyport run` cannot ask about "
		       "programs; `sallyport agent` can";
	return action == POLICY_ASK ? "no rule allows this program, and `sallyport run` cannot ask "
				      "about programs; `sallyport agent` can"
				    : "no rule allows this program";
}

static enum policy_reason reason_of(enum command_action said, enum policy_action action)
{
	if (said == COMMAND_DENY)
		return POLICY_RULE_DENY;
	return said == COMMAND_ASK || action == POLICY_ASK ? POLICY_NO_APPROVER
							   : POLICY_DEFAULT_DENY;
}

/* Keeps the line for the report, each line once. Takes @line. */
static void keep_line(struct run_programs *programs, char *line)
{
	for (size_t i = 0; i < programs->refused_count; i++)
		if (strcmp(programs->refused[i], line) == 0) {
			free(line);
			return;
		}
	if (programs->refused_count < REFUSED_MAX) {
		programs->refused[programs->refused_count++] = line;
	} else {
		programs->more++;
		free(line);
	}
}

static bool has_path(const struct run_programs *programs, const char *path)
{
	for (size_t i = 0; i < programs->path_count; i++)
		if (strcmp(programs->paths[i], path) == 0)
			return true;
	return false;
}

static void note(struct run_programs *programs, const char *const *argv,
		 const struct exec_program *program, const struct command_verdict *verdict,
		 enum policy_action action)
{
	auto_free char *command = text_command_line(argv, SHOWN_MAX);
	auto_free char *path = text_visible_dup(program->path);
	auto_free char *because = text_visible_dup(verdict->because);

	const struct gateway_refused refused = {
		.path = program->path,
		.command = command,
		.reason = reason_of(verdict->action, action),
		.rule = verdict->rule,
		.because = verdict->because,
	};

	if (programs->path_count < EXEC_EVIDENCE_MAX && !has_path(programs, program->path))
		programs->paths[programs->path_count++] = mem_strdup(program->path);
	if (programs->on_refused)
		programs->on_refused(&refused, programs->arg);
	keep_line(programs,
		  mem_printf("%s (%.256s): %s%s%s%s%s", command, path,
			     why_of(verdict->action, action), verdict->rule[0] ? "; " : "",
			     verdict->rule, because[0] ? ", because: " : "", because));
}

void run_programs_refuse(struct run_programs *programs, const char *path)
{
	const struct gateway_refused refused = { .path = path, .reason = POLICY_PROGRAM_UNKNOWN };
	auto_free char *shown = text_visible_dup(path[0] ? path : "(no name)");

	if (has_path(programs, path))
		return; /* run_programs_judge() has reported it */
	if (programs->on_refused)
		programs->on_refused(&refused, programs->arg);
	keep_line(programs, mem_printf("%.256s could not be judged: it has no file, has changed, "
				       "is traced, or has too many words",
				       shown));
}

bool run_programs_judge(struct run_programs *programs, const struct policy *policy,
			const struct exec_program *program, const char *const *argv,
			const char *cwd)
{
	struct command_world_places places = { cwd, programs->path, programs->writable };
	struct command_world world;
	struct command_verdict verdict;
	struct orchestrator_program opened;

	/* The command itself was judged before anything started, and the person who typed it could
	 * be asked. execvp(3) tries several folders of PATH, so the first attempts may fail. */
	if (!programs->has_started && is_equal(argv, programs->command)) {
		programs->has_started = true;
		return true;
	}
	command_world_init(&world, &places);
	enum policy_action action = policy_decide_program(
		policy, &world, orchestrator_program(program, &opened), argv, &verdict);

	if (action != POLICY_ALLOW)
		note(programs, argv, program, &verdict, action);
	return action == POLICY_ALLOW;
}

const char *run_programs_refused(const struct run_programs *programs, size_t index)
{
	return programs && index < programs->refused_count ? programs->refused[index] : NULL;
}

size_t run_programs_more(const struct run_programs *programs)
{
	return programs ? programs->more : 0;
}
