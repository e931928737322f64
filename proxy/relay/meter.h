/* meter: how many bytes a request may move, by the gateway's leases, and until when. A request
 * without limits has no meter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct loop;
struct meter;
struct request;

/* @request has @verdict, an allow, and its ticket. Keeps @request. @on_cut: the request must end;
 * called from the loop; frees the meter. Returned owned; NULL: no limits. */
struct meter *meter_new(struct request *request, struct loop *loop,
			const struct policy_verdict *verdict, gateway_cut_fn on_cut, void *arg);
void meter_free(struct meter *meter);

uint64_t meter_left(const struct meter *meter, enum gateway_way way);
/* How many bytes the request may move now. */
static inline uint64_t meter_room(const struct meter *meter, enum gateway_way way)
{
	return meter ? meter_left(meter, way) : UINT64_MAX;
}
/* Bytes were moved; the request has counted them. NULL is fine. */
void meter_moved(struct meter *meter);
/* A byte waits, and there is no room. When room is granted, the owner continues
 * (meter_may_go_on()); when none will be, the request is cut: both from the loop. */
void meter_need(struct meter *meter, enum gateway_way way);

/* Applies a lease from the gateway. False: the owner has nothing to continue. */
bool meter_take_lease(struct meter *meter, const struct gateway_lease *lease);
/* After a lease: did a byte wait, and is there room for it now? */
bool meter_may_go_on(struct meter *meter, enum gateway_way way);
