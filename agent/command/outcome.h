/* outcome: the result of a command, as it is told to the client. */
#pragma once

#include <jansson.h>

#include "exec/orchestrator/orchestrator.h"

struct task;
struct task_exec;

/* "exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected",
 * "not_started", "failed". Static. */
const char *outcome_status(const struct orchestrator_result *result);
/* Adds "message", "note", "by" and "abort", those that are known. */
void outcome_add_words(json_t *object, const struct orchestrator_result *result);
/* Of the first of @count execs, if there is a later one; else NULL. Owned. */
json_t *outcome_first(const struct orchestrator_result *result, size_t count);
/* The result of an exec. Owned. */
json_t *outcome_json(const struct task *task, const struct orchestrator_result *result);
/* The same for a command that continued after its result. */
json_t *outcome_deferred_json(const struct task *task, const struct task_exec *exec);
