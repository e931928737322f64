#include "proxy/meter.h"

#include "base/loop.h"
#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/exchange.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"

#define MS_PER_S INT64_C(1000)

struct meter {
	struct session *session;
	uint64_t may[GATEWAY_WAYS]; /* in all */
	bool is_over[GATEWAY_WAYS];
	bool is_low[GATEWAY_WAYS]; /* little is given at a time: not worth asking ahead */
	bool needs[GATEWAY_WAYS];
	bool is_asking, is_over_soon; /* the cut is on its way */
	int64_t until_s;              /* since 1970; 0: no end */
	enum policy_reason reason;    /* why it is about to be cut */
	struct loop_timer answer;     /* when the gateway must have answered; or the cut */
	struct loop_timer end;        /* when the time is over */
};

static uint64_t moved(const struct request *request, enum gateway_way way)
{
	return way == GATEWAY_UP ? request->bytes_up : request->bytes_down;
}

uint64_t meter_left(const struct request *request, enum gateway_way way)
{
	uint64_t may = request->meter->may[way], has = moved(request, way);

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

/* The meter dies in here. */
static void cut(struct meter *meter, enum policy_reason reason)
{
	struct policy_verdict verdict;

	request_get_verdict(meter->session->request, &verdict);
	verdict.action = POLICY_DENY;
	verdict.reason = reason;
	admit_on_cut(&verdict, meter->session);
}

static void on_answer_due(void *arg)
{
	struct meter *meter = arg;

	cut(meter, meter->reason);
}

/* Not from inside whoever found it out: it may be in the middle of a read. */
static void cut_soon(struct meter *meter, enum policy_reason reason)
{
	meter->reason = reason;
	meter->is_over_soon = true;
	loop_defer(meter->session->proxy->loop, &meter->answer, on_answer_due, meter);
}

static void spend(struct meter *meter, bool is_return)
{
	const struct request *request = meter->session->request;
	struct gateway_spent spent = {
		.bytes = { request->bytes_up, request->bytes_down },
		.is_return = is_return,
	};

	if (!request->ticket)
		return; /* reported: nothing is moved any more */
	for (int way = 0; way < GATEWAY_WAYS && !is_return; way++)
		spent.needs[way] = meter->needs[way];
	if (gateway_spend(request->ticket, &spent) < 0)
		cut_soon(meter, POLICY_BUDGET_SPENT); /* the gateway counts otherwise */
}

static void ask(struct meter *meter)
{
	meter->is_asking = true;
	meter->reason = POLICY_OVERLOADED;
	loop_timer_start(meter->session->proxy->loop, &meter->answer, LIMITS_LEASE_MS,
			 on_answer_due, meter);
	spend(meter, false);
}

void meter_moved(struct session *session)
{
	struct meter *meter = session->request->meter;

	if (!meter || meter->is_asking || meter->is_over_soon)
		return;
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (meter->is_low[way] || meter->is_over[way] ||
		    meter_left(session->request, way) >= LIMITS_LEASE_AHEAD)
			continue;
		ask(meter);
		return;
	}
}

void meter_need(struct session *session, enum gateway_way way)
{
	struct meter *meter = session->request->meter;

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
		meter->is_low[way] = meter_left(meter->session->request, way) < LIMITS_LEASE_AHEAD;
	}
}

/* Not a byte more than was moved until now. */
static void give_back(struct meter *meter)
{
	const struct request *request = meter->session->request;

	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (meter->may[way] == UINT64_MAX)
			continue;
		meter->may[way] = moved(request, way);
		meter->is_low[way] = true;
	}
	spend(meter, true);
}

/* What waited goes on. Each may end the session, and with it the meter. */
static void go_on(struct session *session, enum gateway_way way)
{
	if (session->state == SESSION_TUNNEL)
		tunnel_on_lease(session, way);
	else if (session->state == SESSION_EXCHANGE)
		exchange_on_lease(session, way);
}

void meter_on_lease(const struct gateway_lease *lease, void *arg)
{
	struct session *session = arg;

	for (int way = 0; way < GATEWAY_WAYS; way++) {
		struct meter *meter = session->request ? session->request->meter : NULL;

		if (!meter)
			return;
		if (way == 0 && lease->is_recall) {
			give_back(meter);
			return;
		}
		if (meter->is_over_soon)
			return;
		if (way == 0)
			take_lease(meter, lease);
		if (!meter->needs[way])
			continue;
		meter->needs[way] = false;
		if (meter_left(session->request, way) > 0)
			go_on(session, way);
		else
			meter_need(session, way);
	}
}

static int64_t until_end_ms(const struct meter *meter)
{
	return meter->until_s * MS_PER_S - loop_wall_us(meter->session->proxy->loop) / 1000;
}

/* The clock on the wall may have been set meanwhile. */
static void on_end(void *arg)
{
	struct meter *meter = arg;
	int64_t left_ms = until_end_ms(meter);

	if (left_ms > 0)
		loop_timer_start(meter->session->proxy->loop, &meter->end, left_ms, on_end, meter);
	else
		cut(meter, POLICY_EXPIRED);
}

void meter_begin(struct session *session, const struct policy_verdict *verdict)
{
	const struct policy_limits *limits = &verdict->limits;
	struct request *request = session->request;

	if (!limits->upload && !limits->download && !limits->until_s)
		return;
	struct meter *meter = mem_new(sizeof(*meter));

	meter->session = session;
	meter->may[GATEWAY_UP] = limits->upload ? 0 : UINT64_MAX;
	meter->may[GATEWAY_DOWN] = limits->download ? 0 : UINT64_MAX;
	request->meter = meter;
	if (limits->until_s) {
		meter->until_s = limits->until_s;
		int64_t left_ms = until_end_ms(meter);

		loop_timer_start(session->proxy->loop, &meter->end, left_ms > 0 ? left_ms : 0,
				 on_end, meter);
	}
	/* While it is dialled the first lease comes. */
	if (limits->upload || limits->download)
		ask(meter);
}
