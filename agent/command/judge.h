/* judge: applies the rules for commands to each program that a command executes. */
#pragma once

struct orchestrator_judged;
struct task_exec;

/* Answers by the rules, later, perhaps after a question; at once if there are none. */
void judge_ask(struct task_exec *exec, const struct orchestrator_judged *judged);
/* No program of @exec is judged any more. */
void judge_drop(struct task_exec *exec);
/* The answers are not needed any more. */
void judge_exec_ended(struct task_exec *exec);
