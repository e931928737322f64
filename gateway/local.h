/* local: the client in the gateway's own process. */
#pragma once

#include "gateway/core.h"

/* Cuts @client off: who waits is written down as denied with @reason, and denied from the loop
 * (gate_closing). */
void local_cut(struct gateway_client *client, enum policy_reason reason);
/* All of them: the gateway is going. */
void local_cut_all(struct gateway *gw);
