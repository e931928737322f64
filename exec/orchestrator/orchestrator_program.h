/* orchestrator_program: a program that is about to be executed, in the form that the command rules
 * read. */
#pragma once

#include "exec/exec_process.h"
#include "policies/commands/commands.h"

/* [0]: the program; [1]: its interpreter, if it is a script. Borrows @program, and contains
 * pointers to itself: do not copy it. */
struct orchestrator_program {
	struct command_opened list[2];
};
const struct command_opened *orchestrator_program(const struct exec_program *program,
						  struct orchestrator_program *ret);
