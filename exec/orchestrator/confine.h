/* confine: the sandbox that a call's attempt runs in: never wider than its request, its rule or its
 * answer says. */
#pragma once

#include "exec/orchestrator/core.h"

struct err;

/* call->sandbox, ->is_confined and ->granted, by the judgement; of what only asks: whether it could
 * be granted at all. False with @why: it cannot be. */
bool confine_first(struct call *call, struct err *why);
/* The same by the answer to its retry. */
bool confine_retry(struct call *call, struct err *why);
