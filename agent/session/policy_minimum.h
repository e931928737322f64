/* policy_minimum: the policy's requirements for approvals and denials: a client may be stricter,
 * never weaker. */
#pragma once

#include "exec/orchestrator/orchestrator.h"

struct agent;
struct err;

/* Makes what a client wants as strict as the policy requires. -EPERM with @why: the two cannot be
 * combined. */
int policy_minimum_approvals(const struct agent *agent, enum orchestrator_mode *mode,
			     unsigned int *categories, struct err *why);
enum orchestrator_on_denial policy_minimum_on_denial(const struct agent *agent,
						     enum orchestrator_on_denial wanted);
