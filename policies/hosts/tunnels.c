#include "policies/policies_gate.h"

void policy_facts_take_way(struct policy_facts *facts)
{
	bool is_seen = facts->carries == POLICY_HTTP || facts->request;

	facts->way = is_seen ? POLICY_WAY_HTTP : POLICY_WAY_CONNECT;
}

static void tunnels_decide_as(const struct policy *policy, struct policy_facts *facts,
			      enum policy_protocol protocol, struct policy_verdict *ret)
{
	facts->dst.protocol = facts->carries = protocol;
	policy_decide(policy, facts, ret);
}

/* Does a rule ask about this protocol, and name it? */
static bool tunnels_is_asked_as(const struct policy *policy, const struct policy_facts *facts,
				const struct policy_verdict *verdict)
{
	return verdict->action == POLICY_ASK && verdict->number > 0 &&
	       policy_rule_protocol(policy, verdict->number) == facts->carries;
}

void policy_decide_flow(const struct policy *policy, struct policy_facts *facts,
			policy_answered_fn is_answered, void *arg, struct policy_verdict *ret)
{
	enum policy_protocol may[POLICY_PROTOCOLS_MAX];
	enum policy_protocol asked = POLICY_NO_PROTOCOL, expired = POLICY_NO_PROTOCOL;
	size_t count = policy_facts_protocols(facts, may);

	for (size_t i = 0; i < count; i++) {
		tunnels_decide_as(policy, facts, may[i], ret);
		if (count == 1 || ret->action == POLICY_ALLOW ||
		    (ret->action == POLICY_ASK && is_answered && is_answered(facts, arg)))
			return;
		if (!asked && tunnels_is_asked_as(policy, facts, ret))
			asked = may[i];
		if (!expired && ret->reason == POLICY_EXPIRED)
			expired = may[i];
	}
	/* After an allow has ended, the refusal is still about it; a denial has precedence. */
	tunnels_decide_as(policy, facts, asked ? asked : may[0], ret);
	if (!asked && expired && ret->reason == POLICY_DEFAULT_DENY)
		tunnels_decide_as(policy, facts, expired, ret);
}

/* The worker closes the tunnel by the protocol that was promised. */
static void tunnels_refuse(struct policy_verdict *verdict)
{
	verdict->action = POLICY_DENY;
	verdict->reason = verdict->promise == POLICY_HTTPS ? POLICY_NOT_TLS : POLICY_NOT_HTTP;
	verdict->promise = POLICY_NO_PROTOCOL;
	verdict->may_private = false;
	verdict->limits = (struct policy_limits){ 0 };
}

void policy_decide_bytes(const struct policy *policy, struct policy_facts *facts,
			 struct policy_verdict *ret)
{
	enum policy_protocol bytes = facts->carries;

	policy_decide_flow(policy, facts, NULL, NULL, ret);
	if (ret->action == POLICY_ALLOW && ret->promise != POLICY_TCP && ret->promise != bytes)
		tunnels_refuse(ret);
}
