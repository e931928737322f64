/* judge: what the rules say about one piece. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"
#include "policies/commands/command_rules_impl.h"

struct judgement {
	enum command_action action;
	const struct command_rule *rule; /* the rule that decided; NULL: none */
	bool is_neutral; /* says nothing: the command it runs is judged separately */
	const char *why; /* static: why a rule could not allow it; or NULL */
};

/* Judges piece @index, with its redirections, by @rules. */
void judge_piece(const struct command_rules *rules, const struct command_world *world,
		 const struct command_pieces *pieces, size_t index, struct judgement *ret);
