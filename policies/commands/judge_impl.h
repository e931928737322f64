/* judge: rules and one piece → what the rules say about it. */
#pragma once

#include "policies/commands/command_pieces_impl.h"
#include "policies/commands/command_rules_impl.h"

struct judgement {
	enum command_action action;
	const struct command_rule *rule; /* that decided; NULL: none */
	bool is_neutral;                 /* says nothing: what it runs is judged for itself */
	const char *why;                 /* static: what kept a rule from allowing; or NULL */
};

/* Piece @index by @rules, and the redirections that belong to it. */
void judge_piece(const struct command_rules *rules, const struct command_world *world,
		 const struct command_pieces *pieces, size_t index, struct judgement *ret);
