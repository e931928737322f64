/* closing: ends a connection so that the client gets the last response: flushes it, and discards
 * what the client still sends, within limits, because a reset would destroy the response. */
#pragma once

#include "policies/policies.h"

struct connection;

/* Sends a fatal alert of TLS (RFC 8446 §6), for a client that has not sent its hello, or a hello
 * that was refused. 0 or -errno. */
enum closing_alert { CLOSING_ACCESS_DENIED = 49, CLOSING_UNRECOGNIZED_NAME = 112 };
int closing_alert(struct connection *connection, enum closing_alert alert);
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
