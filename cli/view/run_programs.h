/* run_programs: --intercept-exec: judges the programs that the command starts by the rules for
 * commands. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/gateway_agent.h"

struct exec_program;
struct policy;
struct run_programs;

/* Returned owned. @command (which has been judged) and @path are borrowed, the rest is copied. */
struct run_programs *run_programs_new(const char *const *command, const char *path,
				      char *const *writable, const char *cwd);
/* Called for each refused program, from within the calls below. */
typedef void (*run_refused_fn)(const struct gateway_refused *refused, void *arg);
void run_programs_on_refused(struct run_programs *programs, run_refused_fn fn, void *arg);
void run_programs_free(struct run_programs *programs);
bool run_programs_judge(struct run_programs *programs, const struct policy *policy,
			const struct exec_program *program, const char *const *argv,
			const char *cwd);
/* The file @path was refused: by a rule, or because it could not be judged. */
void run_programs_refuse(struct run_programs *programs, const char *path);
/* The refused programs, as printable lines; NULL after the last. @programs may be NULL. */
const char *run_programs_refused(const struct run_programs *programs, size_t index);
size_t run_programs_more(const struct run_programs *programs); /* refused but not kept */
