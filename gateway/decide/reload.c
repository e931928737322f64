#include "gateway/decide/reload.h"

#include "gateway/execs/execs.h"
#include "gateway/audit/journal.h"
#include "gateway/link/link_server.h"
#include "gateway/link/rings.h"
#include "gateway/grants/live_requests.h"
#include "gateway/execs/lookups.h"
#include "gateway/decide/review.h"
#include "gateway/decide/queue.h"
#include "policies/policies_gate.h"

#define RELOAD_WORK 64 /* requests that one turn of the loop looks at */

/* An open connection keeps the limits it began with; under stricter ones it has to begin again. */
static bool reload_narrows(const struct policy_limits *before, const struct policy_limits *now)
{
	return (now->account && now->account != before->account) ||
	       (now->until_s && (!before->until_s || now->until_s < before->until_s));
}

/* The remembered answer that allows it is now also a line in a file. */
static bool reload_is_kept(const struct waiter *waiter, const struct policy_verdict *verdict)
{
	const struct grant *grant =
		waiter->grant ? grants_by_id(&waiter->gw->grants, waiter->grant) : NULL;

	return grant && grant->scope == GATEWAY_ALWAYS && verdict->reason == POLICY_ANSWER_ALLOW;
}

/* Decides with the protocol that was promised, which is what the client may send by now: a tunnel
 * allowed as tcp is cut if only https is still allowed. */
static bool reload_denies(struct waiter *waiter, struct policy_verdict *ret)
{
	struct gateway *gw = waiter->gw;
	struct policy_facts facts;

	execs_ask_who(waiter);
	facts = waiter->facts;
	facts.carries = waiter->pass->promise;
	facts.now = loop_wall_us(gw->loop) / 1000000;
	policy_decide(gw->config.policy, &facts, ret);
	waiter->facts.asker = NULL; /* it borrows from this call */
	if (ret->action == POLICY_ALLOW && reload_is_kept(waiter, ret))
		return false;
	if (ret->action != POLICY_DENY && !reload_narrows(&waiter->pass->limits, &ret->limits))
		return false;
	ret->action = POLICY_DENY;
	ret->reason = POLICY_DENIED_SINCE;
	return true;
}

void reload_review(struct waiter *waiter)
{
	struct policy_verdict verdict;

	if (waiter->pass->home == &waiter->gw->live.open && !lookups_ask(waiter) &&
	    reload_denies(waiter, &verdict))
		live_requests_cut_one(waiter, &verdict);
}

/* Reviews a limited number of requests per turn, because commands choose how many are open. If a
 * request is decided before its turn comes, the new policy decides it too. */
static void reload_turn(void *arg)
{
	struct gateway *gw = arg;
	struct reviewing *reviewing = &gw->reviewing;
	unsigned int done = 0;

	while (done < RELOAD_WORK && reviewing->next) {
		struct waiter *waiter = reviewing->next;

		reviewing->next = TAILQ_NEXT(waiter, entry);
		reload_review(waiter);
		done++;
	}
	while (done < RELOAD_WORK && reviewing->walk.next) {
		struct approval *approval = reviewing->walk.next;

		reviewing->walk.next = TAILQ_NEXT(approval, entry);
		done += 1 + approval->waiting;
		review_policy(approval);
	}
	if (reviewing->next || reviewing->walk.next)
		loop_defer(gw->loop, &reviewing->task, reload_turn, gw);
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
	(void)queue_write_down(gw, &record);
}

void gateway_reload(struct gateway *gw, const struct gateway_reload *reload)
{
	if (reload->policy)
		rings_hold(gw); /* what was let go by the old policy is reviewed with the rest */
	reload_record(gw, reload);
	if (!reload->policy)
		return;
	gw->config.policy = reload->policy;
	journal_set_strict(gw->journal, policy_is_durable(reload->policy));
	grants_reloaded(&gw->grants, reload->policy, loop_wall_us(gw->loop) / 1000000);
	rings_policy(gw);
	link_server_policy(gw, reload->image); /* the workers get it before any verdict by it */
	if (reload->prompt_timeout_ms > 0)
		gw->config.prompt_timeout_ms = reload->prompt_timeout_ms;
	/* The old connections are described by their final records. */
	gw->reviewing.next = TAILQ_FIRST(&gw->live.open);
	gw->reviewing.walk.next = TAILQ_FIRST(&gw->questions);
	loop_defer(gw->loop, &gw->reviewing.task, reload_turn, gw);
}
