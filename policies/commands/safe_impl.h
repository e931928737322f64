/* safe: commands that are known to read only, whatever files they are given. */
#pragma once

#include "policies/commands/command_pieces_impl.h"

/* Its words alone; redirections are the caller's. */
bool safe_has(const struct command_piece *piece);
