#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/link/client.h"
#include "gateway/link/keys.h"
#include "gateway/link/link_impl.h"

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
};

struct remote_ticket {
	struct gateway_ticket ticket; /* first */
	struct key_node node;
};

static void remote_send(struct remote *remote, const struct frame *frame)
{
	(void)frame_link_send(remote->link, frame, NULL, 0); /* a dead link reports itself */
}

static struct gateway_ticket *remote_submit(struct gateway_client *client,
					    const struct policy_facts *facts)
{
	struct remote *remote = (struct remote *)client;
	struct remote_ticket *ticket = mem_new(sizeof(*ticket));
	struct frame frame;

	keys_add(&remote->tickets, &ticket->node, ++remote->last_id, NULL);
	link_codec_put_submit(&frame, remote->last_id, facts);
	remote_send(remote, &frame);
	return &ticket->ticket;
}

static void remote_withdraw(struct gateway_client *client, struct gateway_ticket *ticket)
{
	struct remote *remote = (struct remote *)client;
	struct remote_ticket *own = (struct remote_ticket *)ticket;
	struct frame frame;

	keys_remove(&remote->tickets, &own->node);
	link_codec_put_number(&frame, LINK_WITHDRAW, own->node.number);
	remote_send(remote, &frame);
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
	if (ticket && sent.verdict.action == POLICY_ALLOW &&
	    policy_reason_status(sent.closed) == 200)
		frame_link_send_later(((struct remote *)client)->link, &frame);
	else
		remote_send((struct remote *)client, &frame);
}

static int remote_spend(struct gateway_client *client, struct gateway_ticket *ticket,
			const struct gateway_spent *spent)
{
	struct frame frame;

	link_codec_put_spent(&frame, ((struct remote_ticket *)ticket)->node.number, spent);
	remote_send((struct remote *)client, &frame);
	return 0;
}

static void remote_free(struct gateway_client *client)
{
	struct remote *remote = (struct remote *)client;

	frame_link_free(remote->link);
	keys_done(&remote->tickets);
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
	while (keys_pop(&remote->tickets))
		;
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
	if (own->ticket.is_live == (type == LINK_VERDICT))
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
	link_codec_put_number(frame, LINK_FINISH, number);
	remote_send(remote, frame);
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
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return is_valid;
}

/* Takes @fds. */
static bool handle_policy(struct remote *remote, struct frame *frame, int *fds, size_t count)
{
	uint64_t number;
	bool is_valid = link_codec_get_number(frame, &number) == 0 && number == 0 && count == 1;

	if (is_valid && remote->client.on_image) {
		remote->client.on_image(fds[0], remote->client.image_arg);
		return true;
	}
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return is_valid;
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
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
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
	struct frame frame;

	link_codec_put_number(&frame, LINK_FINISH, 0);
	remote_send((struct remote *)client, &frame);
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
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
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
		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
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
	remote->on_exec = on_exec;
	remote->arg = arg;
	remote->client.on_gone = on_gone;
	remote->client.arg = arg;
	remote->link = frame_link_new(loop, socket, on_frame, on_closed, remote);
	link_codec_put_hello(&frame);
	remote_send(remote, &frame);
	return &remote->client;
}
