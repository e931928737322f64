#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_world.h"
#include "cli/run_programs.h"
#include "exec/exec.h"
#include "policies/policies_tools.h"

/* --intercept-exec: what the command starts is judged by the rules that judge the command, one
 * program at a time, each as the file that it is. docs/decisions/0152. */

#define REFUSED_MAX 64
#define SHOWN_MAX   256

struct run_programs {
	const char *const *command; /* which has been judged; borrowed */
	bool has_started;
	const char *path; /* PATH of the command, borrowed */
	char **writable;
	char *refused[REFUSED_MAX]; /* for the report: "COMMAND: why" */
	size_t refused_count, more;
	char *paths[EXEC_EVIDENCE_MAX]; /* of what was judged and refused, each once */
	size_t path_count;
	run_refused_fn on_refused; /* may be NULL */
	void *arg;
};

struct world {
	struct command_world world;
	struct command_world_places places;
	const struct exec_program *program;
};

/* The program's own path stands for the file that was opened, not for what has that name by now. */
static int resolve(const char *name, struct command_file *ret, void *arg)
{
	struct world *world = arg;

	if (strcmp(name, world->program->path) != 0)
		return world->world.resolve(name, ret, &world->places);
	if (strlen(name) >= sizeof(ret->path))
		return -ENAMETOOLONG;
	*ret = (struct command_file){ .device = world->program->device,
				      .inode = world->program->inode };
	(void)snprintf(ret->path, sizeof(ret->path), "%s", name);
	return 0;
}

static bool may_write(const char *path, void *arg)
{
	struct world *world = arg;

	return world->world.may_write(path, &world->places);
}

struct run_programs *run_programs_new(const char *const *command, const char *path,
				      char *const *writable, const char *cwd)
{
	struct run_programs *programs = mem_new(sizeof(*programs));
	size_t count = 0;

	while (writable && writable[count])
		count++;
	programs->command = command;
	programs->path = path;
	programs->writable = mem_new_array(count + 2, sizeof(char *));
	for (size_t i = 0; i < count; i++)
		programs->writable[i] = mem_strdup(writable[i]);
	programs->writable[count] = mem_strdup(cwd);
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

/* Is the name that the program was given a name of the file that it is? Any other is the caller's
 * invention, and allows nothing. */
static bool is_true_name(const struct world *world, const char *name)
{
	struct command_file file;

	return world->world.resolve(name, &file, (void *)(uintptr_t)&world->places) == 0 &&
	       file.device == world->program->device && file.inode == world->program->inode;
}

enum opinion { DENIES, ASKS, IS_SILENT, ALLOWS };

static enum opinion opinion_of(const struct command_verdict *verdict, enum policy_action action)
{
	if (action == POLICY_DENY && verdict->action == COMMAND_DENY)
		return DENIES;
	if (verdict->action == COMMAND_ASK)
		return ASKS;
	if (verdict->action == COMMAND_UNMATCHED)
		return IS_SILENT;
	return action == POLICY_ALLOW ? ALLOWS : DENIES;
}

struct judged {
	bool is_allowed;
	struct command_verdict verdict;
	const char *why;
	enum policy_reason reason;
};

static const char *why_of(enum opinion opinion, enum policy_action by_default)
{
	switch (opinion) {
	case DENIES:
		return "the policy denies this program";
	case ASKS:
		return "the policy asks about this program, which `sallyport run` cannot; "
		       "`sallyport agent` can";
	case IS_SILENT:
	case ALLOWS:
	default:
		return by_default == POLICY_ASK ? "no rule allows this program, and `sallyport "
						  "run` cannot ask about "
						  "it; `sallyport agent` can"
						: "no rule allows this program";
	}
}

static enum opinion combine(enum opinion by_file, enum opinion by_name, bool is_true)
{
	if (by_file == DENIES || by_name == DENIES)
		return DENIES;
	if (by_file == ASKS || (is_true && by_name == ASKS))
		return ASKS;
	return by_file == ALLOWS || (is_true && by_name == ALLOWS) ? ALLOWS : IS_SILENT;
}

/* By the file's own name, and by the one it was started with: links such as sh, and programs that
 * do different things by different names. A denial of either counts; so does an allowance, unless
 * the name is invented. */
static void judge(const struct policy *policy, struct world *world, const char *const *argv,
		  struct judged *ret)
{
	struct command_world by_rules = { resolve, may_write, world };
	struct command_verdict as_named;
	enum policy_layer layer;
	size_t argc = 0;

	while (argv[argc])
		argc++;
	auto_free const char **words = mem_new_array(argc + 1, sizeof(*words));

	memcpy(words, argv, argc * sizeof(*words));
	words[0] = world->program->path;
	enum policy_action action =
		policy_decide_command(policy, &by_rules, words, &ret->verdict, &layer);
	enum opinion by_file = opinion_of(&ret->verdict, action);
	enum policy_action named =
		policy_decide_command(policy, &by_rules, argv, &as_named, &layer);
	enum opinion by_name = opinion_of(&as_named, named);
	enum opinion opinion = combine(by_file, by_name, is_true_name(world, argv[0]));

	if (opinion != by_file)
		ret->verdict = as_named;
	ret->is_allowed = opinion == ALLOWS || (opinion == IS_SILENT && action == POLICY_ALLOW);
	ret->why = why_of(opinion, action);
	ret->reason = opinion == DENIES                         ? POLICY_RULE_DENY
		      : opinion == ASKS || action == POLICY_ASK ? POLICY_NO_APPROVER
								: POLICY_DEFAULT_DENY;
}

/* For the report, once. Takes @line. */
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
		 const struct exec_program *program, const struct judged *judged)
{
	auto_free char *command = text_command_line(argv, SHOWN_MAX);
	auto_free char *path = text_visible_dup(program->path);
	auto_free char *because = text_visible_dup(judged->verdict.because);

	const struct gateway_refused refused = {
		.path = program->path,
		.command = command,
		.reason = judged->reason,
		.rule = judged->verdict.rule,
		.because = judged->verdict.because,
	};

	if (programs->path_count < EXEC_EVIDENCE_MAX && !has_path(programs, program->path))
		programs->paths[programs->path_count++] = mem_strdup(program->path);
	if (programs->on_refused)
		programs->on_refused(&refused, programs->arg);
	keep_line(programs, mem_printf("%s (%.256s): %s%s%s%s%s", command, path, judged->why,
				       judged->verdict.rule[0] ? "; " : "", judged->verdict.rule,
				       because[0] ? ", because: " : "", because));
}

void run_programs_refuse(struct run_programs *programs, const char *path)
{
	const struct gateway_refused refused = { .path = path, .reason = POLICY_PROGRAM_UNKNOWN };
	auto_free char *shown = text_visible_dup(path[0] ? path : "(no name)");

	if (has_path(programs, path))
		return; /* by a judgement, which has told */
	if (programs->on_refused)
		programs->on_refused(&refused, programs->arg);
	keep_line(programs,
		  mem_printf("%.256s: it could not be judged: it has no file, or changed, or is "
			     "traced, or has too many words",
			     shown));
}

/* A script says by its first line which program reads it: one that is denied reads no script. */
static void judge_interpreter(const struct policy *policy, struct world *world,
			      struct judged *judged)
{
	const struct exec_program *script = world->program;
	const char *const words[] = { script->interpreter->path, script->path, NULL };
	struct judged by = { 0 };

	world->program = script->interpreter;
	judge(policy, world, words, &by);
	world->program = script;
	if (by.verdict.action == COMMAND_DENY)
		*judged = by;
}

bool run_programs_judge(struct run_programs *programs, const struct policy *policy,
			const struct exec_program *program, const char *const *argv,
			const char *cwd)
{
	struct world world = { .places = { cwd, programs->path, programs->writable },
			       .program = program };
	struct judged judged;

	/* Judged before anything started, with the person who typed it as the one to ask. It fails
	 * in some folders of PATH before it is found in another. */
	if (!programs->has_started && is_equal(argv, programs->command)) {
		programs->has_started = true;
		return true;
	}
	command_world_init(&world.world, &world.places);
	judge(policy, &world, argv, &judged);
	if (program->interpreter)
		judge_interpreter(policy, &world, &judged);
	if (!judged.is_allowed)
		note(programs, argv, program, &judged);
	return judged.is_allowed;
}

const char *run_programs_refused(const struct run_programs *programs, size_t index)
{
	return programs && index < programs->refused_count ? programs->refused[index] : NULL;
}

size_t run_programs_more(const struct run_programs *programs)
{
	return programs ? programs->more : 0;
}
