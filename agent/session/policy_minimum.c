#include "agent/session/policy_minimum.h"

#include <errno.h>

#include "agent/session/client.h"
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

/* Denies the categories that may not be asked, with granular. `untrusted` is refused: it asks
 * before a command runs, and granular would be weaker. */
static int narrow(enum orchestrator_mode *mode, unsigned int *categories, unsigned int may_ask,
		  struct err *why)
{
	if (may_ask == POLICY_ABOUT_ALL || *mode == ORCHESTRATOR_NEVER)
		return 0;
	if (*mode == ORCHESTRATOR_UNTRUSTED)
		return err_set(why, -EPERM,
			       "`untrusted` is refused, because the policy forbids some questions; "
			       "configure never, or granular where the policy allows it");
	*categories =
		may_ask & (*mode == ORCHESTRATOR_GRANULAR ? *categories : ORCHESTRATOR_MAY_ASK_ALL);
	*mode = ORCHESTRATOR_GRANULAR;
	return 0;
}

int policy_minimum_approvals(const struct agent *agent, enum orchestrator_mode *mode,
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
				       "the policy requires `untrusted`, and granular asks fewer "
				       "questions; configure untrusted or never");
		*mode = ORCHESTRATOR_UNTRUSTED;
	}
	return narrow(mode, categories, approvals.may_ask, why);
}

enum orchestrator_on_denial policy_minimum_on_denial(const struct agent *agent,
						     enum orchestrator_on_denial wanted)
{
	enum policy_on_denial least =
		agent->policy ? policy_get_on_denial(agent->policy) : POLICY_DENIAL_REPORT;

	return (int)least > (int)wanted ? (enum orchestrator_on_denial)least : wanted;
}
