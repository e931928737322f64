/* way: the worker's inside: the proxy, and the way out of each exec with its listeners and its
 * sessions. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "proxy/denials.h"
#include "proxy/leg.h"
#include "proxy/listener.h"
#include "proxy/own.h"

struct dialer;
struct gateway_client;
struct pool;
struct resolver;
struct session;

LIST_HEAD(way_sessions, session);
LIST_HEAD(way_list, way);

struct proxy {
	struct loop *loop;
	struct gateway_client *client;
	const struct proxy_config *config;
	struct resolver *resolver;
	struct dialer *dialer;
	struct pool *pool;
	struct way_list ways;
	struct way_sessions closed; /* sessions the loop is about to free */
	uint64_t session_count;     /* ever; numbers them in the log */
	unsigned int seen_parts; /* of requests, that policy looks at: enum policy_request_part */
	struct leg_shared shared;
};

enum way_listener { WAY_HTTP, WAY_SOCKS, WAY_DOOR, WAY_LISTENERS };

/* One exec's way out. */
struct way {
	LIST_ENTRY(way) link;
	struct proxy *proxy;
	uint64_t exec;
	struct listener listeners[WAY_LISTENERS];
	uint16_t ports[WAY_LISTENERS];
	struct way_sessions sessions;
	size_t session_count;
	struct denials denials;
	struct own_quota quota;
	int64_t overloaded_ms; /* when last written down; 0: never */
};

/* Takes both listening sockets (also on failure). Returned owned in @ret_way. 0 or -errno. */
int way_new(struct proxy *proxy, uint64_t exec, int http, int socks, struct way **ret_way);
/* Takes one more listener, of the Unix kind: the same as WAY_HTTP. @arg: the way. */
void way_open_door(int listener, void *arg);
/* Closes everything, with a report each. */
void way_free(struct way *way);
/* Is @dst the gate itself, as the exec sees it? */
bool way_is_own(const struct way *way, const struct policy_destination *dst);
