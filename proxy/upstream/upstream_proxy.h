/* upstream_proxy: connects to a destination through an upstream proxy, which is given the name:
 * finds that proxy, connects to it, and waits until it says that the destination is connected. */
#pragma once

#include <stdbool.h>

#include "policies/policies_upstream.h"

struct loop;
struct own_ports;
struct resolver;
struct tls_bridges;
struct upstream_proxy;

struct upstream_proxy_result {
	int fd; /* connected, nonblocking; the callee takes it; -1: see @reason */
	enum policy_reason reason;
	char cause[128]; /* text for people, which names the proxy */
};
typedef void (*upstream_proxy_fn)(struct upstream_proxy_result *result, void *arg);

/* How a proxy is reached; all are kept. */
struct upstream_proxy_ways {
	struct loop *loop;
	struct resolver *resolver;
	const struct own_ports *own; /* listeners that are no upstream proxy: they would come back
					here */
	struct tls_bridges *bridges; /* NULL: no proxy has TLS */
};
/* Keeps what @ways names, @upstream and @dst. @is_tunnel: false: the proxy itself is connected, and
 * takes HTTP requests in absolute form. @done runs from the loop, at most once. */
struct upstream_proxy *upstream_proxy_start(const struct upstream_proxy_ways *ways,
					    const struct policy_upstream *upstream,
					    const struct policy_destination *dst, bool is_tunnel,
					    upstream_proxy_fn done, void *arg);
void upstream_proxy_withdraw(struct upstream_proxy *proxy); /* NULL is fine */
