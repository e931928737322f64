/* tunnel: bytes both ways, held to what was promised about them. */
#pragma once

#include "gateway/gateway.h"

struct session;

/* The client knows that it is connected: what it sends now is held to the promise (TLS to the
 * approved name, HTTP to the approved authority, or anything). */
void tunnel_begin(struct session *session);
/* The promise is kept already: carry. What is in @session->in goes first. */
void tunnel_carry(struct session *session);

/* There is room for what waits to go @way, or to be read from there. */
void tunnel_on_lease(struct session *session, enum gateway_way way);

/* Sends what @session->in has that may go, as far as there is room. */
void tunnel_send(struct session *session);

void tunnel_on_client(struct session *session);
void tunnel_on_client_drained(struct session *session);
void tunnel_on_upstream(struct session *session);
void tunnel_on_upstream_drained(struct session *session);
