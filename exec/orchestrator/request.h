/* request: what was asked for, checked and copied, and copies of what attempts said. */
#pragma once

#include "exec/orchestrator/orchestrator_request.h"

#define REQUEST_WORDS_MAX 8192
#define REQUEST_BYTES_MAX (256U << 10) /* of argv, and of the keys */

/* 0; -EINVAL, -E2BIG with @why. */
int request_check(const struct orchestrator_request *request, struct err *why);
/* A deep copy of what is right, all strings never NULL but reason and justification. */
struct orchestrator_request request_copy(const struct orchestrator_request *request);
void request_drop(struct orchestrator_request *request);
bool request_has_attempt(const struct orchestrator_request *request);

/* At most so many refusals are kept. */
#define REQUEST_REFUSALS_MAX 256
struct orchestrator_outcome request_outcome_copy(const struct orchestrator_outcome *outcome);
void request_outcome_free(struct orchestrator_outcome *outcome);
