/* run_made: files that the command has left behind and that run code outside of the sandbox later.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "exec/exec_process.h"

/* Initial value: { 0 }. */
struct run_made {
	char **lines;  /* owned, printable; NULL: none */
	size_t count;  /* of all files, also those without a line */
	char *hint;    /* why the command may have failed; NULL: not known */
	char *failure; /* why the search failed; NULL: it did not */
	exec_made_fn record;
	void *arg;
};

/* Call it when no process of the command is left. @record is called at once for each file, at most
 * RUN_MADE_MAX times. */
#define RUN_MADE_MAX 1000
void run_made_find(struct run_made *made, const struct exec_process *process,
		   const struct exec_plan_config *config, exec_made_fn record, void *arg);
/* Sets the hint if the command failed and seems to have run git to change a repository's
 * configuration, which it could not write. */
void run_made_explain(struct run_made *made, const struct exec_process *process,
		      const struct exec_process_result *result, const char *const *argv);
void run_made_print(FILE *out, const struct run_made *made);
json_t *run_made_json(const struct run_made *made);
void run_made_done(struct run_made *made);
