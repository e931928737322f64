#include "proxy/http/upload.h"

#include "proxy/admit.h"
#include "proxy/http/exchange.h"
#include "proxy/relay/meter.h"
#include "proxy/connection.h"

/* Cuts @parts to the room that the meter leaves, and holds the rest. Returns how many bytes to
 * send. */
static uint64_t fit(struct connection *connection, struct iovec *parts, int count)
{
	uint64_t room = meter_room(connection->meter, GATEWAY_UP), sent = 0;

	for (int i = 0; i < count; i++) {
		size_t len = parts[i].iov_len;

		if (len > room - sent) {
			parts[i].iov_len = (size_t)(room - sent);
			/* Fits: it is a head and one read, and we do not read while it waits. */
			(void)buffer_append(&connection->exchange->held,
					    (char *)parts[i].iov_base + parts[i].iov_len,
					    len - parts[i].iov_len, LIMITS_OUTPUT_BYTES);
		}
		sent += parts[i].iov_len;
	}
	return sent;
}

/* Sends to the server. After an error its response may still be on the way: the reading side
 * handles that. */
static void send_up(struct connection *connection, struct iovec *parts, int count)
{
	struct leg *up = &connection->up->leg;
	uint64_t sent = fit(connection, parts, count);

	connection->request->bytes_up += sent;
	if (sent && leg_write(up, parts, count) < 0)
		connection->exchange->is_upload_cut = true;
	if (leg_is_blocked(up))
		leg_slow_down(&connection->client);
	meter_moved(connection->meter);
	if (connection->exchange->held.len)
		meter_need(connection->meter, GATEWAY_UP);
}

static bool wants_upload(const struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	return !exchange->up.is_done && !exchange->is_upload_cut && !exchange->held.len &&
	       !leg_is_blocked(&connection->up->leg);
}

void upload_begin(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	struct iovec parts[1 + BODY_PARTS];
	size_t used = 0;
	int count = 0;

	if (connection->up->proxy &&
	    exchange_make_absolute(exchange, &connection->request->facts.dst,
				   connection->up->proxy) < 0) {
		admit_refuse(connection, POLICY_HEAD_TOO_LARGE, NULL);
		return;
	}
	parts[0] = (struct iovec){ buffer_at(&exchange->head), exchange->head.len };
	buffer_clear(&exchange->held); /* a retry sends the whole head again */
	connection_enter(connection, CONNECTION_EXCHANGE);
	connection_set_deadline(connection, LIMITS_EXCHANGE_MS);
	if (connection->in.len && body_feed(&exchange->up, buffer_at(&connection->in),
					    connection->in.len, &used, parts + 1, &count) < 0) {
		admit_refuse(connection, POLICY_MALFORMED, "the request body has malformed chunks");
		return;
	}
	send_up(connection, parts, 1 + count);
	buffer_consume(&connection->in, used);
	if (!exchange->is_idempotent)
		buffer_clear(&exchange->head);
	if (!exchange->up.is_done && connection->client.is_eof) {
		connection_abort(connection, POLICY_CLIENT_CLOSED);
		return;
	}
	leg_want_read(&connection->up->leg, true);
	leg_want_read(&connection->client, wants_upload(connection));
}

void upload_on_cut(struct connection *connection)
{
	connection->exchange->is_upload_cut = true;
	buffer_clear(&connection->exchange->held);
	leg_drop_output(&connection->up->leg);
	leg_want_read(&connection->client, false);
}

/* Reads are small when they may contain more than the body: the rest is read ahead, which has a
 * limit. */
static size_t upload_size(const struct connection *connection)
{
	size_t size = leg_read_size(&connection->client);
	const struct body *body = &connection->exchange->up;

	if (body->in == HTTP1_LENGTH)
		return size < body->left ? size : (size_t)body->left;
	return size < LIMITS_INPUT_BYTES ? size : LIMITS_INPUT_BYTES;
}

void upload_on_client(struct connection *connection)
{
	struct exchange *exchange = connection->exchange;
	char *bytes = connection->proxy->shared.bytes;
	struct iovec parts[BODY_PARTS];
	size_t used = 0;
	int count = 0;
	ssize_t got;

	if (!connection->client.wants_read || !wants_upload(connection)) {
		/* The next request, or the end of the requests, waits until this one has its
		 * response. */
		leg_want_read(&connection->client, false);
		leg_stop_reading(&connection->client);
		if (leg_peer(&connection->client) == LEG_PEER_GONE)
			connection_close(connection, POLICY_CLIENT_CLOSED);
		return;
	}
	got = leg_read(&connection->client, bytes, upload_size(connection));
	if (got == -EAGAIN)
		return;
	if (got <= 0) {
		connection_abort(connection, got ? POLICY_RESET : POLICY_CLIENT_CLOSED);
		return;
	}
	connection_set_deadline(connection, LIMITS_EXCHANGE_MS);
	if (body_feed(&exchange->up, bytes, (size_t)got, &used, parts, &count) < 0) {
		if (exchange->has_head)
			connection_abort(connection, POLICY_MALFORMED);
		else
			admit_refuse(connection, POLICY_MALFORMED,
				     "the request body has malformed chunks");
		return;
	}
	send_up(connection, parts, count);
	(void)buffer_append(&connection->in, bytes + used, (size_t)got - used, LIMITS_INPUT_BYTES);
	leg_want_read(&connection->client, wants_upload(connection));
}

void upload_on_upstream_drained(struct connection *connection)
{
	leg_want_read(&connection->client, wants_upload(connection));
}

/* Moves bytes at once: unused room may be recalled for another connection. */
void upload_on_lease(struct connection *connection)
{
	struct buffer held = connection->exchange->held;
	struct iovec part = { buffer_at(&held), held.len };

	connection->exchange->held = (struct buffer){ 0 };
	send_up(connection, &part, 1);
	buffer_clear(&held);
	leg_want_read(&connection->client, wants_upload(connection));
}

void upload_on_client_drained(struct connection *connection)
{
	connection_set_deadline(connection, LIMITS_EXCHANGE_MS);
	leg_want_read(&connection->up->leg, true);
}

/* As long as the final head has not been sent, the client gets a response of ours. */
void upload_on_deadline(struct connection *connection)
{
	const struct exchange *exchange = connection->exchange;

	if (exchange->has_head)
		connection_abort(connection, POLICY_IDLE);
	else if (wants_upload(connection) && !exchange->expects_continue)
		admit_refuse(connection, POLICY_CLIENT_TIMEOUT,
			     "the client stopped sending the request body");
	else
		admit_refuse(connection, POLICY_UPSTREAM_TIMEOUT, NULL);
}
