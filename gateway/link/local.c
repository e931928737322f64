#include "gateway/link/local.h"
#include "gateway/execs/egress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvals/approval.h"
#include "gateway/decide/decision_record.h"
#include "gateway/execs/execs.h"
#include "gateway/audit/journal.h"
#include "gateway/grants/ledger.h"
#include "gateway/grants/leases.h"
#include "gateway/grants/live_requests.h"
#include "gateway/decide/repeats.h"
#include "gateway/execs/lookups.h"
#include "gateway/decide/queue.h"
#include "policies/policies_request.h"

struct local_client {
	struct gateway_client client; /* first */
	struct gateway *gw;           /* NULL: it was freed */
	LIST_ENTRY(local_client) entry;
};

static struct waiter *local_waiter(struct gateway *gw, const struct policy_facts *facts)
{
	size_t request_size = policy_request_size(facts->request);
	size_t plea_len = facts->plea ? strnlen(facts->plea, GATEWAY_PLEA_MAX - 1) : 0;
	struct waiter *waiter = mem_new(sizeof(*waiter) + request_size + plea_len + 1);
	char *plea = (char *)(waiter + 1) + request_size;

	waiter->gw = gw;
	waiter->facts = *facts;
	/* It is decided again when a question is settled, and by a new policy. */
	waiter->facts.request = policy_request_copy(facts->request, waiter + 1);
	memcpy(plea, plea_len ? facts->plea : "", plea_len); /* its NUL is there */
	waiter->facts.plea = plea_len ? plea : NULL;
	waiter->since_ms = loop_now_ms(gw->loop);
	return waiter;
}

static struct gateway_ticket *local_submit(struct gateway_client *client,
					   const struct policy_facts *facts)
{
	struct waiter *waiter = local_waiter(((struct local_client *)client)->gw, facts);

	queue_add(waiter);
	return &waiter->ticket;
}

struct gateway_ticket *local_let_go(struct gateway_client *client, const struct policy_facts *facts,
				    void *arg)
{
	struct waiter *waiter = local_waiter(((struct local_client *)client)->gw, facts);
	struct gateway_ticket *ticket = &waiter->ticket;

	ticket->client = client;
	ticket->arg = arg;
	ticket->is_live = true;
	TAILQ_INSERT_TAIL(&client->live, ticket, entry);
	waiter->gw->let_go(waiter);
	return ticket;
}

static void local_live_end(struct waiter *waiter)
{
	live_requests_end(waiter);
	ledger_end(waiter);
}

/* Removes @waiter from any queue. Before its verdict was sent, it has moved nothing. */
static void local_take_out(struct waiter *waiter)
{
	static const uint64_t nothing[GATEWAY_WAYS];

	lookups_remove(waiter);
	leases_end(waiter, waiter->pass ? NULL : nothing);
	if (waiter->pass)
		local_live_end(waiter);
	else if (waiter->slot)
		waiter->slot->waiter = NULL;
	else if (waiter->party)
		approval_leave(waiter);
	else if (waiter->is_queued)
		TAILQ_REMOVE(&waiter->gw->queue, waiter, entry);
	waiter->is_queued = false;
	approval_decision_drop(take(waiter->decision));
}

static void local_withdraw(struct gateway_client *client, struct gateway_ticket *ticket)
{
	local_take_out((struct waiter *)ticket);
}

/* A good end of an allowed request is recorded with the next batch, because nothing waits for it. A
 * refusal is written at once, because the program that embeds us is told of it. */
static void local_record(struct gateway *gw, const struct sink_record *record)
{
	bool may_wait = record->event == SINK_CLOSED && policy_reason_status(record->reason) == 200;

	if (may_wait) {
		(void)journal_write_later(gw->journal, record); /* the error is kept */
	} else {
		(void)journal_write(gw->journal, record); /* as above, and checked at the commit */
		(void)journal_commit(gw->journal);
	}
	queue_schedule(gw); /* writes the queued records, or denies the waiting requests */
}

/* The worker's duration starts with the request; the connection is open only after the wait. */
static void local_waited(const struct waiter *waiter, struct sink_record *record)
{
	uint64_t waited_ms = (uint64_t)(waiter->pass->since_ms - waiter->since_ms);

	record->waited_ms = waited_ms < record->duration_ms ? waited_ms : record->duration_ms;
	record->duration_ms -= record->waited_ms;
}

static void local_report(struct gateway_client *client, const struct gateway_report *report)
{
	struct gateway *gw = ((struct local_client *)client)->gw;

	struct waiter *waiter = (struct waiter *)report->ticket;
	struct policy_verdict verdict = report->verdict;

	if (!gw)
		return; /* the gateway was freed, with its audit log */
	bool was_allowed = verdict.action == POLICY_ALLOW;

	/* If a rule does not permit the address, asking again would have the same result. */
	if (waiter && !was_allowed &&
	    (verdict.reason == POLICY_PRIVATE_ADDRESS ||
	     verdict.reason == POLICY_METADATA_ADDRESS || verdict.reason == POLICY_SPECIAL_ADDRESS))
		recent_leave_futile(&gw->futile, &waiter->facts.dst, verdict.reason,
				    loop_now_ms(gw->loop));
	if (waiter)
		live_requests_report(waiter, was_allowed ? report->closed : verdict.reason,
				     &verdict);
	struct sink_record record = {
		.event = was_allowed ? SINK_CLOSED : SINK_DECISION,
		.exec = report->facts.exec,
		.facts = &report->facts,
		.verdict = &verdict,
		.reason = was_allowed ? report->closed : verdict.reason,
		.resolved = report->resolved,
		.is_resolved_upstream = report->is_resolved_upstream,
		.cause = report->cause,
		.bytes_up = report->bytes_up,
		.bytes_down = report->bytes_down,
		.duration_ms = report->duration_ms,
		.dns_ms = report->dns_ms,
		.dial_ms = report->dial_ms,
		.has_traffic = was_allowed && report->closed != POLICY_WORKER_DIED,
	};

	const struct gateway_exec *exec = execs_find(gw, report->facts.exec);

	if (exec)
		outcomes_report(&gw->outcomes, exec->outcome, report);
	traffic_count_report(&gw->trips, report, &verdict);
	traffic_count_report(client->trips, report, &verdict);
	if (was_allowed && gw->egress)
		egress_count(gw->egress, waiter ? &waiter->facts.dst : &report->facts.dst,
			     waiter ? waiter->program : NULL, verdict.reason,
			     (uint64_t[GATEWAY_WAYS]){ report->bytes_up, report->bytes_down });
	journal_stamp(gw->journal, &record);
	if (waiter)
		record.program = waiter->program; /* the exec owns it, and outlives it */
	if (waiter && was_allowed)
		local_waited(waiter, &record);
	if (was_allowed || !repeats_take(gw, &report->facts, &verdict))
		local_record(gw, &record);
	if (waiter) {
		ledger_count(waiter, report);
		lookups_remove(waiter);
		leases_end(waiter, report->closed == POLICY_WORKER_DIED
					   ? NULL /* not known: all that it could have sent */
					   : (uint64_t[]){ report->bytes_up, report->bytes_down });
		local_live_end(waiter);
	}
}

void local_lose(struct gateway_ticket *ticket, enum policy_reason reason, const char *cause)
{
	const struct waiter *waiter = (const struct waiter *)ticket;
	struct gateway_client *client = ticket->client;
	struct gateway_report report = {
		.facts = waiter->facts,
		.ticket = ticket,
		.verdict = { .action = POLICY_ALLOW, .reason = waiter->pass->allowed_by },
		.closed = reason,
		.duration_ms = (uint64_t)(loop_now_ms(client->loop) - waiter->since_ms),
	};

	(void)snprintf(report.cause, sizeof(report.cause), "%s", cause);
	gateway_report(client, &report);
}

static int local_spend(struct gateway_client *client, struct gateway_ticket *ticket,
		       const struct gateway_spent *spent)
{
	return leases_spend((struct waiter *)ticket, spent);
}

static void local_free(struct gateway_client *client)
{
	struct local_client *local = (struct local_client *)client;

	if (local->gw)
		LIST_REMOVE(local, entry);
	free(local);
}

static const struct client_ops local_ops = {
	.submit = local_submit,
	.withdraw = local_withdraw,
	.report = local_report,
	.spend = local_spend,
	.free = local_free,
};

struct gateway_client *gateway_client_new(struct gateway *gw)
{
	struct local_client *local = mem_new(sizeof(*local));

	client_init(&local->client, &local_ops, gw->loop);
	local->gw = gw;
	LIST_INSERT_HEAD(&gw->clients, local, entry);
	return &local->client;
}

/* Passes the records to the journal at once: if the gateway is being freed, its journal is freed
 * next, and writes what is queued. */
void local_cut(struct gateway_client *client, enum policy_reason reason)
{
	struct local_client *local = (struct local_client *)client;
	struct gateway_ticket *ticket;

	if (!local->gw)
		return;
	TAILQ_FOREACH (ticket, &client->tickets, entry) {
		struct waiter *waiter = (struct waiter *)ticket;

		local_take_out(waiter);
		decision_record_denial(waiter->gw, waiter, reason);
	}
	TAILQ_FOREACH (ticket, &client->live, entry) {
		lookups_remove((struct waiter *)ticket);
		leases_end((struct waiter *)ticket, NULL);
		local_live_end((struct waiter *)ticket);
	}
	LIST_REMOVE(local, entry);
	local->gw = NULL;
	client_gone(client);
}

static void local_tell_end(const struct waiter *waiter, struct outcome *outcome)
{
	const struct decision *decision = waiter->decision;
	bool is_denied = decision && decision->action != POLICY_ALLOW;
	struct policy_verdict verdict = {
		.action = POLICY_DENY,
		.reason = is_denied ? decision->reason : POLICY_EXEC_ENDED,
	};

	if (is_denied)
		(void)snprintf(verdict.by, sizeof(verdict.by), "%s", decision->by);
	outcomes_verdict(&waiter->gw->outcomes, outcome, &waiter->facts.dst, &verdict,
			 waiter->program_pid);
}

void local_exec_ended(struct gateway *gw, const struct gateway_exec *exec)
{
	struct local_client *local;
	struct gateway_ticket *ticket;

	LIST_FOREACH (local, &gw->clients, entry) {
		TAILQ_FOREACH (ticket, &local->client.tickets, entry) {
			const struct waiter *waiter = (const struct waiter *)ticket;

			if (waiter->facts.exec == exec->node.number)
				local_tell_end(waiter, exec->outcome);
		}
	}
}

static bool local_holds(const struct gateway_ticket_list *tickets, uint64_t exec)
{
	const struct gateway_ticket *ticket;

	TAILQ_FOREACH (ticket, tickets, entry) {
		if (((const struct waiter *)ticket)->facts.exec == exec)
			return true;
	}
	return false;
}

bool local_has_exec(const struct gateway *gw, uint64_t exec)
{
	const struct local_client *local;

	LIST_FOREACH (local, &gw->clients, entry) {
		if (local_holds(&local->client.tickets, exec) ||
		    local_holds(&local->client.live, exec))
			return true;
	}
	return false;
}

void local_cut_all(struct gateway *gw)
{
	while (!LIST_EMPTY(&gw->clients))
		local_cut(&LIST_FIRST(&gw->clients)->client, POLICY_GATE_CLOSING);
}
