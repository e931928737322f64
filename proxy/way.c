#include "proxy/way.h"

#include <string.h>

#include "policies/policies.h"

void way_resolve(const struct way *way, struct policy_destination *dst)
{
	const char *host = names_host(&way->nameserver.names, &dst->addr);

	if (host)
		(void)policy_destination_set(dst, host, strlen(host), dst->port, NULL);
}

bool way_is_own(const struct way *way, const struct policy_destination *dst)
{
	return policy_destination_is_loopback(dst) &&
	       (dst->port == way->ports[WAY_HTTP] || dst->port == way->ports[WAY_SOCKS]);
}
