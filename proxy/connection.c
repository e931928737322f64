#include "proxy/connection.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "proxy/upstream/dial.h"
#include "proxy/http/exchange.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/relay/meter.h"

#define TO(name) BIT(CONNECTION_##name)

/* from → the states that may follow. Every state except CLOSED may close. */
static const unsigned int may_enter[] = {
	[CONNECTION_HEAD] = TO(HEAD) | TO(DECIDING) | TO(EXCHANGE) | TO(DATAGRAMS) | TO(DRAIN) |
			    TO(LINGER) | TO(CLOSED),
	[CONNECTION_DECIDING] =
		TO(HEAD) | TO(DIALLING) | TO(EXCHANGE) | TO(DRAIN) | TO(LINGER) | TO(CLOSED),
	[CONNECTION_DIALLING] = TO(HEAD) | TO(HELLO) | TO(EXCHANGE) | TO(TUNNEL) | TO(DATAGRAMS) |
				TO(DRAIN) | TO(LINGER) | TO(CLOSED),
	[CONNECTION_HELLO] = TO(TUNNEL) | TO(LINGER) | TO(CLOSED),
	[CONNECTION_EXCHANGE] =
		TO(HEAD) | TO(DIALLING) | TO(TUNNEL) | TO(DRAIN) | TO(LINGER) | TO(CLOSED),
	[CONNECTION_TUNNEL] = TO(LINGER) | TO(CLOSED),
	[CONNECTION_DATAGRAMS] = TO(LINGER) | TO(CLOSED),
	[CONNECTION_DRAIN] = TO(HEAD) | TO(LINGER) | TO(CLOSED),
	[CONNECTION_LINGER] = TO(CLOSED),
	[CONNECTION_CLOSED] = 0,
};

static const char *const state_names[] = {
#define X(name) [CONNECTION_##name] = #name,
	CONNECTION_STATES(X)
#undef X
};

void connection_enter(struct connection *connection, enum connection_state next)
{
	assert(may_enter[connection->state] & BIT(next));
	log_debug("connection=%llu %s -> %s", (unsigned long long)connection->id,
		  state_names[connection->state], state_names[next]);
	connection->state = next;
}

void connection_free(struct connection *connection)
{
	assert(connection->state == CONNECTION_CLOSED);
	loop_timer_stop(&connection->timer);
	LIST_REMOVE(connection, link);
	free(connection);
}

static void on_closed(void *arg)
{
	connection_free(arg);
}

/* Clients on the host do not take the command's own connections from it. */
static size_t *count_of(const struct connection *connection)
{
	struct way *way = connection->way;

	return connection->front == published_front() ? &way->visitor_count
						      : &way->connection_count;
}

static void drop_request(struct connection *connection)
{
	meter_free(take(connection->meter));
	request_free(take(connection->request));
}

void connection_end_request(struct connection *connection)
{
	exchange_free(take(connection->exchange));
	drop_request(connection);
}

static void connection_end(struct connection *connection, enum policy_reason reason)
{
	struct proxy *proxy = connection->proxy;
	/* No byte was carried yet: the record says "denied". */
	bool is_refused = connection->state == CONNECTION_DECIDING ||
			  connection->state == CONNECTION_DIALLING;

	connection_enter(connection, CONNECTION_CLOSED);
	gateway_withdraw(take(connection->ticket));
	dial_withdraw(take(connection->dial));
	if (connection->front->on_end)
		connection->front->on_end(connection, reason, is_refused);
	if (connection->request)
		request_report(connection->request, proxy->client, reason, is_refused, NULL,
			       loop_now_ms(proxy->loop));
	connection_end_request(connection);
	connection_drop_upstream(connection);
	free(take(connection->guard));
	free(take(connection->captured));
	leg_close(&connection->client);
	buffer_clear(&connection->in);
	LIST_REMOVE(connection, link);
	(*count_of(connection))--;
	connection->way = NULL;
	LIST_INSERT_HEAD(&proxy->closed, connection, link);
	way_connection_ended(proxy);
	loop_defer(proxy->loop, &connection->timer, on_closed, connection);
}

void connection_close(struct connection *connection, enum policy_reason reason)
{
	if (connection->state == CONNECTION_CLOSED)
		return;
	/* Between two requests the upstream leg is idle and can serve another connection. */
	if (connection->state == CONNECTION_HEAD && !connection->is_fixed)
		connection_park_upstream(connection);
	connection_end(connection, reason);
}

void connection_abort(struct connection *connection, enum policy_reason reason)
{
	if (connection->state == CONNECTION_CLOSED)
		return;
	leg_abort(&connection->client);
	if (connection->up)
		leg_abort(&connection->up->leg);
	connection_end(connection, reason);
}

void connection_advance(struct connection *connection)
{
	int r = 0;

	if (connection->is_advancing)
		return;
	connection->is_advancing = true;
	while (r == 0 && connection->state == CONNECTION_HEAD && connection->in.len &&
	       !leg_is_blocked(&connection->client))
		r = connection->front->on_input(connection);
	connection->is_advancing = false;
	if (connection->state != CONNECTION_HEAD)
		return;
	if (connection->client.is_eof && !leg_is_blocked(&connection->client))
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else
		leg_want_read(&connection->client, !leg_is_blocked(&connection->client));
}

static const struct connection_handlers *handlers_of(const struct connection *connection)
{
	return &connection->proxy->handlers[connection->state];
}

/* The peer has accepted bytes: it is alive, even if slow. */
static void touch(struct connection *connection)
{
	if (connection->state == CONNECTION_TUNNEL)
		connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	else if (connection->state == CONNECTION_EXCHANGE)
		connection_set_deadline(connection, LIMITS_EXCHANGE_MS);
}

static void client_writable(struct connection *connection)
{
	int r = leg_flush(&connection->client);

	touch(connection);
	if (r == 0)
		handlers_of(connection)->on_client_drained(connection);
	else if (r != -EAGAIN)
		connection_abort(connection, POLICY_RESET);
}

static void upstream_writable(struct connection *connection)
{
	int r = leg_flush(&connection->up->leg);

	touch(connection);
	if (r == 0)
		handlers_of(connection)->on_upstream_drained(connection);
	else if (r != -EAGAIN)
		handlers_of(connection)->on_upstream_broken(connection);
}

static void on_client(evutil_socket_t fd, short what, void *arg)
{
	struct connection *connection = arg;

	if (what & EV_WRITE)
		client_writable(connection);
	if (what & EV_READ && leg_is_open(&connection->client))
		handlers_of(connection)->on_client(connection);
}

static void on_upstream(evutil_socket_t fd, short what, void *arg)
{
	struct connection *connection = arg;
	const struct upstream *up = connection->up;

	if (what & EV_WRITE)
		upstream_writable(connection);
	if (what & EV_READ && connection->up == up && connection->state != CONNECTION_CLOSED)
		handlers_of(connection)->on_upstream(connection);
}

static void on_timer(void *arg)
{
	struct connection *connection = arg;
	int64_t left = connection->due_ms - loop_now_ms(connection->proxy->loop);

	if (left > 0)
		loop_timer_start(connection->proxy->loop, &connection->timer, left, on_timer,
				 connection);
	else
		handlers_of(connection)->on_deadline(connection);
}

/* Moving a deadline is an assignment: the timer is re-armed only when it would fire too late. */
void connection_set_deadline(struct connection *connection, int64_t ms)
{
	struct loop *loop = connection->proxy->loop;

	connection->due_ms = loop_now_ms(loop) + ms;
	if (!connection->timer.is_armed || connection->timer.due_ms > connection->due_ms)
		loop_timer_start(loop, &connection->timer, ms, on_timer, connection);
}

bool connection_is_http(const struct connection *connection)
{
	enum policy_way way = connection->request->facts.way;

	return way == POLICY_WAY_HTTP || way == POLICY_WAY_CAPTURED_HTTP;
}

struct connection *connection_open(struct way *way, const struct front *front, int fd,
				   uint16_t peer_port)
{
	struct connection *connection = mem_new(sizeof(*connection));
	struct proxy *proxy = way->proxy;

	connection->proxy = proxy;
	connection->way = way;
	connection->front = front;
	connection->peer_port = peer_port;
	connection->id = ++proxy->connection_count;
	LIST_INSERT_HEAD(&way->connections, connection, link);
	(*count_of(connection))++;
	leg_init(&connection->client, &proxy->shared);
	if (fd >= 0)
		leg_open(&connection->client, fd, on_client, connection);
	leg_want_read(&connection->client, true);
	connection_set_deadline(connection, LIMITS_HEAD_MS);
	if (front->on_open)
		front->on_open(connection);
	return connection;
}

void connection_move(struct connection *connection, struct way *way)
{
	if (connection->way == way)
		return;
	LIST_REMOVE(connection, link);
	(*count_of(connection))--;
	connection->way = way;
	LIST_INSERT_HEAD(&way->connections, connection, link);
	(*count_of(connection))++;
}

ssize_t connection_fill(struct connection *connection)
{
	size_t room = LIMITS_INPUT_BYTES - connection->in.len;
	size_t size = leg_read_size(&connection->client);
	char *bytes = connection->proxy->shared.bytes;
	ssize_t got;

	if (!room) {
		leg_want_read(&connection->client, false);
		leg_stop_reading(&connection->client);
		return -EAGAIN;
	}
	got = leg_read(&connection->client, bytes, size < room ? size : room);
	if (got > 0)
		(void)buffer_append(&connection->in, bytes, (size_t)got, LIMITS_INPUT_BYTES);
	return got;
}

ssize_t connection_take(struct connection *connection)
{
	if (connection->client.wants_read)
		return connection_fill(connection);
	leg_stop_reading(&connection->client);
	return -EAGAIN;
}

void connection_next(struct connection *connection)
{
	if (!connection->is_fixed)
		drop_request(connection);
	exchange_free(take(connection->exchange));
	connection->scanned = 0;
	connection->is_head_begun = connection->in.len > 0;
	if (connection->proxy->is_draining && !connection->is_fixed) {
		connection_enter(connection, CONNECTION_HEAD);
		connection_close(connection, POLICY_GATE_CLOSING);
		return;
	}
	connection_enter(connection, CONNECTION_HEAD);
	connection_set_deadline(connection,
				connection->is_head_begun ? LIMITS_HEAD_MS : LIMITS_KEEP_ALIVE_MS);
	connection_advance(connection);
}

void connection_open_upstream(struct connection *connection, int fd, const struct addr *addr,
			      const struct pool_key *key)
{
	struct upstream *up = mem_new(sizeof(*up));

	assert(!connection->up);
	up->addr = *addr;
	if (key) {
		up->key = mem_new(sizeof(*up->key));
		*up->key = *key;
	}
	leg_init(&up->leg, &connection->proxy->shared);
	leg_open(&up->leg, fd, on_upstream, connection);
	connection->up = up;
}

void connection_drop_upstream(struct connection *connection)
{
	struct upstream *up = take(connection->up);

	if (!up)
		return;
	leg_close(&up->leg);
	free(up->key);
	free(up);
}

void connection_park_upstream(struct connection *connection)
{
	struct upstream *up = connection->up;

	if (up && up->key && up->is_reused && leg_is_open(&up->leg) && !up->leg.is_eof &&
	    !leg_is_blocked(&up->leg))
		pool_put(connection->proxy->pool, up->key, &up->addr, leg_take_fd(&up->leg));
	connection_drop_upstream(connection);
}
