/* local: the client in the gateway's own process. */
#pragma once

#include "gateway/core.h"

/* Cuts @client off: who waits is written down as denied with @reason, and denied from the loop
 * (gate_closing). */
void local_cut(struct gateway_client *client, enum policy_reason reason);
/* All of them: the gateway is going. */
void local_cut_all(struct gateway *gw);
/* Whoever embeds us hears of each request of @exec that has no verdict yet: it gets none in time.
 */
void local_exec_ended(struct gateway *gw, const struct gateway_exec *exec);
/* Is there a request of it that is not over, to its report? */
bool local_has_exec(const struct gateway *gw, uint64_t exec);
