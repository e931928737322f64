/* flow: the datagrams of one association for one destination. It is decided, dialled, measured,
 * recorded and cut as a connection, and is one, without a client leg. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <event2/event_struct.h>

#include "gateway/gateway.h"
#include "proxy/limits.h"
#include "proxy/parse/socks5.h"

struct connection;
struct exec_sockets_request;

/* What its flows share. association.c makes it. */
struct association {
	struct connection *connection; /* the client's */
	struct exec_sockets_request *request;
	int fd;                    /* -1: not here yet */
	struct sockaddr_in client; /* family 0: it has not sent yet; a port may be known */
	struct event event;
	LIST_HEAD(flow_list, flow) flows;
	size_t flow_count;
	size_t held_bytes;  /* of all flows */
	uint64_t bad_count; /* datagrams that belong to no flow */
};

struct flow {
	LIST_ENTRY(flow) link;
	struct association *association;
	struct connection *connection; /* NULL: refused */
	int64_t refused_until_ms;
	uint64_t dropped;                  /* datagrams that were not sent */
	uint64_t short_room[GATEWAY_WAYS]; /* of the budget, when a datagram did not fit */
	size_t held_count;
	struct flow_held {
		void *bytes;
		size_t len;
	} held[LIMITS_FLOW_HELD]; /* until it is allowed, or its budget has room */
	size_t head_len;
	uint8_t head[SOCKS5_MESSAGE_MAX]; /* of each datagram, in both directions */
};

/* Asks for @dst, which the head says. Returned owned by the association. */
struct flow *flow_begin(struct association *association, const uint8_t *head, size_t head_len,
			const struct socks5_request *dst);
void flow_free(struct flow *flow);
/* Sends the datagram, holds it or drops it. */
void flow_send(struct flow *flow, const void *bytes, size_t len);

/* The handlers of state DATAGRAMS. */
void flow_on_upstream(struct connection *connection);
void flow_on_lease(struct connection *connection, enum gateway_way way);
/* For the records. */
const struct front *flow_front(void);
