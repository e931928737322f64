/* client: what the clients in this process and over a link share: tickets, and their denial when
 * the gateway closes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/loop.h"
#include "gateway/gateway.h"
#include "gateway/gateway_drain.h"
#include "gateway/gateway_names.h"
#include "gateway/gateway_note.h"

struct traffic;

/* The first member of the object that a client allocates per request, so that free(ticket) frees
 * that object. */
struct gateway_ticket {
	struct gateway_client *client;
	gateway_verdict_fn done;
	void *arg;
	bool was_waiting; /* when the gateway closed */
	bool is_live;     /* allowed: in the client's @live, not in its @tickets */
	bool was_cut;
	TAILQ_ENTRY(gateway_ticket) entry;
};

struct client_ops {
	/* Returned owned; the caller fills in client, done and arg. */
	struct gateway_ticket *(*submit)(struct gateway_client *client,
					 const struct policy_facts *facts);
	/* Removes the ticket from the client's own tables; the caller frees it. */
	void (*withdraw)(struct gateway_client *client, struct gateway_ticket *ticket);
	/* Removes report->ticket from the client's own tables, unless the gateway has closed; the
	 * caller frees it. */
	void (*report)(struct gateway_client *client, const struct gateway_report *report);
	/* gateway_spend() for an open ticket. */
	int (*spend)(struct gateway_client *client, struct gateway_ticket *ticket,
		     const struct gateway_spent *spent);
	/* Everything is withdrawn before. Frees @client itself. */
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
	gateway_names_fn on_names; /* may be NULL */
	void *names_arg;
	gateway_note_fn on_note; /* may be NULL */
	void *note_arg;
	gateway_drain_fn on_drain; /* may be NULL */
	void *drain_arg;
	gateway_lease_fn on_lease; /* may be NULL */
	struct traffic *trips;     /* these are counted too; NULL: none */
	bool is_gone; /* the gateway has closed: submit and withdraw are no longer called */
	bool was_told;
	size_t orphans; /* tickets that waited when it closed, and are not denied yet */
	struct loop_timer denying;
	gateway_gone_fn on_gone; /* may be NULL */
	void *arg;
};

void client_init(struct gateway_client *client, const struct client_ops *ops, struct loop *loop);
/* Sends the verdict; a denied ticket is freed, an allowed one stays. The client may be freed on
 * return. */
void client_settle(struct gateway_ticket *ticket, const struct policy_verdict *verdict);
/* Tells the client, at most once, that the allow of @ticket was revoked. The client may be freed on
 * return. */
void client_cut(struct gateway_ticket *ticket, const struct policy_verdict *verdict);
/* Tells the client what @ticket may move. The client may be freed on return. */
void client_lease(struct gateway_ticket *ticket, const struct gateway_lease *lease);
/* The gateway has closed: all waiting and later requests are denied from the loop (gate_closing);
 * on_gone runs after the waiting ones have been told. The implementation's own tables must not hold
 * a ticket any more. */
void client_gone(struct gateway_client *client);
