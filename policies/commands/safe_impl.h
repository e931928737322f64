/* safe: commands that only read, whatever their operands are. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

/* Judges the words alone; the caller judges redirections. */
bool safe_has(const struct command_piece *piece);
