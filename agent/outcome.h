/* outcome: what came of a command, as the client is told it. */
#pragma once

#include <jansson.h>

#include "exec/orchestrator/orchestrator.h"

struct task;
struct trial;

/* "exited", "signalled", "timed_out", "cancelled", "interrupted", "denied", "rejected",
 * "not_started", "failed". Static. */
const char *outcome_status(const struct orchestrator_result *result);
/* "why", "note", "by", "abort": where there is something to say. */
void outcome_add_words(json_t *object, const struct orchestrator_result *result);
/* The first @count attempts of it, and the last that was started or NULL. Owned. */
json_t *outcome_attempts(const struct orchestrator_result *result, size_t count,
			 const struct trial **ret_last);
/* The event exec_end. Owned. */
json_t *outcome_exec_end(const struct task *task, const struct orchestrator_result *result);
/* The same of a command that lived on behind its result; *@ret_status as above. */
json_t *outcome_deferred_end(const struct task *task, const struct trial *trial,
			     const char **ret_status);
