/* connection: one client connection: its two legs, its state, its deadline. Fronts parse what the
 * client sends, admit.c submits and dials, upload.c, answer.c and tunnel.c relay, closing.c ends.
 * states.c says which of them handles an event. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/gateway.h"
#include "proxy/relay/leg.h"
#include "proxy/upstream/pool.h"
#include "proxy/http/refusal.h"
#include "proxy/request.h"
#include "proxy/way.h"

struct association;
struct dial;
struct exchange;
struct flow;
struct front;
struct guard;
struct meter;
struct policy_upstream;
struct connection;

/* HEAD: the front reads a request. DECIDING: the gateway holds the ticket. DIALLING: allowed, and
 * the upstream leg is being connected. HELLO: the ClientHello of a tunnel that was allowed as https
 * is checked. EXCHANGE: an HTTP request and its response are relayed. TUNNEL: bytes are relayed.
 * DATAGRAMS: so are those of a flow; or the client holds its association open (association.h).
 * DRAIN: the body of a refused request is discarded. LINGER: the last response is being sent.
 * CLOSED: the loop frees the connection. */
#define CONNECTION_STATES(X)                                                                       \
	X(HEAD)                                                                                    \
	X(DECIDING)                                                                                \
	X(DIALLING) X(HELLO) X(EXCHANGE) X(TUNNEL) X(DATAGRAMS) X(DRAIN) X(LINGER) X(CLOSED)
enum connection_state {
#define X(name) CONNECTION_##name,
	CONNECTION_STATES(X)
#undef X
};

/* The event handlers of one state. */
struct connection_handlers {
	void (*on_client)(struct connection *connection);
	void (*on_client_drained)(struct connection *connection);
	void (*on_upstream)(struct connection *connection);
	void (*on_upstream_drained)(struct connection *connection);
	void (*on_upstream_broken)(
		struct connection *connection); /* the bytes that wait cannot be sent */
	void (*on_lease)(struct connection *connection, enum gateway_way way);
	void (*on_deadline)(struct connection *connection);
};

/* The upstream leg and its pool key. */
struct upstream {
	struct leg leg;
	struct addr addr;
	struct pool_key *key; /* NULL: for a tunnel, never pooled */
	/* That is connected, and gets requests in absolute form; NULL: the server itself, or a
	 * tunnel to it. */
	const struct policy_upstream *proxy;
	int64_t idle_since_ms;
	bool is_reused; /* has carried an exchange before, so the server may have closed it */
};

/* An idle tunnel consists of this, an upstream and a request, without buffers. */
struct connection {
	LIST_ENTRY(connection) link; /* in its way, or in the list of closed ones */
	struct proxy *proxy;
	struct way *way;
	const struct front *front;
	uint64_t id;
	enum connection_state state;
	uint16_t peer_port;  /* of the client's socket, on its loopback */
	uint8_t front_step;  /* the front's state within its handshake */
	bool is_fixed;       /* a tunnel allowed as http: HTTP to one approved destination only */
	bool is_head_begun;  /* a byte of the next head is here */
	bool is_advancing;   /* connection_advance() is running */
	bool is_half_closed; /* the client had half-closed at the last check */
	struct addr reached; /* captured: the address that the client connected to; else family 0 */
	/* Captured on port 80: the destination, and the only one of its HTTP requests; owned. NULL:
	 * not captured there, or another protocol. */
	struct policy_destination *captured;
	struct refusal_style style; /* HTTP: of the current request */
	struct leg client;
	struct buffer in;        /* read, but not consumed yet */
	size_t scanned;          /* bytes of @in the head parser has validated */
	struct upstream *up;     /* for this exchange, or idle for the next */
	struct request *request; /* the current request, until it is finished */
	struct meter *meter;     /* for that request; NULL: no limits */
	struct exchange *exchange;
	struct association *association; /* whose client this is; or NULL */
	struct flow *flow;               /* this is its connection, without a client leg; or NULL */
	struct guard *guard; /* a tunnel allowed as https: until its handshake is checked */
	struct gateway_ticket *ticket;
	struct dial *dial;
	uint64_t discard; /* DRAIN, LINGER: how many more bytes may be discarded */
	int64_t due_ms;   /* the timer may fire earlier; it is then re-armed */
	struct loop_timer timer;
};

/* Are the bytes of the client an HTTP request for the proxy, which gets a response? Else it is a
 * tunnel. */
bool connection_is_http(const struct connection *connection);
/* Takes @fd; -1: there is no client leg. The connection lives until connection_close() and the
 * loop's next turn. Borrowed. */
struct connection *connection_open(struct way *way, const struct front *front, int fd,
				   uint16_t peer_port);
/* The client is one of @way, whose limits are not checked again. */
void connection_move(struct connection *connection, struct way *way);
void connection_free(struct connection *connection); /* for closed connections only */
void connection_enter(struct connection *connection, enum connection_state next);
/* The one way to end a connection: reports the open request, closes both legs, frees via the loop.
 * Idempotent. */
void connection_close(struct connection *connection, enum policy_reason reason);
/* As connection_close(), but resets the client's connection, so that it does not take the data for
 * complete. */
void connection_abort(struct connection *connection, enum policy_reason reason);
void connection_set_deadline(struct connection *connection, int64_t ms);

/* Lets the front consume @in as far as it can. */
void connection_advance(struct connection *connection);
/* The request is finished: frees it and reads the next one. */
void connection_next(struct connection *connection);
/* Appends what the client sends to @in: returns the length, 0 at the end, -EAGAIN, -errno. When @in
 * is full: -EAGAIN, and reading stops. */
ssize_t connection_fill(struct connection *connection);
/* As connection_fill(), for a read event. An unwanted event means that the client left or has sent
 * more than we accept now: reading stops. */
ssize_t connection_take(struct connection *connection);
void connection_end_request(struct connection *connection);

/* Takes @fd as the upstream leg. @key is copied; NULL for a tunnel. */
void connection_open_upstream(struct connection *connection, int fd, const struct addr *addr,
			      const struct pool_key *key);
/* Closes it, or puts it into the pool if it may be reused. Does nothing without an upstream. */
void connection_drop_upstream(struct connection *connection);
void connection_park_upstream(struct connection *connection);
