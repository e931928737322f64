/* flow: the datagrams of one client for one destination. It is decided, dialled, measured,
 * recorded and cut as a connection, and is one, without a client leg. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "gateway/gateway.h"
#include "proxy/limits.h"
#include "proxy/parse/socks5.h"

struct connection;
struct flow;
struct way;

/* The flows of an association (association.c), or those that are captured (datagrams.c). */
struct flows {
	struct way *way;
	enum policy_way by;
	uint16_t peer_port; /* of the program that asks; 0: not known */
	/* Gives the client what the server has sent; what cannot be given is lost. */
	void (*deliver)(const struct flow *flow, char *bytes, size_t len);
	void (*refuse)(const struct flow *flow); /* tells the client; may be NULL */
	LIST_HEAD(flow_list, flow) list;
	size_t count;
	size_t held_bytes; /* of all flows */
};

struct flow {
	LIST_ENTRY(flow) link;
	struct flows *flows;
	struct connection *connection; /* NULL: refused */
	int64_t refused_until_ms;
	uint64_t dropped;                  /* datagrams that were not sent */
	uint64_t short_room[GATEWAY_WAYS]; /* of the budget, when a datagram did not fit */
	size_t held_count;
	struct flow_held {
		void *bytes;
		size_t len;
	} held[LIMITS_FLOW_HELD]; /* until it is allowed, or its budget has room */
	size_t key_len;
	uint8_t key[SOCKS5_MESSAGE_MAX]; /* tells it from the others; for the association, the head
					    of each datagram in both directions */
};

/* A datagram of a client for @dst: sends it, holds it or drops it. A flow is made if none has this
 * key. */
void flow_take(struct flows *flows, const uint8_t *key, size_t key_len,
	       const struct socks5_request *dst, const void *bytes, size_t len);
/* Ends all. */
void flow_close_all(struct flows *flows, enum policy_reason reason);

/* The handlers of state DATAGRAMS. */
void flow_on_upstream(struct connection *connection);
void flow_on_lease(struct connection *connection, enum gateway_way way);
