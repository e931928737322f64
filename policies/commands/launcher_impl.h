/* launcher: programs that run another program, and where its words begin. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

bool launcher_is(const struct command_piece *piece);
bool launcher_is_name(const char *name);
/* Adds the command that @piece runs, if any; sets a flag if @piece needs no rule of its own. */
void launcher_open(struct command_pieces *pieces, struct command_piece *piece);
