#include "proxy/relay/meter.h"

#include "base/loop.h"
#include "base/mem.h"
#include "proxy/limits.h"
#include "proxy/request.h"

#define MS_PER_S INT64_C(1000)

struct meter {
	struct request *request;
	struct loop *loop;
	gateway_cut_fn on_cut;
	void *arg;
	uint64_t may[GATEWAY_WAYS]; /* the total granted */
	bool is_over[GATEWAY_WAYS];
	bool is_low[GATEWAY_WAYS]; /* the gateway grants little at a time: do not ask ahead */
	bool needs[GATEWAY_WAYS];
	bool is_asking, is_over_soon; /* the cut is scheduled */
	int64_t until_s;              /* since 1970; 0: no end */
	enum policy_reason reason;    /* the reason for that cut */
	struct loop_timer answer;     /* the deadline for the gateway's response; or the cut */
	struct loop_timer end;        /* the end of the time limit */
};

static uint64_t moved(const struct request *request, enum gateway_way way)
{
	return way == GATEWAY_UP ? request->bytes_up : request->bytes_down;
}

uint64_t meter_left(const struct meter *meter, enum gateway_way way)
{
	uint64_t may = meter->may[way], has = moved(meter->request, way);

	return may > has ? may - has : 0;
}

void meter_free(struct meter *meter)
{
	if (!meter)
		return;
	loop_timer_stop(&meter->answer);
	loop_timer_stop(&meter->end);
	free(meter);
}

/* Frees the meter. */
static void cut(struct meter *meter, enum policy_reason reason)
{
	struct policy_verdict verdict;

	request_get_verdict(meter->request, &verdict);
	verdict.action = POLICY_DENY;
	verdict.reason = reason;
	meter->on_cut(&verdict, meter->arg);
}

static void on_answer_due(void *arg)
{
	struct meter *meter = arg;

	cut(meter, meter->reason);
}

/* Deferred, because the caller may be in the middle of a read. */
static void cut_soon(struct meter *meter, enum policy_reason reason)
{
	meter->reason = reason;
	meter->is_over_soon = true;
	loop_defer(meter->loop, &meter->answer, on_answer_due, meter);
}

static void spend(struct meter *meter, bool is_return)
{
	const struct request *request = meter->request;
	struct gateway_spent spent = {
		.bytes = { request->bytes_up, request->bytes_down },
		.is_return = is_return,
	};

	if (!request->ticket)
		return; /* reported: no more bytes are moved */
	for (int way = 0; way < GATEWAY_WAYS && !is_return; way++)
		spent.needs[way] = meter->needs[way];
	if (gateway_spend(request->ticket, &spent) < 0)
		cut_soon(meter, POLICY_BUDGET_SPENT); /* the gateway has counted differently */
}

static void ask(struct meter *meter)
{
	meter->is_asking = true;
	meter->reason = POLICY_OVERLOADED;
	loop_timer_start(meter->loop, &meter->answer, LIMITS_LEASE_MS, on_answer_due, meter);
	spend(meter, false);
}

void meter_moved(struct meter *meter)
{
	if (!meter || meter->is_asking || meter->is_over_soon)
		return;
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (meter->is_low[way] || meter->is_over[way] ||
		    meter_left(meter, way) >= LIMITS_LEASE_AHEAD)
			continue;
		ask(meter);
		return;
	}
}

void meter_need(struct meter *meter, enum gateway_way way)
{
	if (meter->is_over_soon)
		return;
	meter->needs[way] = true;
	if (meter->is_over[way])
		cut_soon(meter, POLICY_BUDGET_SPENT);
	else if (!meter->is_asking)
		ask(meter);
}

static void take_lease(struct meter *meter, const struct gateway_lease *lease)
{
	meter->is_asking = false;
	loop_timer_stop(&meter->answer);
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		meter->may[way] = lease->may[way];
		meter->is_over[way] = lease->is_over[way];
		meter->is_low[way] = meter_left(meter, way) < LIMITS_LEASE_AHEAD;
	}
}

/* Returns everything that was not used until now. */
static void give_back(struct meter *meter)
{
	const struct request *request = meter->request;

	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (meter->may[way] == UINT64_MAX)
			continue;
		meter->may[way] = moved(request, way);
		meter->is_low[way] = true;
	}
	spend(meter, true);
}

bool meter_take_lease(struct meter *meter, const struct gateway_lease *lease)
{
	if (lease->is_recall) {
		give_back(meter);
		return false;
	}
	if (meter->is_over_soon)
		return false;
	take_lease(meter, lease);
	return true;
}

bool meter_may_go_on(struct meter *meter, enum gateway_way way)
{
	if (meter->is_over_soon || !meter->needs[way])
		return false;
	meter->needs[way] = false;
	if (meter_left(meter, way) > 0)
		return true;
	meter_need(meter, way);
	return false;
}

static int64_t until_end_ms(const struct meter *meter)
{
	return meter->until_s * MS_PER_S - loop_wall_us(meter->loop) / 1000;
}

/* The wall clock may have been set meanwhile. */
static void on_end(void *arg)
{
	struct meter *meter = arg;
	int64_t left_ms = until_end_ms(meter);

	if (left_ms > 0)
		loop_timer_start(meter->loop, &meter->end, left_ms, on_end, meter);
	else
		cut(meter, POLICY_EXPIRED);
}

struct meter *meter_new(struct request *request, struct loop *loop,
			const struct policy_verdict *verdict, gateway_cut_fn on_cut, void *arg)
{
	const struct policy_limits *limits = &verdict->limits;

	if (!limits->upload && !limits->download && !limits->until_s)
		return NULL;
	struct meter *meter = mem_new(sizeof(*meter));

	meter->request = request;
	meter->loop = loop;
	meter->on_cut = on_cut;
	meter->arg = arg;
	meter->may[GATEWAY_UP] = limits->upload ? 0 : UINT64_MAX;
	meter->may[GATEWAY_DOWN] = limits->download ? 0 : UINT64_MAX;
	if (limits->until_s) {
		meter->until_s = limits->until_s;
		int64_t left_ms = until_end_ms(meter);

		loop_timer_start(loop, &meter->end, left_ms > 0 ? left_ms : 0, on_end, meter);
	}
	/* Ask for the first lease while the connection is dialled. */
	if (limits->upload || limits->download)
		ask(meter);
	return meter;
}
