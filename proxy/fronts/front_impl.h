/* To add a way in: write fronts/NAME.c with one const struct front, name it in fronts/table.c, and
 * give it a listener in enum way_listener (proxy/way.h). A front reads what the client says, turns
 * it into facts, and says in its own protocol what became of them; it decides nothing. */
#pragma once

#include "policies/policies.h"

struct refusal;
struct session;

struct front {
	const char *name;
	enum policy_way way; /* of a request that cannot be read */
	/* There is something in @session->in, in state HEAD. Consumes it and returns 0 (looked at
	 * again while there is more), or -EAGAIN: that is not all of it yet. */
	int (*on_input)(struct session *session);
	/* What was asked for was refused, or failed; it is recorded already. Tells the client, and
	 * goes on or closes. */
	void (*on_refused)(struct session *session, const struct refusal *refusal);
	/* The upstream leg stands. Tells the client where it has to know, and starts the exchange
	 * or the tunnel. */
	void (*on_connected)(struct session *session);
	/* What the command proposed was allowed; nothing is dialled. NULL where nothing can be
	 * proposed. */
	void (*on_allowed_proposal)(struct session *session, const struct policy_verdict *verdict);
	/* One connection too many, @fd borrowed: a last word that cannot block. May be NULL. */
	void (*on_overload)(int fd);
};

enum front_kind { FRONT_HTTP1, FRONT_SOCKS5 };
const struct front *table_front(enum front_kind kind);

const struct front *http1_front(void);
const struct front *socks5_front(void);
