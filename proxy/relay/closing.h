/* closing: ends a connection so that the client gets the last response: flushes it, and discards
 * what the client still sends, within limits, because a reset would destroy the response. */
#pragma once

#include "policies/policies.h"

struct connection;

/* Flush, half-close, discard, close. The caller reports the request. */
void closing_linger(struct connection *connection);
/* As closing_linger() when the client may still be sending; closes at once when no data can be
 * lost. */
void closing_finish(struct connection *connection);
/* Discards the refused request's body, then reads the next request; lingers if the body is too
 * large. */
void closing_drain(struct connection *connection);

void closing_on_client(struct connection *connection);
void closing_on_client_drained(struct connection *connection);
void closing_on_deadline(struct connection *connection);
