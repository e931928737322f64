#include "proxy/relay/tunnel.h"

#include <errno.h>

#include "proxy/fronts/front_impl.h"
#include "proxy/relay/guard.h"
#include "proxy/relay/meter.h"
#include "proxy/connection.h"

void tunnel_begin(struct connection *connection)
{
	enum policy_protocol promise = connection->request->promise;

	if (promise == POLICY_HTTPS) {
		guard_begin(connection);
		tunnel_on_hello(connection);
	} else if (promise == POLICY_HTTP) {
		connection->is_fixed = true;
		connection->front = http1_front();
		leg_want_read(&connection->up->leg, true);
		connection_next(connection);
	} else if (promise == POLICY_TCP) {
		tunnel_carry(connection);
	} else {
		/* admit.c lets no other promise through; checked here once more. */
		connection_abort(connection, POLICY_NOT_ENFORCED);
	}
}

/* Sends what was read before the tunnel was connected, as far as there is room. 0 or -errno. */
static int send_input(struct connection *connection)
{
	struct leg *up = &connection->up->leg;
	uint64_t room = meter_room(connection->meter, GATEWAY_UP);
	size_t cleared = guard_cleared(connection);
	size_t len = cleared < room ? cleared : (size_t)room;

	if (len) {
		connection->request->bytes_up += len;
		if (leg_write_bytes(up, buffer_at(&connection->in), len) < 0)
			return -EPIPE;
		buffer_consume(&connection->in, len);
		guard_sent(connection, len);
		meter_moved(connection->meter);
	}
	if (len < cleared)
		meter_need(connection->meter, GATEWAY_UP);
	else if (connection->client.is_eof)
		leg_shut(up);
	leg_want_read(&connection->client, len == cleared && !leg_is_blocked(up));
	return 0;
}

void tunnel_carry(struct connection *connection)
{
	connection_enter(connection, CONNECTION_TUNNEL);
	connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	if (send_input(connection) < 0)
		connection_abort(connection, POLICY_RESET);
	else
		leg_want_read(&connection->up->leg, !leg_is_blocked(&connection->client));
}

void tunnel_on_hello(struct connection *connection)
{
	if (guard_reads_hello(connection))
		tunnel_carry(connection);
}

/* Both directions have ended and all bytes are delivered. */
static bool is_over(const struct connection *connection)
{
	const struct leg *client = &connection->client, *up = &connection->up->leg;

	return client->is_eof && up->is_eof && !leg_is_blocked(client) && !leg_is_blocked(up) &&
	       !connection->in.len;
}

static void send_judged(struct connection *connection)
{
	if (send_input(connection) < 0)
		connection_abort(connection, POLICY_RESET);
	else if (is_over(connection))
		connection_close(connection, POLICY_DONE);
}

/* One read and one write per event: the buffer is large enough, and other connections get their
 * turn. */
static void pump(struct connection *connection, struct leg *from, struct leg *to,
		 enum gateway_way way)
{
	struct request *request = connection->request;
	char *bytes = connection->proxy->shared.bytes;
	ssize_t got;

	if (!from->wants_read) {
		leg_stop_reading(from);
		return;
	}
	got = leg_read_room(from, bytes, leg_read_size(from), meter_room(connection->meter, way));
	if (got == -EAGAIN)
		return;
	if (got == -EDQUOT) {
		leg_want_read(from, false);
		leg_stop_reading(from);
		meter_need(connection->meter, way);
		return;
	}
	if (got < 0) {
		connection_abort(connection, POLICY_RESET);
		return;
	}
	connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	if (got == 0) {
		leg_shut(to);
		if (is_over(connection))
			connection_close(connection, POLICY_DONE);
		return;
	}
	*(way == GATEWAY_UP ? &request->bytes_up : &request->bytes_down) += (uint64_t)got;
	meter_moved(connection->meter);
	if (connection->guard && way == GATEWAY_DOWN)
		guard_on_server(connection, bytes, (size_t)got);
	if (leg_write_bytes(to, bytes, (size_t)got) < 0) {
		connection_abort(connection, POLICY_RESET);
		return;
	}
	if (leg_is_blocked(to)) {
		leg_want_read(from, false);
		leg_slow_down(from);
	}
}

void tunnel_on_client(struct connection *connection)
{
	if (!connection->guard)
		pump(connection, &connection->client, &connection->up->leg, GATEWAY_UP);
	else if (guard_reads_client(connection))
		send_judged(connection);
}

void tunnel_on_upstream(struct connection *connection)
{
	pump(connection, &connection->up->leg, &connection->client, GATEWAY_DOWN);
}

static void drained(struct connection *connection, struct leg *source)
{
	connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	if (is_over(connection))
		connection_close(connection, POLICY_DONE);
	else
		leg_want_read(source, source != &connection->client || !guard_cleared(connection));
}

void tunnel_on_client_drained(struct connection *connection)
{
	drained(connection, &connection->up->leg);
}

void tunnel_on_upstream_drained(struct connection *connection)
{
	drained(connection, &connection->client);
}

/* Moves bytes at once: unused room may be recalled for another connection. */
void tunnel_on_lease(struct connection *connection, enum gateway_way way)
{
	struct leg *up = &connection->up->leg;

	if (way == GATEWAY_DOWN) {
		leg_want_read(up, !leg_is_blocked(&connection->client));
		tunnel_on_upstream(connection);
	} else if (!guard_cleared(connection)) {
		leg_want_read(&connection->client, !leg_is_blocked(up));
		tunnel_on_client(connection);
	} else if (send_input(connection) < 0) {
		connection_abort(connection, POLICY_RESET);
	}
}
