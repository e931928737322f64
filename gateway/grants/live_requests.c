#include "gateway/grants/live_requests.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/decide/queue.h"

void live_requests_init(struct gateway *gw,
			void (*on_overdue)(struct gateway *gw, const struct gateway_client *client))
{
	gw->live.on_overdue = on_overdue;
	TAILQ_INIT(&gw->live.open);
	TAILQ_INIT(&gw->live.cutting);
	TAILQ_INIT(&gw->live.cut);
}

static void live_requests_leave(struct waiter *waiter)
{
	if (waiter->gw->reviewing.next == waiter)
		waiter->gw->reviewing.next = TAILQ_NEXT(waiter, entry);
	TAILQ_REMOVE(waiter->pass->home, waiter, entry);
}

static void live_requests_enter(struct waiter *waiter, struct waiter_queue *home)
{
	if (waiter->pass->home)
		live_requests_leave(waiter);
	waiter->pass->home = home;
	TAILQ_INSERT_TAIL(home, waiter, entry);
}

void live_requests_begin(struct waiter *waiter, const struct policy_verdict *allowed)
{
	waiter->pass = mem_new(sizeof(*waiter->pass));
	waiter->pass->id = ++waiter->gw->live.last_id;
	waiter->pass->since_ms = loop_now_ms(waiter->gw->loop);
	waiter->pass->allowed_by = allowed->reason;
	waiter->pass->promise = allowed->promise;
	waiter->pass->limits = allowed->limits;
	live_requests_enter(waiter, &waiter->gw->live.open);
}

void live_requests_end(struct waiter *waiter)
{
	live_requests_leave(waiter);
	free(waiter->pass->cut);
	free(take(waiter->pass));
}

void live_requests_report(const struct waiter *waiter, enum policy_reason reason,
			  struct policy_verdict *verdict)
{
	const struct policy_verdict *cut = waiter->pass->cut;

	if (!cut || cut->reason != reason)
		return;
	(void)snprintf(verdict->rule, sizeof(verdict->rule), "%s", cut->rule);
	(void)snprintf(verdict->because, sizeof(verdict->because), "%s", cut->because);
	(void)snprintf(verdict->by, sizeof(verdict->by), "%s", cut->by);
}

void live_requests_cut_one(struct waiter *waiter, const struct policy_verdict *verdict)
{
	assert(verdict->action == POLICY_DENY);
	waiter->pass->cut = mem_new(sizeof(*verdict));
	*waiter->pass->cut = *verdict;
	live_requests_enter(waiter, &waiter->gw->live.cutting);
	queue_schedule(waiter->gw);
}

size_t live_requests_cut(struct gateway *gw, live_requests_is_over_fn is_over, void *arg)
{
	struct waiter *waiter = TAILQ_FIRST(&gw->live.open);
	size_t count = 0;

	while (waiter) {
		struct waiter *next = TAILQ_NEXT(waiter, entry);
		struct policy_verdict verdict = { .action = POLICY_DENY };

		if (is_over(waiter, &verdict, arg)) {
			live_requests_cut_one(waiter, &verdict);
			count++;
		}
		waiter = next;
	}
	return count;
}

/* A client that was told and still continues cannot be the worker that we started. */
static void live_requests_overdue(void *arg)
{
	struct gateway *gw = arg;
	struct waiter *waiter = TAILQ_FIRST(&gw->live.cut);

	if (!waiter)
		return;
	int64_t left_ms = waiter->pass->cut_ms + LIVE_REQUESTS_CUT_MS - loop_now_ms(gw->loop);

	if (left_ms > 0) {
		loop_timer_start(gw->loop, &gw->live.timer, left_ms, live_requests_overdue, gw);
		return;
	}
	log_error("the proxy worker has not closed a connection that is denied now; closing the "
		  "link to the worker");
	loop_timer_start(gw->loop, &gw->live.timer, LIVE_REQUESTS_CUT_MS, live_requests_overdue,
			 gw);
	/* The owner may free the gateway in this call: it must be the last. */
	gw->live.on_overdue(gw, waiter->ticket.client);
}

void live_requests_turn(struct gateway *gw)
{
	struct waiter *waiter;

	for (int i = 0; i < GATEWAY_TURN_MAX && (waiter = TAILQ_FIRST(&gw->live.cutting)); i++) {
		waiter->pass->cut_ms = loop_now_ms(gw->loop);
		live_requests_enter(waiter, &gw->live.cut);
		if (!gw->live.timer.is_armed)
			loop_timer_start(gw->loop, &gw->live.timer, LIVE_REQUESTS_CUT_MS,
					 live_requests_overdue, gw);
		client_cut(&waiter->ticket, waiter->pass->cut);
	}
}
