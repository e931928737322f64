/* way: the worker's internal state: the proxy, and each exec's listeners and connections. proxy.c
 * and entrance.c create and free them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "proxy/http/denials.h"
#include "proxy/relay/leg.h"
#include "base/net/listener.h"
#include "proxy/inside/nameserver.h"
#include "proxy/relay/quota.h"

struct datagrams;
struct dialer;
struct gateway_client;
struct pool;
struct resolver;
struct connection;
struct connection_handlers;
struct service;

LIST_HEAD(way_connections, connection);
LIST_HEAD(way_list, way);

struct proxy {
	struct loop *loop;
	struct gateway_client *client;
	const struct proxy_config *config;
	struct resolver *resolver;
	struct dialer *dialer;
	struct pool *pool;
	struct service *service; /* owned; NULL: clients are commands in sandboxes */
	/* No client is accepted, and the gateway is told when the last connection has ended. */
	bool is_draining, was_drained;
	struct loop_timer drained;
	const struct connection_handlers *handlers; /* of connections, by their state */
	size_t published_count;                     /* of the config: not yet taken by an exec */
	struct way_list ways;
	struct way_connections closed; /* connections the loop is about to free */
	uint64_t connection_count;     /* since the start; numbers connections in the log */
	size_t connections_max;        /* of one exec, by policy, */
	size_t connections_all;        /* and of all, by the limit on descriptors */
	unsigned int seen_parts; /* enum policy_request_part: the parts of requests that policy
				    looks at */
	struct leg_shared shared;
};

enum way_listener { WAY_HTTP, WAY_SOCKS, WAY_CAPTURE, WAY_DOOR, WAY_LISTENERS };

/* A listener on the host's loopback. */
struct way_published {
	struct listener listener;
	struct way *way;
	uint16_t inside; /* the port of the command's server */
};

/* The listeners and connections of one exec. */
struct way {
	LIST_ENTRY(way) link;
	struct proxy *proxy;
	uint64_t exec;
	struct listener listeners[WAY_LISTENERS];
	uint16_t ports[WAY_LISTENERS];
	struct way_published *published; /* owned */
	size_t published_count;
	struct way_connections connections;
	size_t connection_count; /* of the command */
	size_t own_max;          /* of these, in addition to the limits of the proxy; 0: none */
	size_t visitor_count;    /* those of published ports */
	struct nameserver nameserver;
	struct datagrams *datagrams; /* captured; owned; NULL: none are */
	struct denials denials;
	struct quota quota;
	int64_t overloaded_ms; /* when overload was last recorded; 0: never */
};

/* Do its own limits permit one more connection? */
bool way_has_room(const struct way *way);
/* A connection has ended. */
void way_connection_ended(struct proxy *proxy);
/* An address that a name has inside stands for the name: makes @dst the name. */
void way_resolve(const struct way *way, struct policy_destination *dst);
/* Is @dst the gate itself, as the exec sees it? */
bool way_is_own(const struct way *way, const struct policy_destination *dst);
/* Why it is, where that is not plain; else NULL. */
const char *way_own_cause(const struct way *way);
