/* config: the settings a proxy starts with. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct policy;

/* A name with addresses from the operator (--resolve, /etc/hosts). */
struct proxy_mapping {
	const char *name; /* canonical */
	struct addr addr;
};

struct proxy_config {
	const struct policy *policy; /* for policy_decide_address(); kept */
	/* --resolve: has precedence over every other source. The operator named these addresses, so
	 * they may be private (but not cloud metadata). */
	const struct proxy_mapping *resolves;
	size_t resolve_count;
	/* --dns ADDRESS[:PORT]: the only server that is asked; family 0: the host's resolv.conf and
	 * hosts file. */
	struct addr dns_addr;
	uint16_t dns_port;
	/* The gate's own port on the host's loopback: refused whatever the policy says. 0: none. */
	uint16_t own_port;
};
