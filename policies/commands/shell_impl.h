/* shell: commands that are shells, and what the shell itself does under a name. */
#pragma once

#include "policies/commands/command_pieces_impl.h"

bool shell_is(const struct command_piece *piece);
bool shell_is_name(const char *name);
/* @piece is a shell: adds the pieces of its script. */
void shell_open(struct command_pieces *pieces, struct command_piece *piece);
/* Builtins: needs no file; changes how what follows is read; changes the folder. */
bool shell_has_builtin(const char *name);
bool shell_bends(const struct command_piece *piece);
bool shell_moves(const char *name);
