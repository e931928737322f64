#include "gateway/gateway_drain.h"
#include "gateway/gateway_guests.h"
#include "gateway/link/link_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "gateway/audit/journal.h"
#include "gateway/execs/execs.h"
#include "gateway/link/held.h"
#include "gateway/link/link_impl.h"
#include "gateway/link/local.h"
#include "gateway/link/rings.h"
#include "gateway/link/worker_impl.h"
#include "gateway/decide/queue.h"

/* What it has not reported, it reports no more. */
static void worker_lose(struct worker *worker)
{
	for (size_t i = 0; i < worker->asked.size; i++) {
		for (struct key_node *node = worker->asked.buckets[i]; node; node = node->next) {
			struct asked *asked = container_of(node, struct asked, node);

			if (asked->is_allowed)
				local_lose(take(asked->ticket), POLICY_WORKER_DIED,
					   "its last bytes are not counted");
		}
	}
}

/* Frees everything except the trips and the worker itself. */
static void worker_close(struct worker *worker, enum policy_reason reason)
{
	struct key_node *node;
	struct held *held;

	rings_end(worker);
	LIST_REMOVE(worker, entry);
	while ((held = held_pop(&worker->held)))
		free(held);
	if (reason == POLICY_WORKER_DIED)
		worker_lose(worker);
	local_cut(worker->client, reason);
	while ((node = keys_pop(&worker->asked))) {
		struct asked *asked = container_of(node, struct asked, node);

		gateway_withdraw(asked->ticket);
		free(asked);
	}
	keys_done(&worker->asked);
	gateway_client_free(worker->client);
	frame_link_free(worker->link);
}

static void worker_free(struct worker *worker, enum policy_reason reason)
{
	worker_close(worker, reason);
	traffic_free(worker->trips);
	free(worker);
}

static void finish_over(void *arg)
{
	struct gateway *gw = arg;

	gw->finish.done(gw->finish.arg);
}

static void finish_if_alone(struct gateway *gw)
{
	if (LIST_EMPTY(&gw->workers) && gw->finish.timer.is_armed)
		loop_defer(gw->loop, &gw->finish.timer, finish_over, gw);
}

/* For the worker of one exec: passes its trips to the owner. The next one goes on counting. */
static void worker_guest_gone(struct worker *worker, enum policy_reason reason, bool is_hostile)
{
	const struct traffic *trips = worker->trips;
	struct gateway_exec *exec;

	worker_close(worker, reason);
	if (worker->on_gone)
		worker->on_gone(trips->list, trips->count, &trips->others, is_hostile, worker->arg);
	exec = execs_find(worker->gw, worker->exec);
	if (exec)
		exec->trips = take(worker->trips);
	traffic_free(worker->trips);
	free(worker);
}

/* The worker's link is closed. The owner is told last: it may end the run, or serve another worker,
 * in this call. */
static void worker_gone(struct worker *worker, bool is_hostile)
{
	struct gateway *gw = worker->gw;
	unsigned int number = worker->number;
	bool was_told = worker->was_told_to_finish || gw->finish.was_sent;
	enum policy_reason reason = was_told ? POLICY_GATE_CLOSING : POLICY_WORKER_DIED;

	if (worker->exec != 0)
		return worker_guest_gone(worker, reason, is_hostile);
	worker_free(worker, reason);
	if (gw->finish.is_wanted)
		finish_if_alone(gw);
	else if (gw->config.on_worker_gone)
		gw->config.on_worker_gone(number, is_hostile, gw->config.arg);
}

static void on_closed(void *arg)
{
	worker_gone(arg, false);
}

static void send_verdict(struct worker *worker, uint64_t id, const struct policy_verdict *verdict)
{
	struct frame frame;

	link_codec_put_verdict(&frame, id, verdict);
	(void)frame_link_send(worker->link, &frame, NULL, 0); /* a closed link reports itself */
}

/* Sends @frame now, or behind the verdict that waits for the disk. */
static void send_of(const struct asked *asked, const struct frame *frame)
{
	struct worker *worker = asked->worker;

	if (asked->number > journal_reached(worker->gw->journal))
		held_add(&worker->held, asked->node.number, asked->number, frame);
	else
		(void)frame_link_send(worker->link, frame, NULL,
				      0); /* a closed link reports itself */
}

static void on_verdict(const struct policy_verdict *verdict, void *arg)
{
	struct asked *asked = arg;
	struct worker *worker = asked->worker;
	uint64_t id = asked->node.number;
	struct frame frame;

	asked->is_allowed = verdict->action == POLICY_ALLOW;
	if (!asked->is_allowed) {
		keys_remove(&worker->asked, &asked->node);
		free(asked);
		send_verdict(worker, id, verdict);
		return;
	}
	asked->number = journal_await(worker->gw->journal);
	link_codec_put_verdict(&frame, id, verdict);
	send_of(asked, &frame);
}

static void on_cut(const struct policy_verdict *verdict, void *arg)
{
	const struct asked *asked = arg;
	struct frame frame;

	link_codec_put_cut(&frame, asked->node.number, verdict);
	send_of(asked, &frame);
}

static void on_lease(const struct gateway_lease *lease, void *arg)
{
	const struct asked *asked = arg;
	struct frame frame;

	link_codec_put_lease(&frame, asked->node.number, lease);
	send_of(asked, &frame);
}

/* The worker of a single exec may not name another. */
static bool worker_may_name(const struct worker *worker, uint64_t exec)
{
	return worker->exec == 0 || worker->exec == exec;
}

static int handle_submit(struct worker *worker, struct frame *frame)
{
	static const struct policy_verdict overloaded = {
		.action = POLICY_DENY,
		.reason = POLICY_OVERLOADED,
	};
	struct link_request room;
	struct policy_facts facts;
	uint64_t id;
	int r = link_codec_get_submit(frame, &id, &facts, &room);

	if (r < 0 || id <= worker->last_id || !worker_may_name(worker, facts.exec))
		return -EBADMSG;
	worker->last_id = id;
	if (worker->asked.count >= LINK_TICKETS_MAX) {
		send_verdict(worker, id, &overloaded);
		return 0;
	}
	struct asked *asked = mem_new(sizeof(*asked));

	asked->worker = worker;
	keys_add(&worker->asked, &asked->node, id, NULL);
	asked->ticket = gateway_submit(worker->client, &facts, on_verdict, asked);
	rings_asked(worker, id);
	return 0;
}

/* The worker has decided it by a rule that needs nobody else. Reports of earlier ones may still be
 * on the way. */
static int handle_let_go(struct worker *worker, struct frame *frame)
{
	struct link_request room;
	struct policy_facts facts;
	uint64_t id;
	int r = link_codec_get_submit(frame, &id, &facts, &room);

	if (r < 0 || id <= worker->last_let_go || keys_find(&worker->asked, id, NULL) ||
	    !worker_may_name(worker, facts.exec) || facts.plea ||
	    worker->asked.count >= (size_t)2 * LINK_TICKETS_MAX)
		return -EBADMSG;
	worker->last_let_go = id;
	struct asked *asked = mem_new(sizeof(*asked));

	asked->worker = worker;
	asked->is_allowed = true;
	keys_add(&worker->asked, &asked->node, id, NULL);
	asked->ticket = local_let_go(worker->client, &facts, asked);
	return 0;
}

static int handle_withdraw(struct worker *worker, struct frame *frame)
{
	uint64_t id;
	int r = link_codec_get_number(frame, &id);
	struct key_node *node = r < 0 ? NULL : keys_find(&worker->asked, id, NULL);

	if (r < 0 || (id > worker->last_id && id > worker->last_let_go))
		return -EBADMSG;
	if (!node)
		return 0; /* its verdict is on the way */
	struct asked *asked = container_of(node, struct asked, node);

	keys_remove(&worker->asked, node);
	gateway_withdraw(asked->ticket);
	free(asked);
	return 0;
}

static int handle_report(struct worker *worker, struct frame *frame)
{
	struct gateway_report report;
	uint64_t id;
	int r = link_codec_get_report(frame, &id, &report);
	struct key_node *node = r < 0 || id == 0 ? NULL : keys_find(&worker->asked, id, NULL);
	struct asked *asked = node ? container_of(node, struct asked, node) : NULL;

	/* A ticket is reported only once, and only if it was allowed. */
	if (r < 0 || (id != 0 && !asked) || (asked && !asked->is_allowed) ||
	    !worker_may_name(worker, report.facts.exec))
		return -EBADMSG;
	if (asked) {
		keys_remove(&worker->asked, node);
		report.ticket = asked->ticket;
		free(asked);
	}
	gateway_report(worker->client, &report);
	return 0;
}

/* A worker whose counts contradict ours cannot be the one that we started. */
static int handle_spent(struct worker *worker, struct frame *frame)
{
	struct gateway_spent spent;
	uint64_t id;
	int r = link_codec_get_spent(frame, &id, &spent);
	struct key_node *node = r < 0 ? NULL : keys_find(&worker->asked, id, NULL);
	struct asked *asked = node ? container_of(node, struct asked, node) : NULL;

	if (!asked || !asked->is_allowed)
		return -EBADMSG;
	return gateway_spend(asked->ticket, &spent);
}

/* The worker has no connection left, and ends when its link closes. The last one is reported. */
static void worker_drained(struct worker *worker)
{
	const struct gateway *gw = worker->gw;

	worker_free(worker, POLICY_GATE_CLOSING);
	if (LIST_EMPTY(&gw->workers))
		gw->finish.drained(gw->finish.drained_arg);
}

/* It was sent after everything else that the worker had to report. */
static int handle_finish(struct worker *worker, struct frame *frame)
{
	const struct gateway *gw = worker->gw;
	bool was_told = worker->was_told_to_finish || gw->finish.was_sent;
	uint64_t number;

	if (link_codec_get_number(frame, &number) < 0 || !(was_told || gw->finish.drained))
		return -EBADMSG;
	if (gw->finish.is_wanted || was_told)
		worker_gone(worker, false);
	else
		worker_drained(worker);
	return 0;
}

static int handle_hello(struct worker *worker, struct frame *frame)
{
	if (worker->has_said_hello || link_codec_get_hello(frame) < 0)
		return -EBADMSG;
	worker->has_said_hello = true;
	return 0;
}

static int handle_frame(struct worker *worker, struct frame *frame)
{
	if (frame->type == LINK_HELLO)
		return handle_hello(worker, frame);
	if (!worker->has_said_hello)
		return -EBADMSG;
	if (frame->type == LINK_SUBMIT)
		return handle_submit(worker, frame);
	if (frame->type == LINK_WITHDRAW)
		return handle_withdraw(worker, frame);
	if (frame->type == LINK_REPORT)
		return handle_report(worker, frame);
	if (frame->type == LINK_SPENT)
		return handle_spent(worker, frame);
	if (frame->type == LINK_FINISH)
		return handle_finish(worker, frame);
	return frame->type == LINK_RING ? 0 : -EBADMSG; /* the ring is read already */
}

int link_server_entry(struct worker *worker, struct frame *frame)
{
	if (frame->type == LINK_SUBMIT)
		return handle_let_go(worker, frame);
	return frame->type == LINK_REPORT ? handle_report(worker, frame) : -EBADMSG;
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct worker *worker = arg;

	fd_close_all(fds, count);
	/* What it wrote there was before this frame, and may be what the frame is about. */
	if (count == 0 && rings_read(worker) == 0 && handle_frame(worker, frame) == 0)
		return;
	link_server_break(worker);
}

void link_server_break(struct worker *worker)
{
	log_error("malformed frame from the proxy worker; closing its link");
	worker_gone(worker, true);
}

/* Takes @socket. *@ret: borrowed. */
static int worker_new(struct gateway *gw, int socket, struct worker **ret)
{
	struct worker *worker = mem_new(sizeof(*worker));
	struct frame frame;

	worker->gw = gw;
	keys_init(&worker->asked);
	STAILQ_INIT(&worker->held);
	worker->client = gateway_client_new(gw);
	gateway_client_on_cut(worker->client, on_cut);
	gateway_client_on_lease(worker->client, on_lease);
	worker->link = frame_link_new(gw->loop, socket, on_frame, on_closed, worker);
	LIST_INSERT_HEAD(&gw->workers, worker, entry);
	link_codec_put_hello(&frame);
	int r = frame_link_send(worker->link, &frame, NULL, 0);

	if (r < 0)
		worker_free(worker, POLICY_GATE_CLOSING);
	else
		*ret = worker;
	return r;
}

static struct worker *worker_of_exec(const struct gateway *gw, uint64_t exec)
{
	struct worker *worker;

	LIST_FOREACH (worker, &gw->workers, entry) {
		if (worker->exec == exec)
			return worker;
	}
	return NULL;
}

/* Otherwise the worker would judge addresses by the old policy. A frame that it cannot read ends
 * it. */
static void send_policy(struct worker *worker, int image)
{
	int own = fcntl(image, F_DUPFD_CLOEXEC, 3);
	struct frame frame;

	link_codec_put_number(&frame, LINK_POLICY, 0);
	(void)frame_link_send(worker->link, &frame, &own,
			      own < 0 ? 0 : 1); /* a closed link reports itself */
}

static int send_way(struct worker *worker, uint64_t exec, const int *fds, size_t count)
{
	struct frame frame;

	link_codec_put_number(&frame, LINK_OPEN, exec);
	return frame_link_send(worker->link, &frame, fds, count);
}

/* A worker before it had the listeners of these execs. */
static int send_kept_ways(struct worker *worker)
{
	const struct key_table *execs = &worker->gw->execs;
	int r = 0;

	for (size_t i = 0; i < execs->size; i++) {
		for (struct key_node *node = execs->buckets[i]; node && r == 0; node = node->next) {
			int fds[FD_PASS_MAX];
			size_t count;

			if (!worker_may_name(worker, node->number))
				continue;
			r = execs_kept_ways(container_of(node, struct gateway_exec, node), fds,
					    &count);
			if (r == 0 && count > 0)
				r = send_way(worker, node->number, fds, count);
		}
	}
	return r;
}

int gateway_serve(struct gateway *gw, int socket, unsigned int number, int image)
{
	struct worker *worker;
	int r = worker_new(gw, socket, &worker);

	if (r < 0)
		return r;
	worker->number = number;
	if (image >= 0)
		send_policy(worker, image);
	r = send_kept_ways(worker);
	if (r < 0)
		worker_free(worker, POLICY_GATE_CLOSING);
	return r;
}

int gateway_guest_serve(struct gateway *gw, const struct gateway_guest *guest, int socket)
{
	struct worker *worker;
	struct gateway_exec *exec = execs_find(gw, guest->exec);
	bool is_alone = exec && !worker_of_exec(gw, guest->exec);
	int r = is_alone ? worker_new(gw, socket, &worker) : -EINVAL;

	if (!is_alone)
		fd_close(socket);
	if (r < 0)
		return r;
	worker->exec = guest->exec;
	worker->trips = exec->trips ? take(exec->trips) : traffic_new();
	worker->client->trips = worker->trips;
	worker->on_gone = guest->on_gone;
	worker->arg = guest->arg;
	send_policy(worker, guest->image);
	r = send_kept_ways(worker);
	if (r < 0)
		worker_free(worker, POLICY_GATE_CLOSING);
	return r;
}

void gateway_guest_finish(struct gateway *gw, uint64_t exec)
{
	struct worker *worker = worker_of_exec(gw, exec);

	if (!worker || worker->must_finish)
		return;
	worker->must_finish = true;
	queue_schedule(gw);
}

void gateway_guest_drop(struct gateway *gw, uint64_t exec)
{
	struct worker *worker = worker_of_exec(gw, exec);

	if (worker)
		worker_free(worker, POLICY_GATE_CLOSING);
}

/* Even with several workers, the listeners of an exec belong to one, because each holder of a
 * listener can accept its connections. */
int gateway_open_way(struct gateway *gw, uint64_t exec, int *fds, size_t count)
{
	struct worker *own = worker_of_exec(gw, exec);
	struct worker *worker = own ? own : worker_of_exec(gw, 0);

	count = execs_watch(gw, exec, fds, count);
	int r = count == 0 || count > FD_PASS_MAX ? -EINVAL : execs_keep_ways(gw, exec, fds, count);

	if (r == 0 && worker)
		return send_way(worker, exec, fds, count);
	fd_close_all(fds, count);
	return r == 0 ? -EPIPE : r;
}

static void send_to_all(struct gateway *gw, enum link_type type, uint64_t number)
{
	struct worker *worker;
	struct frame frame;

	link_codec_put_number(&frame, type, number);
	LIST_FOREACH (worker, &gw->workers, entry) {
		if (type == LINK_CLOSE && !worker_may_name(worker, number))
			continue;
		(void)frame_link_send(worker->link, &frame, NULL,
				      0); /* a closed link reports itself */
	}
}

void gateway_drain(struct gateway *gw, gateway_drain_fn done, void *arg)
{
	gw->finish.drained = done;
	gw->finish.drained_arg = arg;
	send_to_all(gw, LINK_DRAIN, 0);
}

void link_server_policy(struct gateway *gw, int image)
{
	struct worker *worker;

	LIST_FOREACH (worker, &gw->workers, entry)
		send_policy(worker, image);
}

void link_server_note(struct gateway *gw, uint64_t exec, const char *text)
{
	struct worker *worker;
	struct frame frame;

	LIST_FOREACH (worker, &gw->workers, entry) {
		if (worker->exec != 0 && worker->exec != exec)
			continue;
		link_codec_put_note(&frame, exec, text);
		(void)frame_link_send(worker->link, &frame, NULL,
				      0); /* a closed link reports itself */
	}
}

void link_server_close_way(struct gateway *gw, uint64_t exec)
{
	gw->ended = mem_grow(gw->ended, gw->ended_count + 1, sizeof(*gw->ended));
	gw->ended[gw->ended_count++] = exec;
	queue_schedule(gw);
}

void gateway_finish(struct gateway *gw, int64_t wait_ms, void (*done)(void *arg), void *arg)
{
	gw->finish.is_wanted = true;
	gw->finish.done = done;
	gw->finish.arg = arg;
	loop_timer_start(gw->loop, &gw->finish.timer, wait_ms, finish_over, gw);
	queue_schedule(gw);
}

/* They are sent after the end of their execs. */
static void send_finish_to_guests(struct gateway *gw)
{
	struct worker *worker;
	struct frame frame;

	link_codec_put_number(&frame, LINK_FINISH, 0);
	LIST_FOREACH (worker, &gw->workers, entry) {
		if (!worker->must_finish || worker->was_told_to_finish)
			continue;
		worker->was_told_to_finish = true;
		(void)frame_link_send(worker->link, &frame, NULL,
				      0); /* a closed link reports itself */
	}
}

void link_server_stored(struct gateway *gw)
{
	struct worker *worker;

	LIST_FOREACH (worker, &gw->workers, entry)
		held_send(&worker->held, worker->link, journal_reached(gw->journal));
}

/* It was allowed, and its worker does not know that. */
static void worker_deny(struct worker *worker, uint64_t id)
{
	static const struct policy_verdict denied = {
		.action = POLICY_DENY,
		.reason = POLICY_AUDIT_FAILED,
	};
	struct key_node *node = keys_find(&worker->asked, id, NULL);

	if (!node)
		return; /* it was withdrawn */
	struct asked *asked = container_of(node, struct asked, node);

	keys_remove(&worker->asked, node);
	local_lose(asked->ticket, POLICY_AUDIT_FAILED, "its record may not be on the disk");
	free(asked);
	send_verdict(worker, id, &denied);
}

void link_server_deny_held(struct gateway *gw)
{
	struct worker *worker;
	struct held *held;

	LIST_FOREACH (worker, &gw->workers, entry) {
		while ((held = held_pop(&worker->held))) {
			if (held->type == LINK_VERDICT)
				worker_deny(worker, held->id);
			free(held);
		}
	}
}

void link_server_turn(struct gateway *gw)
{
	for (size_t i = 0; i < gw->ended_count; i++)
		send_to_all(gw, LINK_CLOSE, gw->ended[i]);
	gw->ended_count = 0;
	rings_turn(gw);
	send_finish_to_guests(gw);
	if (!gw->finish.is_wanted || gw->finish.was_sent)
		return;
	gw->finish.was_sent = true;
	for (size_t i = 0; i < gw->execs.size; i++) {
		for (struct key_node *node = gw->execs.buckets[i]; node; node = node->next)
			send_to_all(gw, LINK_CLOSE, node->number);
	}
	send_to_all(gw, LINK_FINISH, 0);
	finish_if_alone(gw);
}

void link_server_drop(struct gateway *gw, const struct gateway_client *client)
{
	struct worker *worker;

	LIST_FOREACH (worker, &gw->workers, entry) {
		if (worker->client == client) {
			worker_gone(worker, true);
			return;
		}
	}
}

void link_server_free_all(struct gateway *gw)
{
	while (!LIST_EMPTY(&gw->workers))
		worker_free(LIST_FIRST(&gw->workers), POLICY_GATE_CLOSING);
}

size_t link_server_count(const struct gateway *gw)
{
	const struct worker *worker;
	size_t count = 0;

	LIST_FOREACH (worker, &gw->workers, entry)
		count++;
	return count;
}
