/* judge: applies the rules for commands to each program that a command executes. */
#pragma once

#include <stdint.h>

#include "exec/exec_process.h"

struct task_exec;

/* Answers by the rules: at once, or after a question. */
void judge_ask(struct task_exec *exec, uint64_t id, const struct exec_program *program,
	       const char *const *argv);
/* The answers are not needed any more. */
void judge_exec_ended(struct task_exec *exec);
