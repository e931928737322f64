/* To add a proxy protocol: proxy/fronts/NAME.c with one const struct front, declared here;
 * proxy/meson.build; proxy/entrance.c, where front_of says which listener speaks what; a scenario
 * tests/flow/scenarios/NAME.flow and its line in tests/flow/meson.build. A front reads what the
 * client says, turns it into facts, and reports the result in its own protocol; it decides nothing.
 *
 * To add a listener, if no one that is there will do: exec/exec_egress.h (its port),
 * exec/init/init.h, exec/init/init_main.c and exec/stages/egress.c make it and hand it out;
 * exec/sandbox/env.c and exec/sandbox/plan_text.c tell the command; proxy/proxy.h,
 * proxy/entrance.c and proxy/way.h take it; policies/policies.h
 * (enum policy_way), policies/hosts/names.c, policies/hosts/destination.c,
 * gateway/link/link_codec.c, gateway/state.h and gateway/execs/lookups.c tell its requests from the
 * others. */
#pragma once

#include "policies/policies.h"

struct refusal;
struct connection;

struct front {
	const char *name;
	enum policy_way way; /* for a request that cannot be parsed */
	/* The connection is open; NULL: nothing to do. May choose another front. */
	void (*on_open)(struct connection *connection);
	/* There are bytes in @connection->in, in state HEAD. Consumes some and returns 0 (called
	 * again while there are more), or -EAGAIN: the message is incomplete. */
	int (*on_input)(struct connection *connection);
	/* The request was refused, or failed; it is recorded already. Tells the client, and
	 * continues or closes. */
	void (*on_refused)(struct connection *connection, const struct refusal *refusal);
	/* The upstream leg is connected. Tells the client if its protocol needs that, and starts
	 * the exchange or the tunnel. */
	void (*on_connected)(struct connection *connection);
	/* The command's proposal was allowed; nothing is dialled. NULL for a protocol without
	 * proposals. */
	void (*on_allowed_proposal)(struct connection *connection,
				    const struct policy_verdict *verdict);
	/* The connection is closed; @is_refused: before a byte was carried. Reports what the front
	 * adds, and frees what it keeps. May be NULL. */
	void (*on_end)(struct connection *connection, enum policy_reason reason, bool is_refused);
	/* There are too many connections, @fd borrowed: sends a last message without blocking. May
	 * be NULL. */
	void (*on_overload)(int fd);
};

const struct front *http1_front(void);
const struct front *socks5_front(void);
const struct front *either_front(void); /* HTTP or SOCKS5 */
const struct front *captured_front(void);
const struct front *dns_front(void); /* for connections of captured_front() */
const struct front *published_front(void);
/* For a connection of published_front(), just opened: @inside is the port of the server. */
void published_begin(struct connection *connection, uint16_t inside);
