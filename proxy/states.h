/* states: the handlers of a connection's events, by state. */
#pragma once

#include "gateway/gateway.h"
#include "proxy/connection.h"

/* Indexed by enum connection_state. */
extern const struct connection_handlers states_handlers[];

/* gateway_lease_fn of every connection. */
void states_on_lease(const struct gateway_lease *lease, void *arg);
