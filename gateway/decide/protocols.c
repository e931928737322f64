#include "gateway/decide/protocols.h"

#include "gateway/grants/grants.h"
#include "gateway/approvals/sessions.h"
#include "policies/policies_gate.h"

struct answered {
	struct gateway *gw;
	const struct waiter *waiter;
};

static bool is_answered(const struct policy_facts *facts, void *arg)
{
	const struct answered *by = arg;
	const struct waiter *waiter = by->waiter;
	const struct grant *grant =
		grants_find(&by->gw->grants, facts->exec, sessions_of_waiter(waiter), facts,
			    &waiter->program_file);

	return grant && grant->action == POLICY_ALLOW;
}

void protocols_decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *ret)
{
	policy_decide_flow(gw->config.policy, &waiter->facts, is_answered,
			   &(struct answered){ gw, waiter }, ret);
}
