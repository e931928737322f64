/* launcher: programs that run another program, and where it begins in their words. */
#pragma once

#include "policies/commands/command_pieces_impl.h"

bool launcher_is(const struct command_piece *piece);
bool launcher_is_name(const char *name);
/* Adds what @piece runs, if anything; flags @piece when it needs no rule of its own. */
void launcher_open(struct command_pieces *pieces, struct command_piece *piece);
