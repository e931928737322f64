#include "proxy/relay/closing.h"

#include <errno.h>

#include "proxy/http/exchange.h"
#include "proxy/connection.h"

int closing_alert(struct connection *connection, enum closing_alert alert)
{
	const uint8_t record[] = { 21, 3, 3, 0, 2, 2, (uint8_t)alert };

	return leg_write_bytes(&connection->client, record, sizeof(record));
}

void closing_linger(struct connection *connection)
{
	connection_end_request(connection);
	connection_drop_upstream(connection);
	buffer_clear(&connection->in);
	connection_enter(connection, CONNECTION_LINGER);
	connection_set_deadline(connection, LIMITS_LINGER_MS);
	connection->discard = LIMITS_LINGER_BYTES;
	leg_shut(&connection->client);
	leg_want_read(&connection->client, true);
	closing_on_client_drained(connection);
}

void closing_finish(struct connection *connection)
{
	/* A close with nothing unread is clean, and needs no further turn of the loop. */
	if (!connection->in.len && !leg_is_blocked(&connection->client) &&
	    !leg_has_unread(&connection->client))
		connection_close(connection, POLICY_DONE);
	else
		closing_linger(connection);
}

/* Both sides have finished. */
void closing_on_client_drained(struct connection *connection)
{
	if (connection->client.is_eof && !leg_is_blocked(&connection->client))
		connection_close(connection, POLICY_DONE);
}

static void discard_body(struct connection *connection, char *bytes, size_t len)
{
	struct body *body = &connection->exchange->up;
	struct iovec parts[BODY_PARTS];
	int count;
	size_t used = 0;
	int r = body_feed(body, bytes, len, &used, parts, &count);

	if (r < 0 || used > connection->discard) {
		closing_linger(connection);
		return;
	}
	connection->discard -= used;
	if (!body->is_done)
		return;
	(void)buffer_append(&connection->in, bytes + used, len - used, LIMITS_INPUT_BYTES);
	connection_next(connection);
}

void closing_drain(struct connection *connection)
{
	struct buffer bytes = connection->in;

	connection->in = (struct buffer){ 0 };
	connection_enter(connection, CONNECTION_DRAIN);
	connection_set_deadline(connection, LIMITS_DRAIN_MS);
	connection->discard = LIMITS_DRAIN_BYTES;
	leg_want_read(&connection->client, true);
	if (bytes.len)
		discard_body(connection, buffer_at(&bytes), bytes.len);
	buffer_clear(&bytes);
}

/* The rest of @connection->in is at most one read, which is less than may be discarded. */
void closing_on_client(struct connection *connection)
{
	char *bytes = connection->proxy->shared.bytes;
	ssize_t got = leg_read(&connection->client, bytes, LIMITS_READ_MIN);

	if (got == -EAGAIN)
		return;
	if (got < 0 || (got == 0 && connection->state == CONNECTION_DRAIN)) {
		connection_close(connection, got ? POLICY_RESET : POLICY_CLIENT_CLOSED);
		return;
	}
	if (connection->state == CONNECTION_DRAIN) {
		discard_body(connection, bytes, (size_t)got);
		return;
	}
	if ((size_t)got > connection->discard) {
		connection_close(connection, POLICY_DONE);
		return;
	}
	connection->discard -= (size_t)got;
	closing_on_client_drained(connection);
}

void closing_on_deadline(struct connection *connection)
{
	connection_close(connection, POLICY_IDLE);
}
