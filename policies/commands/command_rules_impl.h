/* command_rules: how rules and program lists are stored. */
#pragma once

#include "policies/commands/commands.h"

/* The rule owns all strings. */
struct command_rule {
	enum command_action action;
	bool is_unconfined;
	size_t first, count; /* tokens, into command_rules.tokens; none: every command */
	char *shown;         /* "FILE:LINE: the line" */
	char *because;       /* or NULL */
};
/* The alternatives of one token, one after the other, each with its NUL, then an empty one. */
struct command_rules {
	struct command_rule *list;
	size_t count, room;
	char **tokens;
	size_t token_count, token_room;
	struct command_program {
		char *name;
		char **paths; /* NULL-terminated */
	} * programs;
	size_t program_count;
};

/* NULL: no `program` line for @name. */
const struct command_program *command_rules_find_program(const struct command_rules *rules,
							 const char *name);
