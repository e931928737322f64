/* local: the client in the gateway's own process. */
#pragma once

#include "gateway/state.h"

/* Closes @client: records waiting requests as denied with @reason, and denies them from the loop
 * (gate_closing). */
void local_cut(struct gateway_client *client, enum policy_reason reason);
/* The worker of @client has let the request go: records that. The allowed ticket, owned as one of
 * gateway_submit() with @arg, whose verdict is told to nobody. */
struct gateway_ticket *local_let_go(struct gateway_client *client, const struct policy_facts *facts,
				    void *arg);
/* The worker that had the allowed @ticket (taken) does not report it: records the end. If it died,
 * what it may have sent counts as sent. */
void local_lose(struct gateway_ticket *ticket, enum policy_reason reason, const char *cause);
/* Closes all of them: the gateway is being freed. */
void local_cut_all(struct gateway *gw);
/* Tells the embedding program of each request of @exec without a verdict: a verdict would come too
 * late. */
void local_exec_ended(struct gateway *gw, const struct gateway_exec *exec);
/* Does @exec have a request whose end is not reported yet? */
bool local_has_exec(const struct gateway *gw, uint64_t exec);
