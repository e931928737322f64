/* tunnel: relays bytes in both directions, and checks what was promised about them. */
#pragma once

#include "gateway/gateway.h"

struct connection;

/* The client knows that it is connected: from now on its bytes must keep the promise (TLS to the
 * approved name, HTTP to the approved authority, or anything). */
void tunnel_begin(struct connection *connection);
/* The promise has been checked: relay. The bytes in @connection->in go first. */
void tunnel_carry(struct connection *connection);

/* There is room for bytes that wait in direction @way. */
void tunnel_on_lease(struct connection *connection, enum gateway_way way);

/* HELLO: the client sent bytes that must be checked. */
void tunnel_on_hello(struct connection *connection);
void tunnel_on_client(struct connection *connection);
void tunnel_on_client_drained(struct connection *connection);
void tunnel_on_upstream(struct connection *connection);
void tunnel_on_upstream_drained(struct connection *connection);
