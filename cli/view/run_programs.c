#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/agent/command_world.h"
#include "cli/view/program_asks.h"
#include "cli/view/run_programs.h"
#include "exec/exec_process.h"
#include "exec/orchestrator/orchestrator_judge.h"
#include "policies/policies_tools.h"

/* --intercept-exec: each program that the command starts is judged by the same rules as the
 * command, as the file that is executed. docs/decisions/0030. */

#define REFUSED_MAX 64
#define SHOWN_MAX   256

struct run_programs {
	struct run_programs_config config;
	bool has_started;
	struct orchestrator_judge *judge;
	struct orchestrator_judge *again; /* what a person has allowed */
	struct program_asks *asks;        /* NULL: nobody is asked */
	char **writable;
	char *refused[REFUSED_MAX]; /* for the report: "COMMAND: why" */
	size_t refused_count, more;
	char *paths[EXEC_EVIDENCE_MAX]; /* of refused programs, each once */
	size_t path_count;
};

static bool is_asked(const struct orchestrator_judgement *judgement)
{
	return judgement->verdict.action == COMMAND_ASK ||
	       (judgement->verdict.action != COMMAND_DENY && judgement->action == POLICY_ASK);
}

/* @reason: why nobody was asked about a program that a person may allow. */
static const char *why_of(enum command_action said, enum policy_reason reason)
{
	if (said == COMMAND_DENY)
		return "the policy denies this program";
	if (reason == POLICY_OVERLOADED)
		return "there were too many questions about programs";
	if (said == COMMAND_ASK)
		return "the policy asks about this program, and nobody could be asked";
	return reason == POLICY_NO_APPROVER
		       ? "no rule allows this program, and nobody could be asked"
		       : "no rule allows this program";
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

static void keep_path(struct run_programs *programs, const char *path)
{
	if (programs->path_count < EXEC_EVIDENCE_MAX && !has_path(programs, path))
		programs->paths[programs->path_count++] = mem_strdup(path);
}

static void note(struct run_programs *programs, const struct orchestrator_judged *judged,
		 const struct command_verdict *verdict, enum policy_reason reason)
{
	auto_free char *command = text_command_line(judged->argv, SHOWN_MAX);
	auto_free char *path = text_visible_dup(judged->program->path);
	bool has_because = policy_because_adds(verdict->rule, verdict->because);
	auto_free char *because = text_visible_dup(has_because ? verdict->because : "");

	const struct gateway_refused refused = {
		.path = judged->program->path,
		.command = command,
		.reason = reason,
		.rule = verdict->rule,
		.because = verdict->because,
	};

	keep_path(programs, judged->program->path);
	programs->config.on_refused(&refused, programs->config.arg);
	keep_line(programs,
		  mem_printf("%s (%.256s): %s%s%s%s%s", command, path,
			     why_of(verdict->action, reason), verdict->rule[0] ? "; " : "",
			     verdict->rule, has_because ? "; because: " : "", because));
}

/* @why: for people. */
static void note_unknown(struct run_programs *programs, const char *path, const char *command,
			 const char *why)
{
	const struct gateway_refused refused = {
		.path = path, .command = command, .reason = POLICY_PROGRAM_UNKNOWN, .because = why
	};
	auto_free char *shown = text_visible_dup(path[0] ? path : "(no name)");

	programs->config.on_refused(&refused, programs->config.arg);
	keep_line(programs, mem_printf("%.256s could not be judged: %s", shown, why));
}

void run_programs_refuse(struct run_programs *programs, const char *path)
{
	if (!has_path(programs, path)) /* else it was reported when it was judged */
		note_unknown(programs, path, NULL,
			     "it has no file, has changed, is traced, or has too many words");
}

/* In a separate process. May the command change the file? It also can if the sandbox has another
 * file at its path than the machine, as in its own /tmp. */
static bool is_theirs(const struct run_programs *programs, const struct command_world *world,
		      const struct exec_program *program)
{
	struct command_file here;

	if (world->resolve(program->path, &here, world->arg) < 0 ||
	    here.device != program->device || here.inode != program->inode)
		return true;
	for (char *const *at = programs->writable; *at; at++)
		if (command_world_is_below(program->path, *at))
			return true;
	return program->interpreter && is_theirs(programs, world, program->interpreter);
}

/* In a separate process. The verdict's program has no path if it is theirs. */
static int decide(const struct orchestrator_judged *judged, const struct command_opened *opened,
		  struct command_verdict *ret, void *arg)
{
	struct run_programs *programs = arg;
	struct command_world_places places = { judged->cwd, programs->config.path,
					       programs->writable };
	struct command_world world;

	command_world_init(&world, &places);
	int action = (int)policy_decide_program(*programs->config.policy, &world, opened,
						judged->argv, ret);

	ret->program = (struct command_file){ 0 };
	if (!is_theirs(programs, &world, judged->program))
		(void)snprintf(ret->program.path, sizeof(ret->program.path), "%s",
			       judged->program->path);
	return action;
}

static void refuse_unjudged(struct run_programs *programs, const struct orchestrator_judged *judged,
			    const char *why)
{
	auto_free char *command = text_command_line(judged->argv, SHOWN_MAX);

	keep_path(programs, judged->program->path);
	note_unknown(programs, judged->program->path, command, why);
	programs->config.answer(judged->id, false, programs->config.arg);
}

/* ASK: no earlier answer decides it. */
static enum policy_action earlier(const struct run_programs *programs,
				  const struct orchestrator_judged *judged,
				  const struct orchestrator_judgement *judgement)
{
	return programs->asks && is_asked(judgement) ? program_asks_know(programs->asks, judged)
						     : POLICY_ASK;
}

static enum policy_reason denial_of(const struct orchestrator_judgement *judgement)
{
	return judgement->verdict.action == COMMAND_DENY ? POLICY_RULE_DENY : POLICY_DEFAULT_DENY;
}

/* POLICY_NONE: a question is open. Else the reason of the denial. */
static enum policy_reason ask(struct run_programs *programs,
			      const struct orchestrator_judged *judged,
			      const struct orchestrator_judgement *judgement)
{
	const struct command_verdict *verdict = &judgement->verdict;

	if (!is_asked(judgement))
		return denial_of(judgement);
	if (!programs->asks)
		return POLICY_NO_APPROVER;
	return program_asks_add(programs->asks, judged, verdict, verdict->program.path[0] != '\0');
}

static void deny(struct run_programs *programs, const struct orchestrator_judged *judged,
		 const struct orchestrator_judgement *judgement, enum policy_reason reason)
{
	note(programs, judged, &judgement->verdict, reason);
	programs->config.answer(judged->id, false, programs->config.arg);
}

static void on_judged(const struct orchestrator_judged *judged,
		      const struct orchestrator_judgement *judgement, const char *why, void *arg)
{
	struct run_programs *programs = arg;

	if (!judgement)
		return refuse_unjudged(programs, judged, why);
	enum policy_action known = judgement->action == POLICY_ALLOW
					   ? POLICY_ALLOW
					   : earlier(programs, judged, judgement);

	if (known != POLICY_ASK)
		return programs->config.answer(judged->id, known == POLICY_ALLOW,
					       programs->config.arg);
	enum policy_reason reason = ask(programs, judged, judgement);

	if (reason != POLICY_NONE)
		deny(programs, judged, judgement, reason);
	/* else on_answered() follows */
}

/* The policy may have changed while a person was asked: what it denies now is denied. */
static void on_judged_again(const struct orchestrator_judged *judged,
			    const struct orchestrator_judgement *judgement, const char *why,
			    void *arg)
{
	struct run_programs *programs = arg;

	if (!judgement)
		refuse_unjudged(programs, judged, why);
	else if (judgement->action == POLICY_ALLOW || is_asked(judgement))
		programs->config.answer(judged->id, true, programs->config.arg);
	else
		deny(programs, judged, judgement, denial_of(judgement));
}

static void judge(struct run_programs *programs, struct orchestrator_judge *by,
		  const struct orchestrator_judged *judged)
{
	if (orchestrator_judge_add(by, judged) < 0)
		refuse_unjudged(programs, judged, "too many programs wait for their judgement");
}

static void on_answered(const struct program_answer *answer, void *arg)
{
	struct run_programs *programs = arg;
	struct orchestrator_judged judged = *answer->judged;
	auto_free char *command = text_command_line(judged.argv, SHOWN_MAX);
	auto_free char *path = text_visible_dup(judged.program->path);

	if (!answer->is_allowed) {
		keep_path(programs, judged.program->path);
		keep_line(programs, mem_printf("%s (%.256s): %s", command, path, answer->how));
	}
	for (size_t i = 0; i < answer->id_count; i++) {
		judged.id = answer->ids[i];
		if (answer->is_allowed)
			judge(programs, programs->again, &judged);
		else
			programs->config.answer(judged.id, false, programs->config.arg);
	}
}

static void on_abort(void *arg)
{
	const struct run_programs *programs = arg;

	programs->config.on_abort(programs->config.arg);
}

static struct program_asks *asks_of(struct run_programs *programs)
{
	const struct run_programs_config *of = &programs->config;
	const struct program_asks_config config = {
		.loop = of->loop,
		.gateway = of->gateway,
		.exec = of->exec,
		.timeout_ms = of->question_ms,
		.may_wait = of->may_wait,
		.done = on_answered,
		.on_abort = on_abort,
		.arg = programs,
	};

	return of->gateway ? program_asks_new(&config) : NULL;
}

struct run_programs *run_programs_new(const struct run_programs_config *config)
{
	struct run_programs *programs = mem_new(sizeof(*programs));
	struct orchestrator_judge_config judge = {
		.loop = config->loop, .decide = decide, .done = on_judged, .arg = programs
	};

	programs->config = *config;
	programs->judge = orchestrator_judge_new(&judge);
	judge.done = on_judged_again;
	programs->again = orchestrator_judge_new(&judge);
	programs->asks = asks_of(programs);
	programs->writable = mem_copy_list((const char *const *)config->writable);
	mem_append_list(&programs->writable, mem_strdup(config->cwd));
	return programs;
}

void run_programs_end(struct run_programs *programs)
{
	if (!programs)
		return;
	orchestrator_judge_free(take(programs->judge));
	orchestrator_judge_free(take(programs->again));
	program_asks_free(take(programs->asks));
}

void run_programs_free(struct run_programs *programs)
{
	if (!programs)
		return;
	run_programs_end(programs);
	for (size_t i = 0; i < programs->refused_count; i++)
		free(programs->refused[i]);
	for (size_t i = 0; i < programs->path_count; i++)
		free(programs->paths[i]);
	mem_free_list(programs->writable);
	free(programs);
}

/* The command itself was judged before anything started, and the person who typed it could be
 * asked. execvp(3) tries several folders of PATH, so the first attempts may fail. */
void run_programs_judge(struct run_programs *programs, const struct orchestrator_judged *judged)
{
	if (!programs->has_started && mem_is_same_list(judged->argv, programs->config.command)) {
		programs->has_started = true;
		programs->config.answer(judged->id, true, programs->config.arg);
	} else {
		judge(programs, programs->judge, judged);
	}
}

const char *run_programs_refused(const struct run_programs *programs, size_t index)
{
	return programs && index < programs->refused_count ? programs->refused[index] : NULL;
}

size_t run_programs_more(const struct run_programs *programs)
{
	return programs ? programs->more : 0;
}
