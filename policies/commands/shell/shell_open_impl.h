/* shell_open: reads the script on the command line of a shell. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

/* @piece is a shell: adds the pieces of its script. */
void shell_open(struct command_pieces *pieces, struct command_piece *piece);
