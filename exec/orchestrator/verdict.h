/* verdict: what an attempt's end means: a result, or a question whether to try once more. */
#pragma once

#include "exec/orchestrator/core.h"

struct verdict {
	enum orchestrator_result_kind kind;
	char why[ORCHESTRATOR_TEXT_MAX];
	/* Then call->offered is what a retry would be granted, and @sandbox (owned) what it would
	 * run in. */
	bool may_retry, may_unconfine;
	struct exec_sandbox *sandbox;
};
/* @call has just ended @attempt (NULL: nobody knows it any more). */
void verdict_make(struct call *call, struct attempt *attempt, struct verdict *ret);

/* Why @call is forbidden, in words, owned by it. */
const char *verdict_forbidden(struct call *call);
