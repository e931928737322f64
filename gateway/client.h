/* client: what the two ways to a gateway (in this process, over a link) share: tickets, and their
 * denial when it is gone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/gateway.h"

struct trips;

/* The first member of what a client allocates per request, so that free(ticket) frees the whole. */
struct gateway_ticket {
	struct gateway_client *client;
	gateway_verdict_fn done;
	void *arg;
	bool was_waiting; /* when the gateway went */
	bool is_live;     /* allowed: among the client's @live, not its @tickets */
	bool was_cut;
	TAILQ_ENTRY(gateway_ticket) entry;
};

struct client_ops {
	/* Returned owned; the caller fills in client, done and arg. */
	struct gateway_ticket *(*submit)(struct gateway_client *client,
					 const struct policy_facts *facts);
	/* Takes the ticket out of the client's own tables; the caller frees it. */
	void (*withdraw)(struct gateway_client *client, struct gateway_ticket *ticket);
	/* Takes report->ticket out of the client's own tables, unless the gateway is gone; the
	 * caller frees it. */
	void (*report)(struct gateway_client *client, const struct gateway_report *report);
	/* gateway_spend() of a ticket that lives. */
	int (*spend)(struct gateway_client *client, struct gateway_ticket *ticket,
		     const struct gateway_spent *spent);
	/* Everything is withdrawn already. Frees @client itself. */
	void (*free)(struct gateway_client *client);
};

struct gateway_client {
	const struct client_ops *ops;
	struct loop *loop;
	TAILQ_HEAD(gateway_ticket_list, gateway_ticket) tickets;
	struct gateway_ticket_list live; /* allowed, and not reported yet */
	gateway_cut_fn on_cut;           /* may be NULL */
	gateway_image_fn on_image;       /* may be NULL */
	void *image_arg;
	gateway_lease_fn on_lease; /* may be NULL */
	struct trips *trips;       /* counted here as well; NULL: nowhere */
	bool is_gone; /* the gateway: submit and withdraw of the ops are not called any more */
	bool was_told;
	size_t orphans; /* tickets that waited when it went, and wait still */
	struct loop_timer denying;
	gateway_gone_fn on_gone; /* may be NULL */
	void *arg;
};

void client_init(struct gateway_client *client, const struct client_ops *ops, struct loop *loop);
/* Hands out the verdict; a denied ticket is freed, an allowed one lives. The client may be dead
 * when it returns. */
void client_settle(struct gateway_ticket *ticket, const struct policy_verdict *verdict);
/* Tells, at most once, that what @ticket allowed is over. The client may be dead when it returns.
 */
void client_cut(struct gateway_ticket *ticket, const struct policy_verdict *verdict);
/* Tells what @ticket may move. The client may be dead when it returns. */
void client_lease(struct gateway_ticket *ticket, const struct gateway_lease *lease);
/* The gateway is gone: everyone who waits, and whoever comes, is denied from the loop
 * (gate_closing); on_gone runs when those who waited know. The implementation's own tables must
 * hold no ticket any more. */
void client_gone(struct gateway_client *client);
