#include "gateway/link/rings.h"

#include <unistd.h>

#include "base/mem.h"
#include "gateway/audit/journal.h"
#include "gateway/link/link_impl.h"
#include "gateway/link/ring.h"
#include "gateway/link/worker_impl.h"
#include "policies/policies_gate.h"

#define RINGS_FROM 32 /* requests of a worker: a short run needs no file */

/* 0: the gateway decides everything. */
static uint64_t rings_number(const struct gateway *gw)
{
	return gw->may_let_go && !journal_has_failed(gw->journal) ? gw->ring_number : 0;
}

void rings_policy(struct gateway *gw)
{
	const struct policy *policy = gw->config.policy;

	gw->ring_number++;
	gw->wants_program = gw->config.counts_egress || policy_wants_program(policy);
	gw->may_let_go = gw->config.audit_path && !gw->wants_program &&
			 !policy_wants_asker(policy) && !policy_is_durable(policy);
}

void rings_asked(struct worker *worker, uint64_t id)
{
	const struct gateway *gw = worker->gw;
	struct frame frame;
	int fd;

	if (worker->has_tried_ring || id < RINGS_FROM || rings_number(gw) == 0)
		return;
	auto_free char *name = mem_printf("ring.%s.%d.%llu", gw->config.run, (int)getpid(),
					  (unsigned long long)++worker->gw->last_ring);

	worker->has_tried_ring = true;
	worker->ring = ring_new(gw->config.audit_dir, name, &fd);
	if (!worker->ring)
		return;                                      /* the gateway decides, as before */
	link_codec_put_number(&frame, LINK_RING, 0);         /* the next turn tells the number */
	(void)frame_link_send(worker->link, &frame, &fd, 1); /* a closed link reports itself */
}

static int on_entry(struct frame *frame, int64_t wall_us, void *arg)
{
	return link_server_entry(arg, frame);
}

int rings_read(struct worker *worker)
{
	return worker->ring ? ring_read(worker->ring, on_entry, worker) : 0;
}

void rings_end(struct worker *worker)
{
	if (!worker->ring)
		return;
	(void)ring_set(worker->ring, 0); /* what it writes from now on takes no effect */
	bool is_malformed = !worker->client->is_gone && rings_read(worker) < 0;

	bool is_stored = journal_commit(worker->gw->journal) == 0;

	ring_free(worker->ring, is_malformed || is_stored);
	worker->ring = NULL;
	loop_timer_stop(&worker->breaking);
}

static void on_broken(void *arg)
{
	link_server_break(arg);
}

void rings_hold(struct gateway *gw)
{
	struct worker *worker;

	gw->ring_number++;
	LIST_FOREACH (worker, &gw->workers, entry) {
		if (!worker->ring)
			continue;
		int r = ring_set(worker->ring, 0);

		if (rings_read(worker) < 0 || r < 0) /* not in this call: it may free the gateway */
			loop_defer(gw->loop, &worker->breaking, on_broken, worker);
	}
}

/* It follows what the worker must know first: the policy, or that an exec has ended. */
static void rings_tell(struct worker *worker, uint64_t number)
{
	struct frame frame;

	if (number == 0 || worker->told_ring == number)
		return;
	worker->told_ring = number;
	link_codec_put_number(&frame, LINK_RING, number);
	(void)frame_link_send(worker->link, &frame, NULL, 0); /* a closed link reports itself */
}

void rings_turn(struct gateway *gw)
{
	struct worker *worker;

	LIST_FOREACH (worker, &gw->workers, entry) {
		if (!worker->ring)
			continue;
		if (journal_commit(gw->journal) == 0)
			ring_keep(worker->ring);
		uint64_t number = rings_number(gw); /* the log may have failed just now */

		rings_tell(worker, number);
		(void)ring_set(worker->ring, number); /* otherwise the next turn does it */
	}
}
