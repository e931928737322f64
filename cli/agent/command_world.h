/* command_world: which file on this machine a command's name stands for, and which files the
 * command may write; for struct command_world. */
#pragma once

#include "policies/commands/commands.h"

/* All borrowed for as long as the world is used. */
struct command_world_places {
	const char *cwd;       /* absolute */
	const char *path;      /* the PATH of the command; NULL: none */
	char *const *writable; /* folders; NULL-terminated; NULL: nothing is writable */
};

/* Is @path, a result of realpath(3), @folder itself or below it? */
bool command_world_is_below(const char *path, const char *folder);
void command_world_init(struct command_world *ret, struct command_world_places *places);
