#include "proxy/way.h"

#include <string.h>

#include "gateway/gateway_drain.h"
#include "policies/policies.h"

static void on_drained(void *arg)
{
	struct proxy *proxy = arg;
	const struct way *way;

	LIST_FOREACH (way, &proxy->ways, link) {
		if (!LIST_EMPTY(&way->connections))
			return;
	}
	if (proxy->was_drained)
		return;
	proxy->was_drained = true;
	gateway_client_drained(proxy->client);
}

bool way_has_room(const struct way *way)
{
	return way->connection_count < way->proxy->connections_max &&
	       (way->own_max == 0 || way->connection_count < way->own_max);
}

/* From the loop, where everything about the connection has been reported. */
void way_connection_ended(struct proxy *proxy)
{
	if (proxy->is_draining)
		loop_defer(proxy->loop, &proxy->drained, on_drained, proxy);
}

void way_resolve(const struct way *way, struct policy_destination *dst)
{
	const char *host = names_host(&way->nameserver.names, &dst->addr);

	if (host)
		(void)policy_destination_set(dst, host, strlen(host), dst->port, NULL);
}

/* A client outside of every sandbox means its own machine, and would get ours. */
const char *way_own_cause(const struct way *way)
{
	return way->proxy->service ? "a loopback address is reached without a proxy: see NO_PROXY"
				   : NULL;
}

bool way_is_own(const struct way *way, const struct policy_destination *dst)
{
	if (way->proxy->service)
		return policy_destination_is_loopback(dst);
	return policy_destination_is_loopback(dst) &&
	       (dst->port == way->ports[WAY_HTTP] || dst->port == way->ports[WAY_SOCKS]);
}
