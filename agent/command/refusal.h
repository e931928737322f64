/* refusal: collects what was refused to an exec, for the orchestrator and for the client. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/rpc/limits.h"

struct exec_evidence;
struct exec_process_result;
struct policy_destination;
struct orchestrator_refusal;

#define REFUSAL_ANCESTORS_MAX 32

/* One denied destination. */
struct refusal_denied {
	int64_t at_ms; /* CLOCK_BOOTTIME */
	/* The process that asked, its parent, and so on; count 0: not known, or there are more. */
	pid_t chain[REFUSAL_ANCESTORS_MAX];
	size_t count;
};

struct refusal_list {
	struct orchestrator_refusal *list; /* its strings are owned */
	char **texts;
	size_t count;
	struct refusal_denied denied[AGENT_DENIED_TIMES];
	size_t denied_count; /* if greater than the array: at any time, to any process */
	json_t *evidence;    /* all of it, as it is told to the client */
	bool is_closed;      /* the end of its exec was told */
};

void refusal_init(struct refusal_list *refusals);
void refusal_add_evidence(struct refusal_list *refusals, const struct exec_evidence *evidence);
/* @is_final: no answer can change it. @why: a reason's code. @pid: that asked; 0: not known. */
void refusal_add_destination(struct refusal_list *refusals, const struct policy_destination *dst,
			     bool is_final, const char *why, pid_t pid);
/* Did it fail for another reason: was nothing refused to the process that failed? */
bool refusal_is_beside(const struct refusal_list *refusals, const struct exec_process_result *raw);
/* Sets the path that would have to be opened for the refusal @at, if it is another one. Not after
 * the end of the exec was told. */
void refusal_set_path(struct refusal_list *refusals, size_t at, const char *path, bool is_listable);
/* After refusal_set_path(): removes duplicates. */
void refusal_merge(struct refusal_list *refusals);
void refusal_done(struct refusal_list *refusals);
