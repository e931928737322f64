#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "policies/commands/command_rules_impl.h"
#include "policies/commands/commands.h"

/* A world in which the program's own path means the file that was opened, whatever that path leads
 * to by now. */
struct opened {
	const struct command_world *world;
	const struct command_opened *program;
	const struct command_rules *rules;
};

static int look_up(const struct command_world *world, const char *name, struct command_file *ret)
{
	return world && world->resolve ? world->resolve(name, ret, world->arg) : -ENOENT;
}

static int resolve(const char *name, struct command_file *ret, void *arg)
{
	const struct opened *opened = arg;

	if (strcmp(name, opened->program->path) != 0)
		return look_up(opened->world, name, ret);
	if (strlen(name) >= sizeof(ret->path))
		return -ENAMETOOLONG;
	*ret = (struct command_file){ .device = opened->program->device,
				      .inode = opened->program->inode };
	(void)snprintf(ret->path, sizeof(ret->path), "%s", name);
	return 0;
}

static bool may_write(const char *path, void *arg)
{
	const struct opened *opened = arg;

	return opened->world && opened->world->may_write &&
	       opened->world->may_write(path, opened->world->arg);
}

/* Is @name a name of the opened file? Any other name was chosen by the caller. */
static bool is_true_name(const struct opened *opened, const char *name)
{
	struct command_file file;

	return look_up(opened->world, name, &file) == 0 && file.device == opened->program->device &&
	       file.inode == opened->program->inode;
}

static void decide(struct opened *opened, const char *const *argv, struct command_verdict *ret)
{
	const struct command_world ours = { .resolve = resolve,
					    .may_write = may_write,
					    .arg = opened };

	command_rules_decide(opened->rules, &ours, argv, ret);
	if (ret->action == COMMAND_ASK)
		ret->action = ret->seen;
	if (ret->action == COMMAND_ASK && ret->own != COMMAND_ASK) {
		ret->action = ret->own;
		ret->number = 0;
		ret->rule[0] = ret->because[0] = '\0';
	}
}

/* Does a rule allow it that names it? `command allow *` does not. */
static bool is_named(const struct opened *opened, const struct command_verdict *verdict)
{
	return verdict->action == COMMAND_ALLOW &&
	       (verdict->number == 0 || opened->rules->list[verdict->number - 1].count > 0);
}

/* Decides by the file's own path and by the name it was started with: for links such as sh, and for
 * programs that act by their name. A denial or a question of either counts. An allow of either
 * counts, unless the name is not a name of the file. */
static void decide_words(struct opened *opened, const char *const *argv,
			 struct command_verdict *ret)
{
	struct command_verdict by_name;
	size_t count = 0;

	while (argv[count])
		count++;
	auto_free const char **words = mem_new_array(count + 2, sizeof(*words));

	words[0] = opened->program->path;
	for (size_t i = 1; i < count; i++)
		words[i] = argv[i];
	decide(opened, words, ret);
	if (count == 0)
		return;
	decide(opened, argv, &by_name);
	if (by_name.action == COMMAND_ALLOW
		    ? ret->action == COMMAND_UNMATCHED && is_true_name(opened, argv[0])
		    : by_name.action < ret->action && by_name.action != COMMAND_UNMATCHED)
		*ret = by_name;
}

/* A script's first line names the program that interprets it. A denial of that program denies the
 * script; a question about it asks, unless a rule allows the script itself. */
void command_program_decide(const struct command_rules *rules, const struct command_world *world,
			    const struct command_opened *program, const char *const *argv,
			    struct command_verdict *ret)
{
	struct opened opened = { world, program, rules };
	struct command_verdict by_reader;

	decide_words(&opened, argv, ret);
	if (!program->interpreter)
		return;
	const char *const words[] = { program->interpreter->path, program->path, NULL };

	opened.program = program->interpreter;
	decide_words(&opened, words, &by_reader);
	if (by_reader.action == COMMAND_DENY ||
	    (by_reader.action == COMMAND_ASK && ret->action > COMMAND_ASK &&
	     !is_named(&opened, ret)))
		*ret = by_reader;
}
