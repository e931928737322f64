/* gateway_drain: lets a worker finish what is open before it ends, where it also accepts clients of
 * its own (struct proxy_service). */
#pragma once

struct gateway;
struct gateway_client;

typedef void (*gateway_drain_fn)(void *arg);
/* The workers accept no client from now on. @done runs once, from the loop, when the last
 * connection has ended; gateway_finish() may follow earlier, and ends what is left. */
void gateway_drain(struct gateway *gw, gateway_drain_fn done, void *arg);

/* The worker's end. Over a link only. */
void gateway_client_on_drain(struct gateway_client *client, gateway_drain_fn on_drain, void *arg);
/* Nothing is open any more, and everything is reported. */
void gateway_client_drained(struct gateway_client *client);
