/* The front of published ports: connects clients on the host's loopback to a server of the command,
 * on the command's loopback. It is a tunnel into the sandbox, of any bytes. */
#include <string.h>

#include "policies/policies.h"
#include "proxy/admit.h"
#include "proxy/connection.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/relay/tunnel.h"
#include "proxy/way.h"

static const char name_inside[] = "localhost"; /* 127.0.0.1, then ::1 */

/* The client was connected before there was a server to ask: a reset is the closest to a refused
 * connection. */
static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	connection_abort(connection, refusal->reason);
}

void published_begin(struct connection *connection, uint16_t inside)
{
	struct policy_facts facts = { .carries = POLICY_TCP,
				      .way = POLICY_WAY_PUBLISHED,
				      .exec = connection->way->exec };

	if (policy_destination_set(&facts.dst, name_inside, strlen(name_inside), inside, NULL) <
	    0) {
		connection_abort(connection, POLICY_BAD_HOST); /* port 0 */
		return;
	}
	facts.dst.protocol = POLICY_TCP; /* whatever the port is */
	admit_begin(connection, &facts);
	/* The gate's listeners serve the command, and nobody on the host. */
	if (way_is_own(connection->way, &facts.dst))
		admit_refuse(connection, POLICY_OWN_LISTENER, NULL);
	else
		admit_submit(connection, NULL);
}

const struct front *published_front(void)
{
	static const struct front front = {
		.name = "published",
		.way = POLICY_WAY_PUBLISHED,
		.on_refused = on_refused,
		.on_connected = tunnel_begin,
	};

	return &front;
}
