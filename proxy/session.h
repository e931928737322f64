/* session: one client connection: its two legs, its state, its deadline. Fronts read the client's
 * words, admit.c asks and dials, exchange.c and tunnel.c carry, closing.c ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "proxy/leg.h"
#include "proxy/pool.h"
#include "proxy/refusal.h"
#include "proxy/request.h"
#include "proxy/way.h"

struct dial;
struct exchange;
struct front;
struct gateway_ticket;
struct guard;

/* HEAD: the front reads a request. DECIDING: the gateway holds the ticket. DIALLING: allowed, and
 * the upstream leg is being made. HELLO: a tunnel promised as https shows its server's name.
 * EXCHANGE: an HTTP request and its answer are carried. TUNNEL: bytes are. DRAIN: the body of a
 * refused request is thrown away. LINGER: the last answer is on its way. CLOSED: the loop frees it.
 */
#define SESSION_STATES(X)                                                                          \
	X(HEAD)                                                                                    \
	X(DECIDING) X(DIALLING) X(HELLO) X(EXCHANGE) X(TUNNEL) X(DRAIN) X(LINGER) X(CLOSED)
enum session_state {
#define X(name) SESSION_##name,
	SESSION_STATES(X)
#undef X
};

/* The upstream leg and whose it is. */
struct upstream {
	struct leg leg;
	struct addr addr;
	struct pool_key *key; /* NULL: a tunnel's, never pooled */
	int64_t idle_since_ms;
	bool is_reused; /* has carried an exchange before: it may be stale */
};

/* An idle tunnel is one of these, an upstream and a request: no buffer, no head. */
struct session {
	LIST_ENTRY(session) link; /* in its way, or among the closed */
	struct proxy *proxy;
	struct way *way;
	const struct front *front;
	uint64_t id;
	enum session_state state;
	uint16_t peer_port;  /* of the client, on its loopback */
	uint8_t front_step;  /* the front's own: where it is in its handshake */
	bool is_fixed;       /* a tunnel promised as http: HTTP to one approved destination only */
	bool is_head_begun;  /* a byte of the next head is here */
	bool is_advancing;   /* the front is being fed: it is on the stack */
	bool is_half_closed; /* so it was when we last looked, while held */
	struct refusal_style style; /* HTTP: of the request at hand */
	struct leg client;
	struct buffer in;        /* read and not used yet */
	size_t scanned;          /* of @in, by the head parser */
	struct upstream *up;     /* of this exchange, or kept for the next */
	struct request *request; /* what was asked for and is not finished */
	struct exchange *exchange;
	struct guard *guard; /* a tunnel promised as https: its handshake is under way */
	struct gateway_ticket *ticket;
	struct dial *dial;
	uint64_t discard; /* DRAIN, LINGER: bytes still to be thrown away */
	int64_t due_ms;   /* the timer may fire earlier, and is then set again */
	struct loop_timer timer;
};

/* Takes @fd. The session lives until session_close() and the loop's next turn. */
void session_open(struct way *way, const struct front *front, int fd, uint16_t peer_port);
void session_free(struct session *session); /* closed ones only */
void session_enter(struct session *session, enum session_state next);
/* The one way to end: reports what is open, closes both legs, frees via the loop. Idempotent. */
void session_close(struct session *session, enum policy_reason reason);
/* As session_close(), resetting the client: what it has is not the whole. */
void session_abort(struct session *session, enum policy_reason reason);
void session_set_deadline(struct session *session, int64_t ms);

/* The request is over: forgets it and reads the next. */
void session_next(struct session *session);
/* Appends what the client sends to @in: its length, 0 at the end, -EAGAIN, -errno. @in full:
 * -EAGAIN, and reading stops. */
ssize_t session_fill(struct session *session);
void session_end_request(struct session *session);

/* Takes @fd; makes the upstream leg. @key is copied; NULL for a tunnel. */
void session_open_upstream(struct session *session, int fd, const struct addr *addr,
			   const struct pool_key *key);
/* Closes it, or gives it to the pool where it may be used again. None is fine. */
void session_drop_upstream(struct session *session);
void session_park_upstream(struct session *session);
