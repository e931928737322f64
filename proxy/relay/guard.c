#include "proxy/relay/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "proxy/admit.h"
#include "proxy/relay/closing.h"
#include "proxy/parse/handshake.h"
#include "proxy/parse/hello.h"
#include "proxy/connection.h"

struct guard {
	struct handshake handshake;
	size_t cleared; /* bytes of connection->in that were checked */
};

/* Does the hello name the approved host? An approved address needs no name, and any name is then
 * another host. ECH with the approved outer name passes: what it may hide looks the same as the
 * GREASE that every browser sends, and the server that terminates it is the approved one by address
 * (docs/decisions/0014). */
static enum policy_reason judge(const struct hello *hello, const struct policy_destination *dst)
{
	struct policy_destination shown;

	if (!hello->has_server_name || !hello->server_name[0])
		return dst->addr.family ? POLICY_DONE : POLICY_NO_SERVER_NAME;
	if (policy_destination_set(&shown, hello->server_name, strlen(hello->server_name),
				   dst->port, NULL) < 0)
		return POLICY_HOST_MISMATCH;
	return strcmp(shown.host, dst->host) ? POLICY_HOST_MISMATCH : POLICY_DONE;
}

/* No byte went upstream. A TLS client gets an alert; others are closed. */
static void refuse(struct connection *connection, enum policy_reason reason, const char *cause)
{
	bool is_name = reason == POLICY_HOST_MISMATCH || reason == POLICY_NO_SERVER_NAME;

	admit_record(connection, reason, cause);
	if (reason != POLICY_NOT_TLS &&
	    closing_alert(connection, is_name ? CLOSING_UNRECOGNIZED_NAME : CLOSING_ACCESS_DENIED) <
		    0)
		connection_close(connection, POLICY_RESET);
	else
		closing_linger(connection);
}

/* 0, or -EACCES: it was refused. */
static int judge_hello(struct connection *connection, const struct hello *hello)
{
	enum policy_reason reason = judge(hello, &connection->request->facts.dst);
	char visible[80], cause[128] = "";

	if (reason == POLICY_DONE)
		return 0;
	if (reason == POLICY_HOST_MISMATCH) {
		(void)text_visible(visible, sizeof(visible), hello->server_name,
				   strlen(hello->server_name));
		(void)snprintf(cause, sizeof(cause), "the ClientHello names %s", visible);
	}
	refuse(connection, reason, cause[0] ? cause : NULL);
	return -EACCES;
}

void guard_begin(struct connection *connection)
{
	connection_enter(connection, CONNECTION_HELLO);
	connection_set_deadline(connection, LIMITS_HELLO_MS);
	leg_want_read(&connection->client, true);
}

/* Checks all the bytes that have arrived. Negative: the connection is closed. */
static int judge_input(struct connection *connection)
{
	struct guard *guard = connection->guard;
	int step;

	do {
		const uint8_t *at = (const uint8_t *)buffer_at(&connection->in) + guard->cleared;
		struct hello hello;
		size_t used = 0;

		step = handshake_client(&guard->handshake, at, connection->in.len - guard->cleared,
					&used, &hello);
		if (step < 0) {
			refuse(connection, POLICY_MALFORMED,
			       "the bytes after the ClientHello are not a TLS handshake");
			return -EACCES;
		}
		if (step == HANDSHAKE_HELLO && judge_hello(connection, &hello) < 0)
			return -EACCES;
		guard->cleared += used;
	} while (step == HANDSHAKE_HELLO);
	if (step == HANDSHAKE_OVER)
		free(take(connection->guard));
	if (connection->client.is_eof && guard_cleared(connection) < connection->in.len) {
		connection_abort(
			connection,
			POLICY_CLIENT_CLOSED); /* the client closed in the middle of a record */
		return -EPIPE;
	}
	return 0;
}

/* Reads more, and checks what has arrived, also with the request. */
static int read_hello(struct connection *connection, struct hello *ret)
{
	ssize_t got = connection->client.wants_read ? connection_fill(connection) : -EAGAIN;
	int r = -EAGAIN;

	if (got < 0 && got != -EAGAIN)
		return (int)got;
	if (connection->in.len)
		r = hello_parse((const uint8_t *)buffer_at(&connection->in), connection->in.len,
				ret);
	return r == -EAGAIN && connection->client.is_eof ? -ENODATA : r;
}

bool guard_reads_hello(struct connection *connection)
{
	struct hello hello;
	int r = read_hello(connection, &hello);

	if (r == -EPROTO)
		refuse(connection, POLICY_NOT_TLS,
		       "the first bytes are not a TLS handshake record");
	else if (r == -EBADMSG)
		refuse(connection, POLICY_MALFORMED, "the ClientHello is malformed or too large");
	else if (r < 0 && r != -EAGAIN)
		connection_close(connection, r == -ENODATA ? POLICY_CLIENT_CLOSED : POLICY_RESET);
	if (r != 0 || judge_hello(connection, &hello) < 0)
		return false;
	connection->guard = mem_new(sizeof(*connection->guard));
	connection->guard->cleared = hello.bytes;
	return judge_input(connection) == 0;
}

void guard_on_hello_deadline(struct connection *connection)
{
	if (connection->in.len)
		refuse(connection, POLICY_NOT_TLS, "no complete ClientHello arrived in time");
	else
		connection_close(connection, POLICY_CLIENT_TIMEOUT);
}

bool guard_reads_client(struct connection *connection)
{
	ssize_t got = connection_take(connection);

	if (got == -EAGAIN)
		return false;
	if (got < 0) {
		connection_abort(connection, POLICY_RESET);
		return false;
	}
	connection_set_deadline(connection, LIMITS_TUNNEL_MS);
	return judge_input(connection) == 0;
}

void guard_on_server(struct connection *connection, const char *bytes, size_t len)
{
	handshake_server(&connection->guard->handshake, (const uint8_t *)bytes, len);
}

size_t guard_cleared(const struct connection *connection)
{
	return connection->guard ? connection->guard->cleared : connection->in.len;
}

void guard_sent(struct connection *connection, size_t len)
{
	if (connection->guard)
		connection->guard->cleared -= len;
}
