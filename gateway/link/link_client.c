#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/gateway_let_go.h"
#include "gateway/link/client.h"
#include "gateway/link/keys.h"
#include "gateway/link/link_impl.h"
#include "gateway/link/ring.h"
#include "policies/policies_gate.h"

#define RING_TELL_MS 5  /* after a frame was written into the ring, the gateway is told */
#define SETTLE_MAX   64 /* afterwards the loop serves descriptors */

/* The gateway is the trusted side, so its messages are believed. A malformed frame counts as a
 * closed gateway. */
struct remote {
	struct gateway_client client; /* first */
	struct frame_link *link;
	struct key_table tickets; /* by id */
	uint64_t last_id;
	bool has_heard_hello;
	gateway_exec_fn on_exec;
	void *arg;
	const struct policy *policy; /* borrowed; NULL: nothing is decided here */
	struct ring_writer *ring;    /* NULL: the gateway has not given one */
	uint64_t ring_number;        /* heard last; 0: none */
	bool was_told_full;
	struct loop_timer telling, settling;
	TAILQ_HEAD(, remote_ticket) let_go; /* their verdict is told from the loop */
	bool *is_freed;                     /* set while verdicts are told */
};

struct remote_ticket {
	struct gateway_ticket ticket; /* first */
	struct key_node node;
	struct policy_verdict *verdict; /* owned; in remote->let_go; NULL: it is not */
	bool has_spent;                 /* that is on the link, so its report must follow there */
	TAILQ_ENTRY(remote_ticket) entry;
};

static void remote_send(struct remote *remote, const struct frame *frame)
{
	(void)frame_link_send(remote->link, frame, NULL, 0); /* a dead link reports itself */
}

static void remote_send_number(struct remote *remote, enum link_type type, uint64_t number)
{
	struct frame frame;

	link_codec_put_number(&frame, type, number);
	remote_send(remote, &frame);
}

static void remote_tell(void *arg)
{
	remote_send_number(arg, LINK_RING, 0);
}

/* False: it must be sent. */
static bool remote_write(struct remote *remote, const struct frame *frame)
{
	if (!remote->ring || !ring_write(remote->ring, frame, loop_wall_us(remote->client.loop)))
		return false;
	bool is_half_full = ring_is_half_full(remote->ring);

	if (is_half_full && !remote->was_told_full)
		remote_tell(remote);
	else if (!remote->telling.is_armed)
		loop_timer_start(remote->client.loop, &remote->telling, RING_TELL_MS, remote_tell,
				 remote);
	remote->was_told_full = is_half_full;
	return true;
}

static void remote_take_out(struct remote *remote, struct remote_ticket *ticket)
{
	if (!ticket->verdict)
		return;
	TAILQ_REMOVE(&remote->let_go, ticket, entry);
	free(take(ticket->verdict));
}

/* A callback may free the client. */
static void remote_settle(void *arg)
{
	struct remote *remote = arg;
	struct remote_ticket *ticket;
	bool is_freed = false;

	remote->is_freed = &is_freed;
	for (int i = 0; i < SETTLE_MAX && !is_freed && (ticket = TAILQ_FIRST(&remote->let_go));
	     i++) {
		const struct policy_verdict verdict = *ticket->verdict;

		remote_take_out(remote, ticket);
		client_settle(&ticket->ticket, &verdict);
	}
	if (is_freed)
		return;
	remote->is_freed = NULL;
	if (!TAILQ_EMPTY(&remote->let_go))
		loop_defer(remote->client.loop, &remote->settling, remote_settle, remote);
}

static bool is_limited(const struct policy_limits *limits)
{
	return limits->account || limits->upload || limits->download || limits->connections ||
	       limits->rate_count || limits->until_s;
}

/* Does a rule allow it that needs nobody else: no answer, account, or requester? With another first
 * protocol an answer may count, and the host's loopback may be the gate's own page. */
static bool is_plain(const struct policy *policy, const struct policy_facts *facts, int64_t now,
		     struct policy_verdict *ret)
{
	enum policy_protocol may[POLICY_PROTOCOLS_MAX];
	struct policy_facts own = *facts;

	if (facts->plea || policy_destination_is_loopback(&facts->dst) ||
	    policy_facts_protocols(facts, may) == 0)
		return false;
	own.now = now;
	own.dst.protocol = own.carries = may[0];
	policy_decide(policy, &own, ret);
	return ret->action == POLICY_ALLOW && ret->reason == POLICY_RULE_ALLOW &&
	       !is_limited(&ret->limits);
}

static bool remote_may(const struct remote *remote)
{
	return remote->ring && remote->policy && remote->ring_number != 0 &&
	       ring_allowed(remote->ring) == remote->ring_number;
}

/* NULL: the gateway must be asked. The request is in the ring before anything follows from the
 * verdict. */
static struct remote_ticket *remote_let_go(struct remote *remote, const struct policy_facts *facts)
{
	struct policy_verdict verdict;
	struct frame frame;

	if (!remote_may(remote) || remote->tickets.count >= LINK_TICKETS_MAX ||
	    !is_plain(remote->policy, facts, loop_wall_us(remote->client.loop) / 1000000, &verdict))
		return NULL;
	link_codec_put_submit(&frame, ++remote->last_id, facts);
	if (!remote_write(remote, &frame))
		return NULL;
	if (!remote_may(remote)) { /* it changes its mind, and may not have seen this one */
		remote_send_number(remote, LINK_WITHDRAW, remote->last_id);
		return NULL;
	}
	struct remote_ticket *ticket = mem_new(sizeof(*ticket));

	ticket->verdict = mem_new(sizeof(*ticket->verdict));
	*ticket->verdict = verdict;
	TAILQ_INSERT_TAIL(&remote->let_go, ticket, entry);
	if (!remote->is_freed)
		loop_defer(remote->client.loop, &remote->settling, remote_settle, remote);
	return ticket;
}

static struct gateway_ticket *remote_submit(struct gateway_client *client,
					    const struct policy_facts *facts)
{
	struct remote *remote = (struct remote *)client;
	struct remote_ticket *ticket = remote_let_go(remote, facts);
	struct frame frame;

	if (ticket) {
		keys_add(&remote->tickets, &ticket->node, remote->last_id, NULL);
		return &ticket->ticket;
	}
	ticket = mem_new(sizeof(*ticket));

	keys_add(&remote->tickets, &ticket->node, ++remote->last_id, NULL);
	link_codec_put_submit(&frame, remote->last_id, facts);
	remote_send(remote, &frame);
	return &ticket->ticket;
}

static void remote_withdraw(struct gateway_client *client, struct gateway_ticket *ticket)
{
	struct remote *remote = (struct remote *)client;
	struct remote_ticket *own = (struct remote_ticket *)ticket;

	keys_remove(&remote->tickets, &own->node);
	remote_take_out(remote, own);
	remote_send_number(remote, LINK_WITHDRAW, own->node.number);
}

/* A request may be refused because its host is invalid; such a host is not sent, because the
 * gateway would reject the frame. */
static void remote_report(struct gateway_client *client, const struct gateway_report *report)
{
	const struct policy_destination *dst = &report->facts.dst;
	struct remote_ticket *ticket = (struct remote_ticket *)report->ticket;
	struct gateway_report sent = *report;
	struct policy_destination same;
	struct frame frame;

	if (policy_destination_set(&same, dst->host, strnlen(dst->host, sizeof(dst->host)),
				   dst->port, NULL) < 0 ||
	    strncmp(same.host, dst->host, sizeof(same.host)) != 0)
		sent.facts.dst = (struct policy_destination){ 0 };
	link_codec_put_report(&frame, ticket ? ticket->node.number : 0, &sent);
	if (ticket && !client->is_gone)
		keys_remove(&((struct remote *)client)->tickets, &ticket->node);
	/* Nobody waits for the report of a good end. */
	bool may_wait = ticket && sent.verdict.action == POLICY_ALLOW &&
			policy_reason_status(sent.closed) == 200;

	if (may_wait && !client->is_gone && !ticket->has_spent &&
	    remote_write((struct remote *)client, &frame))
		return;
	if (may_wait)
		frame_link_send_later(((struct remote *)client)->link, &frame);
	else
		remote_send((struct remote *)client, &frame);
}

static int remote_spend(struct gateway_client *client, struct gateway_ticket *ticket,
			const struct gateway_spent *spent)
{
	struct remote_ticket *own = (struct remote_ticket *)ticket;
	struct frame frame;

	own->has_spent = true;
	link_codec_put_spent(&frame, own->node.number, spent);
	remote_send((struct remote *)client, &frame);
	return 0;
}

static void remote_free(struct gateway_client *client)
{
	struct remote *remote = (struct remote *)client;

	frame_link_free(remote->link);
	keys_done(&remote->tickets);
	loop_timer_stop(&remote->telling);
	loop_timer_stop(&remote->settling);
	ring_writer_free(remote->ring);
	if (remote->is_freed)
		*remote->is_freed = true;
	free(remote);
}

static const struct client_ops remote_ops = {
	.submit = remote_submit,
	.withdraw = remote_withdraw,
	.report = remote_report,
	.spend = remote_spend,
	.free = remote_free,
};

static void remote_gone(struct remote *remote)
{
	struct remote_ticket *ticket;

	while (keys_pop(&remote->tickets))
		;
	while ((ticket = TAILQ_FIRST(&remote->let_go)))
		remote_take_out(remote, ticket);
	loop_timer_stop(&remote->telling);
	client_gone(&remote->client);
}

static void on_closed(void *arg)
{
	remote_gone(arg);
}

/* NULL: unknown, or it has ended. */
static struct remote_ticket *find_ticket(const struct remote *remote, uint64_t id)
{
	struct key_node *node = keys_find(&remote->tickets, id, NULL);

	return node ? container_of(node, struct remote_ticket, node) : NULL;
}

/* It was let go, and nothing has followed from that yet. */
static void remote_refuse(struct remote *remote, struct remote_ticket *own,
			  const struct policy_verdict *verdict)
{
	keys_remove(&remote->tickets, &own->node);
	remote_take_out(remote, own);
	remote_send_number(remote, LINK_WITHDRAW, own->node.number);
	client_settle(&own->ticket, verdict);
}

/* A verdict, a cut or a lease: a ticket has its verdict before the others. */
static bool handle_ticket(struct remote *remote, struct frame *frame)
{
	struct policy_verdict verdict;
	struct gateway_lease lease;
	unsigned int type = frame->type;
	uint64_t id;
	int r = type == LINK_VERDICT ? link_codec_get_verdict(frame, &id, &verdict)
		: type == LINK_CUT   ? link_codec_get_cut(frame, &id, &verdict)
				     : link_codec_get_lease(frame, &id, &lease);

	if (r < 0)
		return false;
	struct remote_ticket *own = find_ticket(remote, id);

	if (!own)
		return true; /* it was withdrawn, or has ended, meanwhile */
	if (own->verdict && type == LINK_CUT) {
		remote_refuse(remote, own, &verdict);
		return true;
	}
	if (own->ticket.is_live == (type == LINK_VERDICT) || own->verdict)
		return false;
	if (type == LINK_LEASE) {
		client_lease(&own->ticket, &lease);
	} else if (type == LINK_CUT) {
		client_cut(&own->ticket, &verdict);
	} else {
		if (verdict.action != POLICY_ALLOW)
			keys_remove(&remote->tickets, &own->node);
		client_settle(&own->ticket, &verdict);
	}
	return true;
}

/* Earlier frames closed all listeners, so every report is sent before this answer. The gateway
 * closes the link after reading it. */
static bool handle_finish(struct remote *remote, struct frame *frame)
{
	uint64_t number;

	if (link_codec_get_number(frame, &number) < 0)
		return false;
	remote_send_number(remote, LINK_FINISH, number);
	return true;
}

/* Takes @fds. */
static bool handle_way(struct remote *remote, struct frame *frame, int *fds, size_t count)
{
	uint64_t exec;
	bool is_valid = link_codec_get_number(frame, &exec) == 0 &&
			(frame->type == LINK_OPEN) == (count > 0);

	if (is_valid && remote->on_exec) {
		remote->on_exec(exec, fds, count, remote->arg);
		return true;
	}
	fd_close_all(fds, count);
	return is_valid;
}

/* Takes @fds. */
static bool handle_policy(struct remote *remote, struct frame *frame, int *fds, size_t count)
{
	uint64_t number;
	bool is_valid = link_codec_get_number(frame, &number) == 0 && count == 1;

	if (is_valid && remote->client.on_image) {
		remote->policy = NULL; /* until gateway_client_decide_by() */
		remote->client.on_image(fds[0], remote->client.image_arg);
		return true;
	}
	fd_close_all(fds, count);
	return is_valid;
}

/* Takes @fds. */
static bool handle_ring(struct remote *remote, struct frame *frame, int *fds, size_t count)
{
	uint64_t number;

	if (link_codec_get_number(frame, &number) == 0 &&
	    (count == 0 || (count == 1 && !remote->ring))) {
		remote->ring_number = number;
		if (count == 1) /* without it the gateway is asked */
			remote->ring = ring_writer_new(fds[0]);
		return true;
	}
	fd_close_all(fds, count);
	return false;
}

void gateway_client_decide_by(struct gateway_client *client, const struct policy *policy)
{
	((struct remote *)client)->policy = policy;
}

/* Takes @fds. */
static bool handle_names(struct remote *remote, struct frame *frame, int *fds, size_t count)
{
	int files[2] = { -1, -1 };
	size_t used = 0;
	uint64_t which;
	bool is_valid = link_codec_get_number(frame, &which) == 0 &&
			which <= (LINK_RESOLV_CONF | LINK_HOSTS) &&
			(size_t)__builtin_popcountll(which) == count;

	for (size_t i = 0; is_valid && i < ARRAY_SIZE(files); i++) {
		if (which & BIT(i))
			files[i] = fds[used++];
	}
	if (is_valid && remote->client.on_names) {
		remote->client.on_names(files[0], files[1], remote->client.names_arg);
		return true;
	}
	fd_close_all(fds, count);
	return is_valid;
}

static bool handle_note(struct remote *remote, struct frame *frame)
{
	char text[GATEWAY_NOTE_MAX];
	uint64_t exec;

	if (link_codec_get_note(frame, &exec, text) < 0)
		return false;
	if (remote->client.on_note)
		remote->client.on_note(exec, text, remote->client.note_arg);
	return true;
}

static bool handle_drain(struct remote *remote, struct frame *frame)
{
	uint64_t number;

	if (link_codec_get_number(frame, &number) < 0)
		return false;
	if (remote->client.on_drain)
		remote->client.on_drain(remote->client.drain_arg);
	return true;
}

void gateway_client_drained(struct gateway_client *client)
{
	remote_send_number((struct remote *)client, LINK_FINISH, 0);
}

/* False: malformed. Takes @fds. A callback may free the client, so it is the last call. */
static bool handle_frame(struct remote *remote, struct frame *frame, int *fds, size_t count)
{
	if (remote->has_heard_hello && (frame->type == LINK_OPEN || frame->type == LINK_CLOSE))
		return handle_way(remote, frame, fds, count);
	if (remote->has_heard_hello && frame->type == LINK_POLICY)
		return handle_policy(remote, frame, fds, count);
	if (remote->has_heard_hello && frame->type == LINK_NAMES)
		return handle_names(remote, frame, fds, count);
	if (remote->has_heard_hello && frame->type == LINK_RING)
		return handle_ring(remote, frame, fds, count);
	fd_close_all(fds, count);
	if (count > 0)
		return false;
	if (remote->has_heard_hello && frame->type == LINK_FINISH)
		return handle_finish(remote, frame);
	if (remote->has_heard_hello && frame->type == LINK_NOTE)
		return handle_note(remote, frame);
	if (remote->has_heard_hello && frame->type == LINK_DRAIN)
		return handle_drain(remote, frame);
	if (remote->has_heard_hello)
		return (frame->type == LINK_VERDICT || frame->type == LINK_CUT ||
			frame->type == LINK_LEASE) &&
		       handle_ticket(remote, frame);
	remote->has_heard_hello = link_codec_get_hello(frame) == 0;
	return remote->has_heard_hello;
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct remote *remote = arg;

	if (remote->client.is_gone) {
		fd_close_all(fds, count);
		return;
	}
	if (handle_frame(remote, frame, fds, count))
		return;
	log_error("malformed frame from the gateway; closing all connections");
	remote_gone(remote);
}

struct gateway_client *gateway_client_connect(struct loop *loop, int socket,
					      gateway_exec_fn on_exec, gateway_gone_fn on_gone,
					      void *arg)
{
	struct remote *remote = mem_new(sizeof(*remote));
	struct frame frame;

	client_init(&remote->client, &remote_ops, loop);
	keys_init(&remote->tickets);
	TAILQ_INIT(&remote->let_go);
	remote->on_exec = on_exec;
	remote->arg = arg;
	remote->client.on_gone = on_gone;
	remote->client.arg = arg;
	remote->link = frame_link_new(loop, socket, on_frame, on_closed, remote);
	link_codec_put_hello(&frame);
	remote_send(remote, &frame);
	return &remote->client;
}
