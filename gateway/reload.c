#include "gateway/reload.h"

#include "gateway/execs.h"
#include "gateway/journal.h"
#include "gateway/link_server.h"
#include "gateway/live.h"
#include "gateway/lookups.h"
#include "gateway/review.h"
#include "gateway/turn.h"
#include "policies/policies_gate.h"

#define RELOAD_WORK 64 /* requests that one turn of the loop looks at */

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
static bool reload_denies(struct waiter *waiter, struct policy_verdict *ret)
{
	struct gateway *gw = waiter->gw;
	struct policy_facts facts;

	execs_ask_who(waiter);
	facts = waiter->facts;
	facts.carries = waiter->pass->promise;
	facts.now = loop_wall_us(gw->loop) / 1000000;
	policy_decide(gw->config.policy, &facts, ret);
	waiter->facts.asker = NULL; /* it borrows from here */
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

	if (waiter->pass->home == &waiter->gw->live.open && !execs_look_up(waiter) &&
	    reload_denies(waiter, &verdict))
		live_cut_one(waiter, &verdict);
}

/* A piece: how much is open is the commands' choice. What has its turn later is decided by the new
 * policy in any case where anything of it is decided before. */
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
	/* What there was is in the records of the ends. */
	gw->reviewing.next = TAILQ_FIRST(&gw->live.open);
	gw->reviewing.walk.next = TAILQ_FIRST(&gw->questions);
	loop_defer(gw->loop, &gw->reviewing.task, reload_turn, gw);
}
