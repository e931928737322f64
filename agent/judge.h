/* judge: what a command is about to execute is judged by the rules for commands, too. */
#pragma once

#include <stdint.h>

#include "exec/exec.h"

struct orchestrator_result;
struct task;
struct trial;

/* Answers by the rules, at once or when somebody has been asked. */
void judge_ask(struct trial *trial, uint64_t id, const struct exec_program *program,
	       const char *const *argv);
/* Somebody was asked: frees @task. */
void judge_done(struct task *task, const struct orchestrator_result *result);
/* Nobody waits for answers about it any more. */
void judge_trial_ended(struct trial *trial);
