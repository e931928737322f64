#include "policies/commands/judge_impl.h"

#include <string.h>

#include "base/mem.h"
#include "policies/commands/shell/shell_impl.h"

/* MAYBE: unknown words could make the rule match. */
enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };

static const struct command_world nowhere = { 0 };

/* The alternative of @token that equals @text, or NULL. */
static const char *find_alternative(const char *token, const char *text)
{
	for (; *token; token += strlen(token) + 1) {
		if (strcmp(token, text) == 0)
			return token;
	}
	return NULL;
}

/* Matches the rule's first word with the program: by the word as written, or by the file's own
 * name. */
static const char *match_program(const char *token, const char *program)
{
	const char *found = find_alternative(token, program);

	return found || !strchr(program, '/') ? found
					      : find_alternative(token, pieces_base(program));
}

static enum match match_rule(const struct command_rules *rules, const struct command_rule *rule,
			     const struct command_piece *piece, const char **ret_name)
{
	*ret_name = rule->count == 0 ? piece->argv[0]
				     : match_program(rules->tokens[rule->first], piece->argv[0]);
	if (!*ret_name || piece->words[0] != COMMAND_WORD_PLAIN)
		return MATCH_NO;
	for (size_t i = 1; i < rule->count; i++) {
		if (i >= piece->argc)
			return piece->flags & COMMAND_OPEN ? MATCH_MAYBE : MATCH_NO;
		/* Such a word may expand to several words, or none. */
		if (piece->words[i] != COMMAND_WORD_PLAIN)
			return MATCH_MAYBE;
		if (!find_alternative(rules->tokens[rule->first + i], piece->argv[i]))
			return MATCH_NO;
	}
	return MATCH_YES;
}

static bool is_same(const struct command_file *left, const struct command_file *right)
{
	return left->device == right->device && left->inode == right->inode;
}

static bool is_found(const struct command_world *world, const char *name, struct command_file *ret)
{
	return world->resolve && world->resolve(name, ret, world->arg) == 0;
}

static bool is_in_program(const struct command_program *program, const struct command_world *world,
			  const char *argv0)
{
	struct command_file file, listed;

	if (!world->resolve) {
		/* By the words alone, a bare name means the program of that name. */
		if (!strchr(argv0, '/'))
			return true;
		for (char *const *path = program->paths; *path; path++) {
			if (strcmp(*path, argv0) == 0)
				return true;
		}
		return false;
	}
	if (!is_found(world, argv0, &file))
		return false;
	for (char *const *path = program->paths; *path; path++) {
		if (is_found(world, *path, &listed) && is_same(&file, &listed))
			return true;
	}
	return false;
}

static bool is_system_path(const char *path, const char *name)
{
	static const char *const folders[] = { "/bin/", "/usr/bin/" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		size_t len = strlen(folders[i]);

		if (strncmp(path, folders[i], len) == 0 && strcmp(path + len, name) == 0)
			return true;
	}
	return false;
}

/* Would @piece start the program that @name (a word of a rule) means? */
static bool is_program(const struct command_rules *rules, const struct command_world *world,
		       const struct command_piece *piece, const char *name)
{
	const char *argv0 = piece->argv[0];
	struct command_file file, meant;
	bool is_path = strchr(argv0, '/') != NULL;

	if (is_path && argv0[0] != '/' && piece->flags & COMMAND_MOVED)
		return false;
	if (strchr(name, '/'))
		return !world->resolve || is_found(world, argv0, &file);
	if (!is_path && piece->flags & COMMAND_IN_SHELL && shell_has_builtin(argv0))
		return true;
	const struct command_program *program = command_rules_find_program(rules, name);

	if (program)
		return is_in_program(program, world, argv0);
	if (!world->resolve)
		return !is_path || is_system_path(argv0, name);
	if (!is_found(world, argv0, &file))
		return false;
	return !is_path || (is_found(world, name, &meant) && is_same(&file, &meant));
}

static bool is_device(const char *path)
{
	static const char *const devices[] = { "/dev/null", "/dev/stdout", "/dev/stderr",
					       "/dev/tty",  "/dev/fd/1",   "/dev/fd/2" };

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (strcmp(path, devices[i]) == 0)
			return true;
	}
	return false;
}

/* NULL, or why no rule can ever allow a piece like this. */
static const char *find_obstacle(const struct command_world *world,
				 const struct command_pieces *pieces, size_t index)
{
	const struct command_piece *piece = &pieces->list[index];

	if (piece->flags & COMMAND_ASSIGNS)
		return "it sets a variable that may change which program runs";
	if (piece->flags & COMMAND_ELSEWHERE)
		return "its program is searched for in another place";
	for (size_t i = 0; i < pieces->redirect_count; i++) {
		const struct command_redirect *redirect = &pieces->redirects[i];

		if (redirect->piece != index || redirect->kind != COMMAND_WRITES ||
		    is_device(redirect->target))
			continue;
		if ((piece->flags & COMMAND_MOVED && redirect->target[0] != '/') ||
		    !world->may_write || !world->may_write(redirect->target, world->arg))
			return "it writes to a file by redirection";
	}
	return NULL;
}

static bool is_better(const struct command_rule *rule, enum command_action action,
		      const struct judgement *so_far)
{
	if (!so_far->rule || action != so_far->action)
		return action < so_far->action || !so_far->rule;
	return rule->count > so_far->rule->count ||
	       (rule->count == so_far->rule->count && so_far->rule->is_unconfined &&
		!rule->is_unconfined);
}

static void judge_by_rules(const struct command_rules *rules, const struct command_world *world,
			   const struct command_piece *piece, struct judgement *ret)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct command_rule *rule = &rules->list[i];
		enum command_action action = rule->action;
		const char *name;
		enum match match = match_rule(rules, rule, piece, &name);

		if (match == MATCH_NO || (action == COMMAND_ALLOW && match != MATCH_YES))
			continue;
		if (action == COMMAND_ALLOW && !is_program(rules, world, piece, name)) {
			ret->why = "the file is not the program that the rule names";
			continue;
		}
		if (match == MATCH_MAYBE)
			action = COMMAND_ASK;
		if (is_better(rule, action, ret)) {
			ret->rule = rule;
			ret->action = action;
		}
	}
	if (!ret->rule)
		ret->action = COMMAND_UNMATCHED;
}

void judge_piece(const struct command_rules *rules, const struct command_world *world,
		 const struct command_pieces *pieces, size_t index, struct judgement *ret)
{
	const struct command_piece *piece = &pieces->list[index];

	if (!world)
		world = &nowhere;
	const char *obstacle = find_obstacle(world, pieces, index);

	*ret = (struct judgement){ .action = COMMAND_ALLOW };
	if (piece->argc == 0) {
		ret->is_neutral = !obstacle;
		ret->action = obstacle ? COMMAND_UNMATCHED : COMMAND_ALLOW;
		ret->why = obstacle;
		return;
	}
	judge_by_rules(rules, world, piece, ret);
	if (ret->action < COMMAND_UNMATCHED)
		return;
	if (piece->flags & COMMAND_GUESS) {
		*ret = (struct judgement){ .action = COMMAND_ALLOW, .is_neutral = true };
	} else if (obstacle) {
		*ret = (struct judgement){ .action = COMMAND_UNMATCHED, .why = obstacle };
	} else if (ret->action == COMMAND_UNMATCHED && piece->flags & COMMAND_PASSES_ON &&
		   is_program(rules, world, piece, pieces_base(piece->argv[0]))) {
		*ret = (struct judgement){ .action = COMMAND_ALLOW, .is_neutral = true };
	}
}
