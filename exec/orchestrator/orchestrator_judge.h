/* orchestrator_judge: applies the rules for commands to the programs that a command starts, each in
 * a separate process. The rules look at files that the command names, and its words may be many.
 * docs/decisions/0037. */
#pragma once

#include <stdint.h>

#include "exec/exec_told.h"
#include "policies/commands/commands.h"

struct loop;
struct orchestrator_judge;

/* A program that a command is about to execute. Borrowed. */
struct orchestrator_judged {
	uint64_t id;
	const struct exec_program *program;
	const char *const *argv;
	const char *cwd;
};
/* Returned owned. */
struct orchestrator_judged *orchestrator_judge_copy(const struct orchestrator_judged *judged);
void orchestrator_judge_copy_free(struct orchestrator_judged *judged); /* NULL is fine */
/* All that the process tells. */
struct orchestrator_judgement {
	struct command_verdict verdict;
	int action; /* decide()'s */
};

struct orchestrator_judge_config {
	struct loop *loop;
	/* Runs in the process, with the memory that the caller has at that time. Its result is the
	 * judgement's action. */
	int (*decide)(const struct orchestrator_judged *judged, const struct command_opened *opened,
		      struct command_verdict *ret, void *arg);
	/* Runs once for each program, from the loop. @judgement NULL: it cannot be judged, and
	 * @why says why. It must not free the judge. */
	void (*done)(const struct orchestrator_judged *judged,
		     const struct orchestrator_judgement *judgement, const char *why, void *arg);
	void *arg;
};

/* Returned owned. Keeps @config's loop and arg. */
struct orchestrator_judge *orchestrator_judge_new(const struct orchestrator_judge_config *config);
/* Copies @judged. A few programs are judged at once, and the others wait for their turn. 0, or
 * -EBUSY: too many wait, and done() does not run for this one. */
int orchestrator_judge_add(struct orchestrator_judge *judge,
			   const struct orchestrator_judged *judged);
/* done() does not run any more. NULL is fine. */
void orchestrator_judge_free(struct orchestrator_judge *judge);
