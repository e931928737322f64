/* script: splits a shell script into its simple commands. Everything but a plain list of commands
 * is noted as not understood; its commands are still collected, so that no denial is missed. */
#pragma once

#include "policies/commands/shell/pieces_impl.h"

/* Keeps @text. */
void script_read(struct command_pieces *pieces, const char *text, size_t len,
		 const struct place *place);
