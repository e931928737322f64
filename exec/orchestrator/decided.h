/* decided: records a decision about a request before it takes effect. Call it from a task. */
#pragma once

#include "exec/orchestrator/requests.h"

/* 0; or an error: it cannot be recorded, and an allow does not count. */
int decided_tell(const struct request *request, const struct ruling *ruling, bool is_allowed);
/* The same for a decision without a question. @why: in words, or "". */
int decided_tell_plain(const struct request *request, enum orchestrator_by by, bool is_allowed,
		       const char *why);
extern const char decided_unrecorded[]; /* for people */
