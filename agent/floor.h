/* floor: what the policy says of approvals and denials: a client may be stricter, never laxer. */
#pragma once

#include "exec/orchestrator/orchestrator.h"

struct agent;
struct err;

/* Makes what a client wants as strict as the policy has it. -EPERM with @why: both cannot be held.
 */
int floor_approvals(const struct agent *agent, enum orchestrator_mode *mode,
		    unsigned int *categories, struct err *why);
enum orchestrator_on_denial floor_on_denial(const struct agent *agent,
					    enum orchestrator_on_denial wanted);
