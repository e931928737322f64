/* command_world: which file a command's name stands for, and what it may write, on this machine;
 * for struct command_world. */
#pragma once

#include "policies/commands/commands.h"

/* All borrowed, for as long as the world is used. */
struct command_world_places {
	const char *cwd;       /* absolute */
	const char *path;      /* PATH of the command; NULL: none */
	char *const *writable; /* folders; NULL-terminated; NULL: nothing may be written */
};

/* Is @path, as realpath(3) gives it, in @folder, or the folder itself? */
bool command_world_is_below(const char *path, const char *folder);
void command_world_init(struct command_world *ret, struct command_world_places *places);
