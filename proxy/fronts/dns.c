/* The front of name queries over TCP (RFC 7766): each is preceded by its length. */
#include <errno.h>

#include "base/inside_net.h"
#include "proxy/admit.h"
#include "proxy/connection.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/inside/nameserver.h"
#include "proxy/parse/dns.h"

#define LENGTH_BYTES 2

static int on_input(struct connection *connection)
{
	const uint8_t *bytes = (const uint8_t *)buffer_at(&connection->in);
	size_t have = connection->in.len;
	uint8_t reply[LENGTH_BYTES + DNS_REPLY_MAX];

	if (have < LENGTH_BYTES)
		return -EAGAIN;
	size_t want = (size_t)bytes[0] << 8 | bytes[1];

	if (want <= DNS_MESSAGE_MAX && have < LENGTH_BYTES + want)
		return -EAGAIN;
	size_t len = want > DNS_MESSAGE_MAX
			     ? 0
			     : nameserver_answer(&connection->way->nameserver, bytes + LENGTH_BYTES,
						 want, false, reply + LENGTH_BYTES);

	if (len == 0) {
		connection_abort(connection, POLICY_MALFORMED);
		return 0;
	}
	buffer_consume(&connection->in, LENGTH_BYTES + want);
	connection->is_head_begun = connection->in.len > 0;
	reply[0] = (uint8_t)(len >> 8);
	reply[1] = (uint8_t)len;
	if (leg_write_bytes(&connection->client, reply, LENGTH_BYTES + len) < 0)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else
		connection_set_deadline(connection, LIMITS_HEAD_MS);
	return 0;
}

/* A query that did not arrive in time. */
static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	connection_abort(connection, refusal->reason);
}

const struct front *dns_front(void)
{
	static const struct front front = {
		.name = "dns",
		.way = POLICY_WAY_CAPTURED,
		.on_input = on_input,
		.on_refused = on_refused,
	};

	return &front;
}
