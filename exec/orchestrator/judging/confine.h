/* confine: the sandbox that a request's exec runs in: never wider than its request, its rule or its
 * answer says. */
#pragma once

#include "exec/orchestrator/requests.h"

struct err;

/* Sets request->sandbox, ->is_confined and ->granted from the judgement; for a request without an
 * exec it checks whether they could be granted. False with @why: they cannot. */
bool confine_first(struct request *request, struct err *why);
/* The same from the answer to its retry. */
bool confine_retry(struct request *request, struct err *why);
