#include "proxy/flow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "proxy/admit.h"
#include "proxy/connection.h"
#include "proxy/entrance.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/relay/meter.h"

#define BATCH 64 /* datagrams relayed before the others get their turn */

static void drop_held(struct flow *flow)
{
	for (size_t i = 0; i < flow->held_count; i++) {
		flow->flows->held_bytes -= flow->held[i].len;
		free(flow->held[i].bytes);
	}
	flow->held_count = 0;
}

static void flow_free(struct flow *flow)
{
	drop_held(flow);
	LIST_REMOVE(flow, link);
	flow->flows->count--;
	free(flow);
}

static void on_end(struct connection *connection, enum policy_reason reason, bool is_refused)
{
	struct flow *flow = take(connection->flow);
	char cause[80];

	if (!flow)
		return;
	if (flow->dropped > 0 && connection->request) {
		(void)snprintf(cause, sizeof(cause), "%llu datagrams were dropped",
			       (unsigned long long)flow->dropped);
		request_report(connection->request, connection->proxy->client, reason, is_refused,
			       cause, loop_now_ms(connection->proxy->loop));
	}
	flow_free(flow);
}

/* It stays refused for a while, so that it is one record and not one for each datagram. */
static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	struct flow *flow = take(connection->flow);

	flow->connection = NULL;
	flow->refused_until_ms = loop_now_ms(connection->proxy->loop) + LIMITS_FLOW_MS;
	if (flow->flows->refuse)
		flow->flows->refuse(flow);
	drop_held(flow);
	connection_close(connection, refusal->reason);
}

/* Is there room in the budget for a datagram? If not, asks for more. */
static bool has_room(struct flow *flow, enum gateway_way way, size_t len)
{
	struct meter *meter = flow->connection->meter;
	uint64_t room = meter_room(meter, way);

	if (len <= room)
		return true;
	flow->short_room[way] = room;
	meter_need(meter, way);
	return false;
}

/* False: the budget has no room for it now. */
static bool put(struct flow *flow, const void *bytes, size_t len)
{
	struct connection *connection = flow->connection;
	int fd = connection->up->leg.fd;

	if (!has_room(flow, GATEWAY_UP, len))
		return false;
	ssize_t sent = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	/* The error may be what an earlier datagram met, and is reported once. */
	if (sent < 0 && errno != EAGAIN)
		sent = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0) {
		flow->dropped++;
		return true;
	}
	connection->request->bytes_up += (uint64_t)sent;
	meter_moved(connection->meter);
	return true;
}

static void send_held(struct flow *flow)
{
	size_t sent = 0;

	while (sent < flow->held_count && put(flow, flow->held[sent].bytes, flow->held[sent].len)) {
		flow->flows->held_bytes -= flow->held[sent].len;
		free(flow->held[sent++].bytes);
	}
	flow->held_count -= sent;
	memmove(flow->held, flow->held + sent, flow->held_count * sizeof(*flow->held));
}

static void on_connected(struct connection *connection)
{
	connection_enter(connection, CONNECTION_DATAGRAMS);
	connection_set_deadline(connection, LIMITS_FLOW_MS);
	leg_want_read(&connection->up->leg, true);
	send_held(connection->flow);
}

static const struct front *front_of(const struct flows *flows)
{
#define FRONT(from)                                                                                \
	{                                                                                          \
		.name = "udp", .way = (from), .on_refused = on_refused,                            \
		.on_connected = on_connected, .on_end = on_end                                     \
	}
	static const struct front associated = FRONT(POLICY_WAY_SOCKS5);
	static const struct front captured = FRONT(POLICY_WAY_CAPTURED);
#undef FRONT

	return flows->by == POLICY_WAY_CAPTURED ? &captured : &associated;
}

static void submit(struct connection *connection, const struct socks5_request *dst)
{
	struct policy_facts facts = { .carries = POLICY_UDP,
				      .way = connection->front->way,
				      .exec = connection->way->exec };
	struct err why = { 0 };

	if (policy_destination_set(&facts.dst, dst->host, dst->host_len, dst->port, &why) < 0) {
		admit_refuse(connection, POLICY_BAD_HOST, why.text);
		return;
	}
	way_resolve(connection->way, &facts.dst);
	facts.dst.protocol = POLICY_UDP; /* whatever the port is */
	admit_begin(connection, &facts);
	admit_submit(connection, NULL);
}

/* Asks for @dst. Returned owned by @flows. */
static struct flow *flow_begin(struct flows *flows, const uint8_t *key, size_t key_len,
			       const struct socks5_request *dst)
{
	struct flow *flow = mem_new(sizeof(*flow));

	flow->flows = flows;
	flow->key_len = key_len;
	memcpy(flow->key, key, key_len);
	LIST_INSERT_HEAD(&flows->list, flow, link);
	flows->count++;
	flow->connection = connection_open(flows->way, front_of(flows), -1, flows->peer_port);
	flow->connection->flow = flow;
	submit(flow->connection, dst);
	return flow;
}

static void hold(struct flow *flow, const void *bytes, size_t len)
{
	struct flows *flows = flow->flows;

	if (flow->held_count == LIMITS_FLOW_HELD || flows->held_bytes + len > LIMITS_HELD_BYTES) {
		flow->dropped++;
		return;
	}
	struct flow_held *held = &flow->held[flow->held_count++];

	held->bytes = mem_new(len + 1);
	held->len = len;
	memcpy(held->bytes, bytes, len);
	flows->held_bytes += len;
}

static bool is_refused(const struct flow *flow)
{
	return !flow->connection;
}

static bool was_refused(const struct flow *flow)
{
	return is_refused(flow) &&
	       loop_now_ms(flow->flows->way->proxy->loop) >= flow->refused_until_ms;
}

static void forget_refused(struct flows *flows)
{
	struct flow *flow = LIST_FIRST(&flows->list);

	while (flow) {
		struct flow *next = LIST_NEXT(flow, link);

		if (was_refused(flow))
			flow_free(flow);
		flow = next;
	}
}

/* The one that was used last is the first: most datagrams are its own. */
static struct flow *find_flow(struct flows *flows, const uint8_t *key, size_t len)
{
	struct flow *flow;

	LIST_FOREACH (flow, &flows->list, link) {
		if (flow->key_len == len && memcmp(flow->key, key, len) == 0)
			break;
	}
	if (flow && was_refused(flow)) {
		flow_free(flow);
		return NULL;
	}
	if (flow && flow != LIST_FIRST(&flows->list)) {
		LIST_REMOVE(flow, link);
		LIST_INSERT_HEAD(&flows->list, flow, link);
	}
	return flow;
}

static struct flow *add_flow(struct flows *flows, const uint8_t *key, size_t len,
			     const struct socks5_request *dst)
{
	if (flows->count >= LIMITS_FLOWS_MAX)
		forget_refused(flows);
	if (flows->count < LIMITS_FLOWS_MAX && entrance_has_room(flows->way))
		return flow_begin(flows, key, len, dst);
	entrance_record_overload(flows->way, front_of(flows));
	return NULL;
}

static void send_or_hold(struct flow *flow, const void *bytes, size_t len)
{
	struct connection *connection = flow->connection;
	bool is_open = connection->state == CONNECTION_DATAGRAMS;

	if (is_open)
		connection_set_deadline(connection, LIMITS_FLOW_MS);
	if (!is_open || flow->held_count > 0 || !put(flow, bytes, len))
		hold(flow, bytes, len);
}

void flow_take(struct flows *flows, const uint8_t *key, size_t key_len,
	       const struct socks5_request *dst, const void *bytes, size_t len)
{
	struct flow *flow = find_flow(flows, key, key_len);
	bool is_known = flow != NULL;

	if (!flow)
		flow = add_flow(flows, key, key_len, dst);
	if (flow && !is_refused(flow))
		send_or_hold(flow, bytes, len);
	else if (is_known && flows->refuse)
		flows->refuse(flow); /* it is recorded already */
}

void flow_close_all(struct flows *flows, enum policy_reason reason)
{
	struct flow *flow;

	while ((flow = LIST_FIRST(&flows->list))) {
		bool was_sent = flow->connection && flow->connection->state == CONNECTION_DATAGRAMS;

		if (is_refused(flow))
			flow_free(flow);
		else
			connection_close(flow->connection,
					 was_sent || reason != POLICY_CLIENT_CLOSED
						 ? reason
						 : POLICY_CLIENT_LEFT);
	}
}

/* False: there is no more, or no room for it. */
static bool relay_one(struct connection *connection)
{
	struct leg *up = &connection->up->leg;
	struct flow *flow = connection->flow;
	char *bytes = connection->proxy->shared.bytes;
	ssize_t got = 0;

	if (connection->meter)
		got = recv(up->fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
	if (got > 0 && !has_room(flow, GATEWAY_DOWN, (size_t)got)) {
		leg_want_read(up, false);
		leg_stop_reading(up);
		return false;
	}
	got = recv(up->fd, bytes, LIMITS_READ_BYTES, MSG_DONTWAIT);
	if (got < 0 && errno == ECONNREFUSED && flow->flows->refuse)
		flow->flows->refuse(flow);
	if (got < 0)
		return errno != EAGAIN; /* an error is what a datagram met, and is over with it */
	connection->request->bytes_down += (uint64_t)got;
	connection_set_deadline(connection, LIMITS_FLOW_MS);
	meter_moved(connection->meter);
	flow->flows->deliver(flow, bytes, (size_t)got);
	return true;
}

void flow_on_upstream(struct connection *connection)
{
	if (!connection->up->leg.wants_read) {
		leg_stop_reading(&connection->up->leg);
		return;
	}
	for (int i = 0; i < BATCH && relay_one(connection); i++)
		;
}

static void end_budget(struct connection *connection)
{
	struct policy_verdict verdict;

	request_get_verdict(connection->request, &verdict);
	verdict.action = POLICY_DENY;
	verdict.reason = POLICY_BUDGET_SPENT;
	admit_on_cut(&verdict, connection);
}

/* A datagram cannot be sent in part: when the gateway gives no more, what is left is of no use. */
void flow_on_lease(struct connection *connection, enum gateway_way way)
{
	if (meter_room(connection->meter, way) <= connection->flow->short_room[way])
		end_budget(connection);
	else if (way == GATEWAY_UP)
		send_held(connection->flow);
	else
		leg_want_read(&connection->up->leg, true);
}
