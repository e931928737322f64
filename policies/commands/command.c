#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/commands/danger_impl.h"
#include "policies/commands/judge_impl.h"
#include "policies/commands/safe_impl.h"
#include "policies/commands/shell/shell_impl.h"
#include "policies/commands/shell/variable_impl.h"

static const char *const actions[] = {
	[COMMAND_DENY] = "deny",
	[COMMAND_ASK] = "ask",
	[COMMAND_UNMATCHED] = "unmatched",
	[COMMAND_ALLOW] = "allow",
};

const char *command_action_name(enum command_action action)
{
	return (unsigned int)action < ARRAY_SIZE(actions) ? actions[action] : actions[COMMAND_DENY];
}

static void show(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text ? text : "");
}

static void show_piece(const struct command_piece *piece, char *out, size_t size)
{
	auto_free char *line = text_command_line(piece->argv, size - 1);

	show(out, size, line);
}

/* Does a redirection of piece @index write anything other than a device? */
static bool writes_file(const struct command_pieces *pieces, size_t index)
{
	for (size_t i = 0; i < pieces->redirect_count; i++) {
		const struct command_redirect *redirect = &pieces->redirects[i];

		if (redirect->piece == index && redirect->kind == COMMAND_WRITES &&
		    strcmp(redirect->target, "/dev/null") != 0)
			return true;
	}
	return false;
}

static bool is_piece_safe(const struct command_pieces *pieces, size_t index)
{
	return safe_has(&pieces->list[index]) && !writes_file(pieces, index);
}

/* Adds the judgement of one more piece to the verdict. */
static void add_judgement(const struct command_rules *rules, const struct command_pieces *pieces,
			  size_t index, const struct judgement *judgement,
			  struct command_verdict *ret)
{
	bool is_first = index == 0, is_stronger = judgement->action < ret->action;

	if (!judgement->is_neutral && judgement->action == COMMAND_ALLOW &&
	    !(judgement->rule && judgement->rule->is_unconfined))
		ret->is_unconfined = false;
	if (judgement->action == COMMAND_UNMATCHED) {
		const char *danger = danger_find(pieces, index);

		ret->is_safe &= is_piece_safe(pieces, index);
		if (danger && !ret->danger[0])
			show(ret->danger, sizeof(ret->danger), danger);
	}
	/* Of equally strong rules the first counts; a launcher without a rule yields to the program
	 * it runs. */
	if (!is_first && !is_stronger &&
	    (judgement->action != ret->action || ret->rule[0] || !judgement->rule))
		return;
	ret->action = judgement->action;
	ret->piece = index;
	show_piece(&pieces->list[index], ret->piece_text, sizeof(ret->piece_text));
	ret->number = judgement->rule ? (size_t)(judgement->rule - rules->list) + 1 : 0;
	show(ret->rule, sizeof(ret->rule), judgement->rule ? judgement->rule->shown : NULL);
	show(ret->because, sizeof(ret->because), judgement->rule ? judgement->rule->because : NULL);
	show(ret->why, sizeof(ret->why), judgement->why);
}

/* Is it a program, and not what the shell itself does? */
static bool is_executed(const struct command_piece *piece)
{
	return piece->argc > 0 &&
	       !(piece->flags & COMMAND_IN_SHELL && shell_has_builtin(piece->argv[0]));
}

/* A rule names a program, not what a command puts in its place. */
static bool may_be_theirs(const struct command_world *world, const struct command_piece *piece)
{
	return world && world->may_be_theirs && is_executed(piece) &&
	       world->may_be_theirs(piece->argv[0], world->arg);
}

static void judge_all(const struct command_rules *rules, const struct command_world *world,
		      const struct command_pieces *pieces, struct command_verdict *ret)
{
	*ret = (struct command_verdict){ .action = COMMAND_ALLOW,
					 .is_understood = !command_pieces_why(pieces),
					 .is_unconfined = true,
					 .is_safe = true };
	bool has_rule = false;

	for (size_t i = 0; i < pieces->count; i++) {
		struct judgement judgement;

		judge_piece(rules, world, pieces, i, &judgement);
		if (i == 0)
			ret->own = judgement.is_neutral ? COMMAND_UNMATCHED : judgement.action;
		has_rule |= judgement.rule != NULL;
		add_judgement(rules, pieces, i, &judgement, ret);
	}
	/* There were only launchers and harmless assignments: no rule allowed anything. */
	if (!has_rule && ret->action == COMMAND_ALLOW)
		ret->action = COMMAND_UNMATCHED;
	for (size_t i = 0; i < pieces->count && ret->is_unconfined && ret->action == COMMAND_ALLOW;
	     i++)
		ret->is_unconfined = !may_be_theirs(world, &pieces->list[i]);
}

void command_rules_decide(const struct command_rules *rules, const struct command_world *world,
			  const char *const *argv, struct command_verdict *ret)
{
	struct command_pieces *pieces = command_pieces_new(argv);

	judge_all(rules, world, pieces, ret);
	ret->seen = ret->action;
	if (!ret->is_understood) {
		if (ret->action >= COMMAND_UNMATCHED)
			ret->action = COMMAND_ASK;
		ret->is_safe = false;
		(void)snprintf(ret->why, sizeof(ret->why), "not understood: %s",
			       command_pieces_why(pieces));
	}
	ret->is_unconfined &= ret->action == COMMAND_ALLOW;
	if (ret->piece == 0 || !shell_is(&pieces->list[0]) ||
	    !is_executed(&pieces->list[ret->piece]))
		ret->own = ret->seen;
	if (world && world->resolve && argv[0] &&
	    world->resolve(argv[0], &ret->program, world->arg) < 0)
		ret->program = (struct command_file){ 0 };
	command_pieces_free(pieces);
}

bool command_is_harmless_variable(const char *assignment)
{
	return variable_is_harmless(assignment);
}

bool command_is_safe(const char *const *argv)
{
	struct command_pieces *pieces = command_pieces_new(argv);
	bool is_safe = !command_pieces_why(pieces) && pieces->count > 0;

	for (size_t i = 0; is_safe && i < pieces->count; i++)
		is_safe = is_piece_safe(pieces, i);
	command_pieces_free(pieces);
	return is_safe;
}

bool command_is_dangerous(const char *const *argv, const char **ret_why)
{
	struct command_pieces *pieces = command_pieces_new(argv);
	const char *why = NULL;

	for (size_t i = 0; !why && i < pieces->count; i++)
		why = danger_find(pieces, i);
	if (ret_why && why)
		*ret_why = why;
	command_pieces_free(pieces);
	return why != NULL;
}
