/* shell: recognises shells and builtins of the shell. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

bool shell_is(const struct command_piece *piece);
bool shell_is_name(const char *name);
/* Do we read the language of this shell? */
bool shell_is_read(const struct command_piece *piece);
/* Builtins: those without a file; those that change how the following text is read; those that
 * change the directory. */
bool shell_has_builtin(const char *name);
bool shell_bends(const struct command_piece *piece);
bool shell_moves(const char *name);
