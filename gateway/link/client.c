#include "gateway/link/client.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

void client_init(struct gateway_client *client, const struct client_ops *ops, struct loop *loop)
{
	client->ops = ops;
	client->loop = loop;
	TAILQ_INIT(&client->tickets);
	TAILQ_INIT(&client->live);
}

static void client_forget(struct gateway_ticket *ticket)
{
	struct gateway_client *client = ticket->client;

	TAILQ_REMOVE(ticket->is_live ? &client->live : &client->tickets, ticket, entry);
	if (ticket->was_waiting)
		client->orphans--;
}

void client_settle(struct gateway_ticket *ticket, const struct policy_verdict *verdict)
{
	gateway_verdict_fn done = ticket->done;
	void *arg = ticket->arg;

	assert(verdict->action != POLICY_ASK);
	client_forget(ticket);
	if (verdict->action == POLICY_ALLOW) {
		ticket->is_live = true;
		ticket->was_waiting = false;
		TAILQ_INSERT_TAIL(&ticket->client->live, ticket, entry);
	} else {
		free(ticket);
	}
	done(verdict, arg);
}

void client_cut(struct gateway_ticket *ticket, const struct policy_verdict *verdict)
{
	assert(ticket->is_live && verdict->action == POLICY_DENY);
	if (ticket->was_cut || !ticket->client->on_cut)
		return;
	ticket->was_cut = true;
	ticket->client->on_cut(verdict, ticket->arg);
}

void gateway_client_on_cut(struct gateway_client *client, gateway_cut_fn on_cut)
{
	client->on_cut = on_cut;
}

void gateway_client_on_image(struct gateway_client *client, gateway_image_fn on_image, void *arg)
{
	client->on_image = on_image;
	client->image_arg = arg;
}

void gateway_client_on_names(struct gateway_client *client, gateway_names_fn on_names, void *arg)
{
	client->on_names = on_names;
	client->names_arg = arg;
}

void gateway_client_on_note(struct gateway_client *client, gateway_note_fn on_note, void *arg)
{
	client->on_note = on_note;
	client->note_arg = arg;
}

void gateway_client_on_drain(struct gateway_client *client, gateway_drain_fn on_drain, void *arg)
{
	client->on_drain = on_drain;
	client->drain_arg = arg;
}

void client_lease(struct gateway_ticket *ticket, const struct gateway_lease *lease)
{
	assert(ticket->is_live);
	if (ticket->client->on_lease)
		ticket->client->on_lease(lease, ticket->arg);
}

void gateway_client_on_lease(struct gateway_client *client, gateway_lease_fn on_lease)
{
	client->on_lease = on_lease;
}

/* A closed gateway sends no answer. */
int gateway_spend(struct gateway_ticket *ticket, const struct gateway_spent *spent)
{
	struct gateway_client *client = ticket->client;

	assert(ticket->is_live);
	return client->is_gone ? 0 : client->ops->spend(client, ticket, spent);
}

static bool client_must_tell(const struct gateway_client *client)
{
	return client->on_gone && !client->was_told && client->orphans == 0;
}

/* Denies one ticket per turn of the loop, and schedules the next turn first, because the callback
 * may free the client. */
static void client_deny(void *arg)
{
	static const struct policy_verdict closing = {
		.action = POLICY_DENY,
		.reason = POLICY_GATE_CLOSING,
	};
	struct gateway_client *client = arg;
	struct gateway_ticket *ticket = TAILQ_FIRST(&client->tickets);

	if (ticket || client_must_tell(client))
		loop_defer(client->loop, &client->denying, client_deny, client);
	if (client_must_tell(client)) {
		client->was_told = true;
		client->on_gone(client->arg);
	} else if (ticket) {
		client_settle(ticket, &closing);
	}
}

void client_gone(struct gateway_client *client)
{
	struct gateway_ticket *ticket;

	if (client->is_gone)
		return;
	client->is_gone = true;
	TAILQ_FOREACH (ticket, &client->tickets, entry) {
		ticket->was_waiting = true;
		client->orphans++;
	}
	loop_defer(client->loop, &client->denying, client_deny, client);
}

struct gateway_ticket *gateway_submit(struct gateway_client *client,
				      const struct policy_facts *facts, gateway_verdict_fn done,
				      void *arg)
{
	struct gateway_ticket *ticket =
		client->is_gone ? mem_new(sizeof(*ticket)) : client->ops->submit(client, facts);

	ticket->client = client;
	ticket->done = done;
	ticket->arg = arg;
	TAILQ_INSERT_TAIL(&client->tickets, ticket, entry);
	if (client->is_gone)
		loop_defer(client->loop, &client->denying, client_deny, client);
	return ticket;
}

void gateway_withdraw(struct gateway_ticket *ticket)
{
	if (!ticket)
		return;
	struct gateway_client *client = ticket->client;

	if (!client->is_gone)
		client->ops->withdraw(client, ticket);
	client_forget(ticket);
	free(ticket);
}

void gateway_report(struct gateway_client *client, const struct gateway_report *report)
{
	struct gateway_ticket *ticket = report->ticket;

	assert(!ticket || ticket->is_live);
	client->ops->report(client, report);
	if (!ticket)
		return;
	client_forget(ticket);
	free(ticket);
}

void gateway_client_free(struct gateway_client *client)
{
	if (!client)
		return;
	while (!TAILQ_EMPTY(&client->tickets))
		gateway_withdraw(TAILQ_FIRST(&client->tickets));
	while (!TAILQ_EMPTY(&client->live))
		gateway_withdraw(TAILQ_FIRST(&client->live));
	loop_timer_stop(&client->denying);
	client->ops->free(client);
}
