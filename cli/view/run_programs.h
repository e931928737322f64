/* run_programs: --intercept-exec: judges the programs that the command starts by the rules for
 * commands. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway_agent.h"

struct gateway;
struct loop;
struct orchestrator_judged;
struct policy;
struct run_programs;

struct run_programs_config {
	struct loop *loop;
	const char *const *command; /* judged before */
	const char *path;           /* the PATH of the command */
	char *const *writable;
	const char *cwd;
	struct policy *const *policy; /* the one in force, whenever a program is judged */
	struct gateway *gateway;      /* asks about programs; NULL: nobody is asked. Kept */
	uint64_t exec;                /* the command's number there */
	int64_t question_ms;          /* how long a question waits for its answer */
	bool may_wait;                /* for an approver to attach */
	/* The judgement of run_programs_judge(): from within it, or later from the loop. */
	void (*answer)(uint64_t id, bool is_allowed, void *arg);
	/* An approver has aborted the command: it must end. */
	void (*on_abort)(void *arg);
	/* Called for each refused program. */
	void (*on_refused)(const struct gateway_refused *refused, void *arg);
	void *arg;
};

/* Returned owned. Keeps @config's loop, command, path, policy and gateway, and copies the lists. */
struct run_programs *run_programs_new(const struct run_programs_config *config);
void run_programs_free(struct run_programs *programs);
void run_programs_judge(struct run_programs *programs, const struct orchestrator_judged *judged);
/* No process is left: answers to nothing more. @programs may be NULL. */
void run_programs_end(struct run_programs *programs);
/* The file @path was refused: by a rule, or because it could not be judged. */
void run_programs_refuse(struct run_programs *programs, const char *path);
/* The refused programs, as printable lines; NULL after the last. @programs may be NULL. */
const char *run_programs_refused(const struct run_programs *programs, size_t index);
size_t run_programs_more(const struct run_programs *programs); /* refused but not kept */
