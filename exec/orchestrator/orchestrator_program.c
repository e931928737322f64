#include "exec/orchestrator/orchestrator_program.h"

const struct command_opened *orchestrator_program(const struct exec_program *program,
						  struct orchestrator_program *ret)
{
	const struct exec_program *reader = program->interpreter;

	*ret = (struct orchestrator_program){ 0 };
	if (reader)
		ret->list[1] = (struct command_opened){ reader->path, reader->device, reader->inode,
							NULL };
	ret->list[0] = (struct command_opened){ program->path, program->device, program->inode,
						reader ? &ret->list[1] : NULL };
	return &ret->list[0];
}
