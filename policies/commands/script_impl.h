/* script: a shell script cut into its simple commands. What is not a plain list of commands is
 * noted as not understood; its commands are still looked for, so that a denial is not missed. */
#pragma once

#include "policies/commands/command_pieces_impl.h"

/* Keeps @text. */
void script_read(struct command_pieces *pieces, const char *text, size_t len,
		 const struct place *place);
