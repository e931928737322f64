/* verdict: what the end of an exec leads to: a result, or a question whether to retry. */
#pragma once

#include "exec/orchestrator/requests.h"

struct exec_record;

struct verdict {
	enum orchestrator_result_kind kind;
	char why[ORCHESTRATOR_TEXT_MAX];
	/* If set, request->offered is what a retry would be granted, and @sandbox (owned) is the
	 * sandbox it would run in. */
	bool may_retry, may_unconfine;
	struct exec_sandbox *sandbox;
};
/* @request's exec @exec has just ended (NULL: its record is gone). */
void verdict_make(struct request *request, struct exec_record *exec, struct verdict *ret);

/* Why @request is forbidden, in words, owned by it. */
const char *verdict_forbidden(struct request *request);
