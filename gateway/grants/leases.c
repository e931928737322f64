#include "gateway/grants/leases.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gateway/link/client.h"
#include "gateway/decide/queue.h"

struct holding {
	struct lease lease;
	struct waiter *waiter;
};

static bool leases_has_budget(const struct policy_limits *limits)
{
	return limits->upload || limits->download || limits->connections || limits->rate_count;
}

void leases_begin(struct waiter *waiter, struct policy_verdict *verdict)
{
	struct gateway *gw = waiter->gw;
	enum policy_reason reason = POLICY_NOT_ENFORCED; /* a budget without an owner */
	struct lease lease = { 0 };

	if (!leases_has_budget(&verdict->limits))
		return;
	if (verdict->limits.account != 0)
		reason = accounts_open(&gw->accounts, &verdict->limits, loop_now_ms(gw->loop),
				       &lease);
	if (reason != POLICY_NONE) {
		verdict->action = POLICY_DENY;
		verdict->reason = reason;
		verdict->may_private = false;
	} else if (lease.account) {
		/* The request has not been told of it yet, so it may still be moved. */
		waiter->holding = mem_new(sizeof(*waiter->holding));
		waiter->holding->lease = lease;
		waiter->holding->waiter = waiter;
	}
}

void leases_end(struct waiter *waiter, const uint64_t spent[GATEWAY_WAYS])
{
	struct holding *holding = take(waiter->holding);

	if (!holding)
		return;
	accounts_close(&waiter->gw->accounts, &holding->lease, spent);
	queue_schedule(waiter->gw); /* other requests may have got what it returned */
	free(holding);
}

int leases_spend(struct waiter *waiter, const struct gateway_spent *spent)
{
	struct accounts *accounts = &waiter->gw->accounts;
	struct holding *holding = waiter->holding;
	int r = -EBADMSG;

	if (!holding)
		return r;
	queue_schedule(waiter->gw);
	if (!spent->is_return)
		r = accounts_ask(accounts, &holding->lease, spent->bytes, spent->needs);
	else if (!spent->needs[GATEWAY_UP] && !spent->needs[GATEWAY_DOWN])
		r = accounts_return(accounts, &holding->lease, spent->bytes);
	return r;
}

void leases_turn(struct gateway *gw)
{
	bool is_recall;

	for (int i = 0; i < GATEWAY_TURN_MAX; i++) {
		struct lease *lease = accounts_next_news(&gw->accounts, &is_recall);

		if (!lease)
			return;
		struct gateway_lease told = { .is_recall = is_recall };

		for (int way = 0; way < GATEWAY_WAYS; way++) {
			told.may[way] = lease->limit[way] ? lease->given[way] : UINT64_MAX;
			told.is_over[way] = lease->is_over[way];
		}
		client_lease(&container_of(lease, struct holding, lease)->waiter->ticket, &told);
	}
	queue_schedule(gw);
}
