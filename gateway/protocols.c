#include "gateway/protocols.h"

#include "gateway/grants.h"
#include "gateway/sessions.h"
#include "policies/policies_gate.h"

static void decide_as(struct gateway *gw, struct waiter *waiter, enum policy_protocol protocol,
		      struct policy_verdict *ret)
{
	waiter->facts.dst.protocol = waiter->facts.carries = protocol;
	policy_decide(gw->config.policy, &waiter->facts, ret);
}

/* Allowed, or asked about and answered already. */
static bool is_allowed(struct gateway *gw, const struct waiter *waiter,
		       const struct policy_verdict *verdict)
{
	const struct grant *grant;

	if (verdict->action != POLICY_ASK)
		return verdict->action == POLICY_ALLOW;
	grant = grants_find(&gw->grants, waiter->facts.exec, sessions_of_waiter(waiter),
			    &waiter->facts, &waiter->program_file);
	return grant && grant->action == POLICY_ALLOW;
}

/* A rule asks about this protocol, and says which it is. */
static bool is_asked_as(const struct gateway *gw, const struct waiter *waiter,
			const struct policy_verdict *verdict)
{
	return verdict->action == POLICY_ASK && verdict->number > 0 &&
	       policy_rule_protocol(gw->config.policy, verdict->number) == waiter->facts.carries;
}

/* The first that is allowed; else one that a rule asks about by name; else the first. */
void protocols_decide(struct gateway *gw, struct waiter *waiter, struct policy_verdict *ret)
{
	enum policy_protocol may[POLICY_PROTOCOLS_MAX], asked = POLICY_NO_PROTOCOL;
	size_t count = policy_facts_protocols(&waiter->facts, may);

	for (size_t i = 0; i < count; i++) {
		decide_as(gw, waiter, may[i], ret);
		if (count == 1 || is_allowed(gw, waiter, ret))
			return;
		if (!asked && is_asked_as(gw, waiter, ret))
			asked = may[i];
	}
	decide_as(gw, waiter, asked ? asked : may[0], ret);
}
