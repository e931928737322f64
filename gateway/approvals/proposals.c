#include "gateway/approvals/proposals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_agent.h"
#include "gateway/approvals/permits.h"
#include "gateway/approvals/question.h"

/* Works like a connection that is not dialled (docs/decisions/0015). */
struct gateway_proposal {
	struct gateway *gw;
	struct gateway_ticket *ticket;
	struct policy_facts facts;
	gateway_verdict_fn done;
	void *arg;
	LIST_ENTRY(gateway_proposal) entry;
};

/* Either verdict ends the proposal: nothing is sent under it. */
static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct gateway_proposal *proposal = arg;
	struct gateway *gw = proposal->gw;
	gateway_verdict_fn done = proposal->done;
	void *done_arg = proposal->arg;

	LIST_REMOVE(proposal, entry);
	if (verdict->action == POLICY_ALLOW) {
		struct gateway_report report = { .facts = proposal->facts,
						 .ticket = proposal->ticket,
						 .verdict = *verdict,
						 .closed = POLICY_DONE,
						 .cause = "proposed" };

		gateway_report(gw->proposals.client, &report);
	}
	free(proposal);
	done(verdict, done_arg);
}

struct gateway_proposal *gateway_propose(struct gateway *gw, uint64_t exec, const char *destination,
					 const char *reason, gateway_verdict_fn done, void *arg,
					 struct err *why)
{
	struct policy_destination dst;

	if (exec != 0 && !execs_find(gw, exec)) {
		(void)err_set(why, -ENOENT, "that command has not started, or it has ended");
		return NULL;
	}
	if (reason[0] == '\0') {
		(void)err_set(why, -EINVAL, "a proposal needs a reason");
		return NULL;
	}
	if (permits_destination(destination, &dst, why) < 0)
		return NULL;
	struct gateway_proposal *proposal = mem_new(sizeof(*proposal));

	if (!gw->proposals.client)
		gw->proposals.client = gateway_client_new(gw);
	proposal->gw = gw;
	proposal->done = done;
	proposal->arg = arg;
	proposal->facts = (struct policy_facts){
		.dst = dst, .carries = dst.protocol, .exec = exec, .plea = reason
	};
	LIST_INSERT_HEAD(&gw->proposals.open, proposal, entry);
	proposal->ticket =
		gateway_submit(gw->proposals.client, &proposal->facts, on_verdict, proposal);
	proposal->facts.plea = NULL; /* it was copied */
	return proposal;
}

void gateway_proposal_join(struct gateway_proposal *proposal, uint64_t session)
{
	((struct waiter *)proposal->ticket)->session = session; /* its client is local */
}

void gateway_proposal_withdraw(struct gateway_proposal *proposal)
{
	if (!proposal)
		return;
	LIST_REMOVE(proposal, entry);
	gateway_withdraw(proposal->ticket);
	free(proposal);
}

void proposals_done(struct gateway *gw)
{
	struct gateway_proposal *proposal;

	while ((proposal = LIST_FIRST(&gw->proposals.open)))
		gateway_proposal_withdraw(proposal);
	gateway_client_free(gw->proposals.client);
	gw->proposals.client = NULL;
}
