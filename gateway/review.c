#include "gateway/review.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gateway/approval.h"
#include "gateway/execs.h"
#include "gateway/protocols.h"
#include "gateway/sessions.h"

/* The remembered answer that covers @waiter; NULL: none, or it is not known yet who asks. */
static const struct grant *review_find(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	const struct party *party = waiter->party;
	const struct grant *grant;

	if (execs_look_up(waiter))
		return NULL;
	waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
	execs_ask_who(waiter);
	grant = grants_find(&gw->grants, party->exec ? party->exec->node.number : 0,
			    sessions_of_waiter(waiter), &waiter->facts, &waiter->program_file);
	waiter->facts.asker = NULL; /* it borrows from here */
	return grant;
}

/* Whoever a remembered answer covers by now goes back to be decided by it. */
static const struct grant *party_release_covered(struct party *party)
{
	struct waiter *waiter = TAILQ_FIRST(&party->waiters);
	const struct grant *last = NULL;

	while (waiter) {
		struct waiter *next = TAILQ_NEXT(waiter, entry);

		const struct grant *grant = review_find(waiter);

		if (grant) {
			last = grant;
			approval_let_go(waiter);
		}
		waiter = next;
	}
	return last;
}

static void review_grants_of(struct approval *approval, void *arg)
{
	struct party *party = TAILQ_FIRST(&approval->parties);
	const struct grant *last = NULL;
	char how[APPROVER_KEY_MAX + 160];

	while (party) {
		struct party *next = TAILQ_NEXT(party, entry);
		const struct grant *grant = party_release_covered(party);

		last = grant ? grant : last;
		party = next;
	}
	if (last && approval->waiting > 0)
		approval_has_news(approval);
	if (!last || approval->waiting > 0)
		return;
	(void)snprintf(how, sizeof(how), "%s by %s, with %s",
		       last->action == POLICY_ALLOW ? "allowed" : "denied", last->by, last->text);
	approval_settle(approval, last->action, last->reason, last->by, how);
}

void review_grants(struct gateway *gw)
{
	approval_walk(gw, review_grants_of, NULL);
}

/* Is it still asked about, and as what it was? */
static bool review_is_asked(struct waiter *waiter, struct policy_verdict *ret)
{
	enum policy_protocol asked_as = waiter->party->approval->dst.protocol, now_as;
	struct gateway *gw = waiter->gw;

	waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
	execs_ask_who(waiter);
	protocols_decide(gw, waiter, ret);
	waiter->facts.asker = NULL;
	now_as = waiter->facts.carries;
	waiter->facts.dst.protocol = waiter->facts.carries = asked_as;
	return ret->action == POLICY_ASK && now_as == asked_as;
}

/* Nobody waits on it any more, unless somebody came meanwhile. From the loop: it tells approvers.
 */
static void review_left(void *arg)
{
	struct approval *approval = arg;

	if (approval->waiting > 0)
		approval_await(approval);
	else
		approval_settle(approval, POLICY_DENY, POLICY_DENIED_SINCE, "",
				"settled by a change of the policy");
}

void review_waiter(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	struct approval *approval = waiter->party->approval;
	struct policy_verdict verdict;

	if (review_is_asked(waiter, &verdict) && !review_find(waiter))
		return;
	approval_let_go(waiter);
	approval_has_news(approval);
	if (approval->waiting == 0)
		loop_timer_start(gw->loop, &approval->deadline, 0, review_left, approval);
}

/* Whoever is not asked about any more goes back to be decided; the first who is says why. */
static void party_review(struct party *party, struct policy_verdict *asked, bool *has_asked)
{
	struct waiter *waiter = TAILQ_FIRST(&party->waiters);

	while (waiter) {
		struct waiter *next = TAILQ_NEXT(waiter, entry);
		struct policy_verdict verdict;

		bool is_looking = execs_look_up(waiter); /* and review_waiter() goes on */

		if (!review_is_asked(waiter, &verdict) && !is_looking) {
			approval_let_go(waiter);
		} else if (!*has_asked) {
			*asked = verdict;
			*has_asked = true;
		}
		waiter = next;
	}
}

void review_policy(struct approval *approval)
{
	struct party *party = TAILQ_FIRST(&approval->parties);
	struct policy_verdict asked;
	bool has_asked = false;

	while (party) {
		struct party *next = TAILQ_NEXT(party, entry);

		party_review(party, &asked, &has_asked);
		party = next;
	}
	if (!has_asked) {
		approval_settle(approval, POLICY_DENY, POLICY_DENIED_SINCE, "",
				"settled by a change of the policy");
		return;
	}
	free(approval->rule);
	free(approval->because);
	approval->rule = mem_strdup(asked.rule);
	approval->because = mem_strdup(asked.because);
	approval->is_private = approval_is_private(approval->gw, &approval->dst);
	approval_has_news(approval);
}
