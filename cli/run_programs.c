#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command_world.h"
#include "cli/run_impl.h"
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
	mem_free_list(programs->writable);
	free(programs);
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
}

static void note(struct run_programs *programs, const char *const *argv,
		 const struct exec_program *program, const struct judged *judged)
{
	auto_free char *command = text_command_line(argv, SHOWN_MAX);
	auto_free char *path = text_visible_dup(program->path);
	auto_free char *because = text_visible_dup(judged->verdict.because);

	auto_free char *line = mem_printf("%s (%.256s): %s%s%s%s%s", command, path, judged->why,
					  judged->verdict.rule[0] ? "; " : "", judged->verdict.rule,
					  because[0] ? ", because: " : "", because);

	for (size_t i = 0; i < programs->refused_count; i++)
		if (strcmp(programs->refused[i], line) == 0)
			return;
	if (programs->refused_count == REFUSED_MAX)
		programs->more++;
	else
		programs->refused[programs->refused_count++] = take(line);
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
