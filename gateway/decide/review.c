#include "gateway/decide/review.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gateway/approvals/approval.h"
#include "gateway/execs/execs.h"
#include "gateway/execs/lookups.h"
#include "gateway/decide/protocols.h"
#include "gateway/approvals/sessions.h"

/* The remembered answer that covers @waiter; NULL: none, or its program is still being looked
 * up. */
static const struct grant *review_find(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	const struct party *party = waiter->party;
	const struct grant *grant;

	if (lookups_ask(waiter))
		return NULL;
	waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
	execs_ask_who(waiter);
	grant = grants_find(&gw->grants, party->exec ? party->exec->node.number : 0,
			    sessions_of_waiter(waiter), &waiter->facts, &waiter->program_file);
	waiter->facts.asker = NULL; /* it borrows from this call */
	return grant;
}

/* Queues the waiters that a remembered answer covers now, to be decided by it. */
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

/* Notes that it ends by @grant, or by a change of the policy if that is NULL, unless a request
 * joins it. */
static void review_note_end(struct approval *approval, const struct grant *grant)
{
	struct decision *end = &approval->end;

	free(approval->how);
	*end = (struct decision){ .action = POLICY_DENY, .reason = POLICY_DENIED_SINCE };
	if (!grant) {
		approval->how = mem_strdup("decided by a change of the policy");
		return;
	}
	end->action = grant->action;
	end->reason = grant->reason;
	(void)snprintf(end->by, sizeof(end->by), "%s", grant->by);
	approval->how = mem_printf("%s by %s, with %s",
				   grant->action == POLICY_ALLOW ? "allowed" : "denied", grant->by,
				   grant->text);
}

static void review_end(struct approval *approval)
{
	auto_free char *how = take(approval->how);

	approval_settle(approval, &approval->end, how);
}

static void review_grants_of(struct approval *approval, void *arg)
{
	struct party *party = TAILQ_FIRST(&approval->parties);
	const struct grant *last = NULL;

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
	review_note_end(approval, last);
	review_end(approval);
}

void review_grants(struct gateway *gw)
{
	approval_walk(gw, review_grants_of, NULL);
}

/* Does policy still ask about it, with the same protocol? */
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

/* Ends the question, unless a request has joined it meanwhile. Runs from the loop, because it tells
 * approvers. */
static void review_left(void *arg)
{
	struct approval *approval = arg;

	if (approval->waiting > 0)
		approval_await(approval);
	else
		review_end(approval);
}

void review_waiter(struct waiter *waiter)
{
	struct gateway *gw = waiter->gw;
	struct approval *approval = waiter->party->approval;
	const struct grant *grant = NULL;
	struct policy_verdict verdict;

	if (review_is_asked(waiter, &verdict) && !(grant = review_find(waiter)))
		return;
	review_note_end(approval, grant);
	approval_let_go(waiter);
	approval_has_news(approval);
	if (approval->waiting == 0)
		loop_timer_start(gw->loop, &approval->deadline, 0, review_left, approval);
}

/* Queues the waiters that policy no longer asks about; @asked is the verdict of the first that
 * remains. */
static void party_review(struct party *party, struct policy_verdict *asked, bool *has_asked)
{
	struct waiter *waiter = TAILQ_FIRST(&party->waiters);

	while (waiter) {
		struct waiter *next = TAILQ_NEXT(waiter, entry);
		struct policy_verdict verdict;

		bool is_looking = lookups_ask(waiter); /* review_waiter() continues */

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
		review_note_end(approval, NULL);
		review_end(approval);
		return;
	}
	free(approval->rule);
	free(approval->because);
	approval->rule = mem_strdup(asked.rule);
	approval->because = mem_strdup(asked.because);
	approval->is_private = approval_is_private(approval->gw, &approval->dst);
	approval_has_news(approval);
}
