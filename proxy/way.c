#include "proxy/way.h"

#include "policies/policies.h"

bool way_is_own(const struct way *way, const struct policy_destination *dst)
{
	return policy_destination_is_loopback(dst) &&
	       (dst->port == way->ports[WAY_HTTP] || dst->port == way->ports[WAY_SOCKS]);
}
