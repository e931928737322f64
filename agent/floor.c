#include "agent/floor.h"

#include <errno.h>

#include "agent/core.h"
#include "base/err.h"
#include "policies/policies_agent.h"

_Static_assert((int)POLICY_ABOUT_SANDBOX == (int)ORCHESTRATOR_MAY_ASK_SANDBOX &&
		       (int)POLICY_ABOUT_RULES == (int)ORCHESTRATOR_MAY_ASK_RULES &&
		       (int)POLICY_ABOUT_PERMISSIONS == (int)ORCHESTRATOR_MAY_ASK_PERMISSIONS &&
		       (int)POLICY_ABOUT_ELICITATION == (int)ORCHESTRATOR_MAY_ASK_ELICITATION &&
		       (int)POLICY_ABOUT_NETWORK == (int)ORCHESTRATOR_MAY_ASK_NETWORK,
	       "the same bits");
_Static_assert((int)POLICY_DENIAL_REPORT == (int)ORCHESTRATOR_REPORT &&
		       (int)POLICY_DENIAL_FAIL == (int)ORCHESTRATOR_FAIL &&
		       (int)POLICY_DENIAL_STOP == (int)ORCHESTRATOR_STOP,
	       "the same order, by strength");

/* What may not be asked is denied: that is what granular is for. Of `untrusted`, which asks first,
 * it would be less. */
static int narrow(enum orchestrator_mode *mode, unsigned int *categories, unsigned int may_ask,
		  struct err *why)
{
	if (may_ask == POLICY_ABOUT_ALL || *mode == ORCHESTRATOR_NEVER)
		return 0;
	if (*mode == ORCHESTRATOR_UNTRUSTED)
		return err_set(why, -EPERM,
			       "the policy does not let everything be asked, so `untrusted` cannot "
			       "be held; configure never, or granular where the policy allows it");
	*categories =
		may_ask & (*mode == ORCHESTRATOR_GRANULAR ? *categories : ORCHESTRATOR_MAY_ASK_ALL);
	*mode = ORCHESTRATOR_GRANULAR;
	return 0;
}

int floor_approvals(const struct agent *agent, enum orchestrator_mode *mode,
		    unsigned int *categories, struct err *why)
{
	struct policy_approvals approvals;

	if (!agent->policy || *mode == ORCHESTRATOR_NEVER)
		return 0;
	policy_get_approvals(agent->policy, &approvals);
	if (approvals.mode == POLICY_APPROVALS_NEVER) {
		*mode = ORCHESTRATOR_NEVER;
	} else if (approvals.mode == POLICY_APPROVALS_UNTRUSTED) {
		if (*mode == ORCHESTRATOR_GRANULAR)
			return err_set(why, -EPERM,
				       "the policy says `untrusted`, which granular is less than; "
				       "configure untrusted or never");
		*mode = ORCHESTRATOR_UNTRUSTED;
	}
	return narrow(mode, categories, approvals.may_ask, why);
}

enum orchestrator_on_denial floor_on_denial(const struct agent *agent,
					    enum orchestrator_on_denial wanted)
{
	enum policy_on_denial least =
		agent->policy ? policy_get_on_denial(agent->policy) : POLICY_DENIAL_REPORT;

	return (int)least > (int)wanted ? (enum orchestrator_on_denial)least : wanted;
}
