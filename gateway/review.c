#include "gateway/review.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gateway/approval.h"
#include "gateway/execs.h"
#include "gateway/sessions.h"

/* Whoever a remembered answer covers by now goes back to be decided by it. */
static const struct grant *party_release_covered(struct party *party)
{
	struct gateway *gw = party->approval->gw;
	struct waiter *waiter = TAILQ_FIRST(&party->waiters);
	uint64_t exec = party->exec ? party->exec->node.number : 0;
	const struct grant *last = NULL;

	while (waiter) {
		struct waiter *next = TAILQ_NEXT(waiter, entry);

		waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
		execs_ask_who(waiter);
		const struct grant *grant =
			grants_find(&gw->grants, exec, sessions_of_waiter(waiter), &waiter->facts);

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

/* Whoever is not asked about any more goes back to be decided; the first who is says why. */
static void party_review(struct party *party, struct policy_verdict *asked, bool *has_asked)
{
	struct gateway *gw = party->approval->gw;
	struct waiter *waiter = TAILQ_FIRST(&party->waiters);

	while (waiter) {
		struct waiter *next = TAILQ_NEXT(waiter, entry);
		struct policy_verdict verdict;

		waiter->facts.now = loop_wall_us(gw->loop) / 1000000;
		execs_ask_who(waiter);
		policy_decide(gw->config.policy, &waiter->facts, &verdict);
		waiter->facts.asker = NULL;
		if (verdict.action != POLICY_ASK) {
			approval_let_go(waiter);
		} else if (!*has_asked) {
			*asked = verdict;
			*has_asked = true;
		}
		waiter = next;
	}
}

static void review_policy_of(struct approval *approval, void *arg)
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

void review_policy(struct gateway *gw)
{
	approval_walk(gw, review_policy_of, NULL);
}
