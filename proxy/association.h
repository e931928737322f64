/* association: SOCKS5 UDP ASSOCIATE (RFC 1928 §7): a UDP socket on the command's loopback, for one
 * client, for as long as its connection is open. Each destination of its datagrams is a flow. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "policies/policies.h"

struct connection;

/* The client has asked for it; @client_port: from which it will send; 0: it did not say. The client
 * is told when the socket is there. */
void association_begin(struct connection *connection, uint16_t client_port);
/* The connection of a client ends; does nothing without an association. */
void association_end(struct connection *connection, enum policy_reason reason, bool is_refused);

/* The handlers of state DATAGRAMS; the deadline is also that of flows. */
void association_on_client(struct connection *connection);
void association_on_deadline(struct connection *connection);
