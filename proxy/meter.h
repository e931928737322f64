/* meter: how far a request may go: bytes by the gateway's leases, and until when. A request
 * without limits has none, and costs nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"
#include "proxy/request.h"

struct meter;
struct session;

/* The session's request has @verdict, an allow, and its ticket. */
void meter_begin(struct session *session, const struct policy_verdict *verdict);
void meter_free(struct meter *meter);

uint64_t meter_left(const struct request *request, enum gateway_way way);
/* How many bytes the request may move now. */
static inline uint64_t meter_room(const struct request *request, enum gateway_way way)
{
	return request->meter ? meter_left(request, way) : UINT64_MAX;
}
/* Some were moved, and are in the request's own count. */
void meter_moved(struct session *session);
/* A byte waits, and there is no room. When there is, the session's tunnel or exchange goes on; when
 * there will be none, it is cut: both from the loop. */
void meter_need(struct session *session, enum gateway_way way);

/* gateway_lease_fn of every session. */
void meter_on_lease(const struct gateway_lease *lease, void *arg);
