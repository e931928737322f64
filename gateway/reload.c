/* A new policy under a running gateway. Everything that has not been handed out is decided by it
 * anyway; here is what has: live requests, and those who wait for a person. */
#include "gateway/execs.h"
#include "gateway/journal.h"
#include "gateway/link_server.h"
#include "gateway/live.h"
#include "gateway/review.h"
#include "gateway/turn.h"
#include "policies/policies_gate.h"

/* What is open keeps to the limits it began with: under others it has to begin again. */
static bool reload_narrows(const struct policy_limits *before, const struct policy_limits *now)
{
	return (now->account && now->account != before->account) ||
	       (now->until_s && (!before->until_s || now->until_s < before->until_s));
}

/* The answer that it lives by is now a line of a file as well. */
static bool reload_is_kept(const struct waiter *waiter, const struct policy_verdict *verdict)
{
	const struct grant *grant =
		waiter->grant ? grants_by_id(&waiter->gw->grants, waiter->grant) : NULL;

	return grant && grant->scope == GATEWAY_ALWAYS && verdict->reason == POLICY_ANSWER_ALLOW;
}

/* Asked as what it was promised, for that is what it may send by now: a tunnel let through as tcp
 * is over when only https is left of it. */
static bool reload_denies(struct waiter *waiter, struct policy_verdict *ret, void *arg)
{
	struct gateway *gw = arg;
	struct policy_facts facts;

	execs_ask_who(waiter);
	facts = waiter->facts;
	facts.carries = waiter->pass->promise;
	facts.now = loop_wall_us(gw->loop) / 1000000;
	policy_decide(gw->config.policy, &facts, ret);
	if (ret->action == POLICY_ALLOW && reload_is_kept(waiter, ret))
		return false;
	if (ret->action != POLICY_DENY && !reload_narrows(&waiter->pass->limits, &ret->limits))
		return false;
	ret->action = POLICY_DENY;
	ret->reason = POLICY_DENIED_SINCE;
	return true;
}

static void reload_record(struct gateway *gw, const struct gateway_reload *reload)
{
	struct sink_record record = {
		.event = reload->policy ? SINK_POLICY_RELOADED : SINK_POLICY_RELOAD_FAILED,
		.files = reload->files,
		.digest = reload->digest,
		.cause = reload->policy ? NULL : reload->errors,
	};

	journal_stamp(gw->journal, &record);
	(void)turn_write_down(gw, &record);
}

void gateway_reload(struct gateway *gw, const struct gateway_reload *reload)
{
	reload_record(gw, reload);
	if (!reload->policy)
		return;
	gw->config.policy = reload->policy;
	grants_reloaded(&gw->grants, reload->policy, loop_wall_us(gw->loop) / 1000000);
	gw->wants_program = policy_wants_program(reload->policy);
	link_server_policy(gw, reload->image); /* in front of every verdict by it */
	if (reload->prompt_timeout_ms > 0)
		gw->config.prompt_timeout_ms = reload->prompt_timeout_ms;
	(void)live_cut(gw, reload_denies, gw); /* what there was is in the records of the ends */
	review_policy(gw);
}
