#include "proxy/states.h"

#include <errno.h>

#include "proxy/admit.h"
#include "proxy/association.h"
#include "proxy/flow.h"
#include "proxy/http/answer.h"
#include "proxy/relay/closing.h"
#include "proxy/relay/guard.h"
#include "proxy/relay/meter.h"
#include "proxy/relay/tunnel.h"
#include "proxy/http/upload.h"

static void head_on_client(struct connection *connection)
{
	ssize_t got = connection_take(connection);

	if (got == -EAGAIN)
		return;
	if (got < 0) {
		connection_close(connection, POLICY_RESET);
		return;
	}
	if (got && !connection->is_head_begun) {
		connection->is_head_begun = true;
		connection_set_deadline(connection, LIMITS_HEAD_MS);
	}
	connection_advance(connection);
}

static void head_on_deadline(struct connection *connection)
{
	if (connection->in.len && !leg_is_blocked(&connection->client))
		admit_refuse(connection, POLICY_CLIENT_TIMEOUT, "the head did not arrive in time");
	else
		connection_close(connection, POLICY_IDLE);
}

/* No request is under way: the server closed, or sent unexpected bytes. */
static void idle_on_upstream(struct connection *connection)
{
	if (connection->is_fixed && connection->state == CONNECTION_HEAD)
		connection_close(connection, POLICY_SERVER_CLOSED);
	else
		connection_drop_upstream(connection);
}

static void on_broken(struct connection *connection)
{
	connection_abort(connection, POLICY_RESET);
}

static void exchange_on_lease(struct connection *connection, enum gateway_way way)
{
	if (way == GATEWAY_UP)
		upload_on_lease(connection);
	else
		answer_on_lease(connection);
}

static void nothing(struct connection *connection)
{
}

static void no_lease(struct connection *connection, enum gateway_way way)
{
}

const struct connection_handlers states_handlers[] = {
	[CONNECTION_HEAD] = { head_on_client, connection_advance, idle_on_upstream, nothing,
			      on_broken, no_lease, head_on_deadline },
	[CONNECTION_DECIDING] = { admit_on_client, nothing, idle_on_upstream, nothing, on_broken,
				  no_lease, admit_on_deadline },
	[CONNECTION_DIALLING] = { admit_on_client, nothing, idle_on_upstream, nothing, on_broken,
				  no_lease, admit_on_deadline },
	[CONNECTION_HELLO] = { tunnel_on_hello, nothing, nothing, nothing, on_broken, no_lease,
			       guard_on_hello_deadline },
	[CONNECTION_EXCHANGE] = { upload_on_client, upload_on_client_drained, answer_on_upstream,
				  upload_on_upstream_drained, upload_on_cut, exchange_on_lease,
				  upload_on_deadline },
	[CONNECTION_TUNNEL] = { tunnel_on_client, tunnel_on_client_drained, tunnel_on_upstream,
				tunnel_on_upstream_drained, on_broken, tunnel_on_lease,
				closing_on_deadline },
	[CONNECTION_DATAGRAMS] = { association_on_client, nothing, flow_on_upstream, nothing,
				   on_broken, flow_on_lease, association_on_deadline },
	[CONNECTION_DRAIN] = { closing_on_client, nothing, nothing, nothing, on_broken, no_lease,
			       closing_on_deadline },
	[CONNECTION_LINGER] = { closing_on_client, closing_on_client_drained, nothing, nothing,
				on_broken, no_lease, closing_on_deadline },
	[CONNECTION_CLOSED] = { nothing, nothing, nothing, nothing, nothing, no_lease, nothing },
};

/* Continues what waited. Each call may end the connection, and with it the meter. */
void states_on_lease(const struct gateway_lease *lease, void *arg)
{
	struct connection *connection = arg;

	if (!connection->meter || !meter_take_lease(connection->meter, lease))
		return;
	for (int way = 0; way < GATEWAY_WAYS; way++) {
		if (connection->meter && meter_may_go_on(connection->meter, way))
			states_handlers[connection->state].on_lease(connection, way);
	}
}
