#include "gateway/execs/lookups.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/execs/execs.h"
#include "gateway/decide/queue.h"

/* The lookups of one exec. */
struct lookup {
	struct gateway *gw;
	struct gateway_exec *exec;
	struct socket_owner_wants asked; /* for the next scan */
	unsigned int noted;              /* of them: waiters that do not wait for the result */
	bool is_awaited;                 /* the others */
	struct socket_owner_scan *scan;  /* NULL: none is running */
	bool is_read;                    /* its results are being delivered */
	bool is_busy;                    /* it has something to do now */
	int64_t since_ms;
	int64_t paid_ms;           /* each part of the work so far moves it on */
	struct loop_timer pause;   /* if nobody waits, the next scan begins after it */
	TAILQ_ENTRY(lookup) entry; /* while it is busy */
};

static void lookups_turn(void *arg);

void lookups_init(struct gateway *gw, void (*on_known)(struct waiter *waiter))
{
	gw->lookups.on_known = on_known;
	TAILQ_INIT(&gw->lookups.busy);
}

static struct gateway_exec *lookups_exec(const struct waiter *waiter)
{
	struct gateway_exec *exec = execs_find(waiter->gw, waiter->facts.exec);

	return exec && exec->who && waiter->facts.peer_port != 0 ? exec : NULL;
}

static struct lookup *lookup_of(struct gateway *gw, struct gateway_exec *exec)
{
	if (!exec->lookup) {
		exec->lookup = mem_new(sizeof(*exec->lookup));
		exec->lookup->gw = gw;
		exec->lookup->exec = exec;
		TAILQ_INIT(&exec->lookup->asked);
	}
	return exec->lookup;
}

static void lookup_set_busy(struct lookup *lookup)
{
	struct lookup_queue *busy = &lookup->gw->lookups.busy;
	bool is_busy = lookup->scan || lookup->is_awaited ||
		       (lookup->noted > 0 && !lookup->pause.is_armed);

	if (lookup->is_busy && !is_busy)
		TAILQ_REMOVE(busy, lookup, entry);
	if (!lookup->is_busy && is_busy)
		TAILQ_INSERT_TAIL(busy, lookup, entry);
	lookup->is_busy = is_busy;
}

static void lookup_schedule(void *arg)
{
	struct lookup *lookup = arg;
	struct gateway *gw = lookup->gw;

	lookup_set_busy(lookup);
	if (lookup->is_busy && !gw->lookups.task.is_armed)
		loop_defer(gw->loop, &gw->lookups.task, lookups_turn, gw);
}

static void lookup_add(struct lookup *lookup, struct waiter *waiter)
{
	const struct policy_facts *facts = &waiter->facts;
	bool is_socks = facts->way == POLICY_WAY_SOCKS5;

	waiter->lookup = lookup;
	waiter->want = (struct socket_owner_want){ .peer_port = facts->peer_port,
						   .port = lookup->exec->ports[is_socks ? 1 : 0],
						   .reached = facts->reached };
	if (facts->reached.family != 0)
		waiter->want.port = facts->dst.port;
	TAILQ_INSERT_TAIL(&lookup->asked, &waiter->want, entry);
	lookup->noted++;
}

static bool lookup_is_noted(const struct waiter *waiter)
{
	return waiter->lookup && !waiter->want.home && !waiter->is_looked_for;
}

bool lookups_start(struct waiter *waiter)
{
	struct gateway_exec *exec = lookups_exec(waiter);

	if (!waiter->lookup && (waiter->was_looked_up || !exec))
		return false;
	if (!waiter->lookup)
		lookup_add(lookup_of(waiter->gw, exec), waiter);
	if (lookup_is_noted(waiter)) {
		waiter->lookup->noted--;
		waiter->lookup->is_awaited = true;
	}
	waiter->is_looked_for = true;
	lookup_schedule(waiter->lookup);
	return true;
}

void lookups_note(struct waiter *waiter)
{
	struct gateway_exec *exec = lookups_exec(waiter);

	if (waiter->lookup || waiter->was_looked_up || !exec)
		return;
	struct lookup *lookup = lookup_of(waiter->gw, exec);

	if (lookup->noted == LOOKUPS_NOTED_MAX)
		return;
	lookup_add(lookup, waiter);
	lookup_schedule(lookup);
}

bool lookups_ask(struct waiter *waiter)
{
	const struct gateway *gw = waiter->gw;

	return (gw->grants.wants_program || gw->wants_program) && lookups_start(waiter);
}

void lookups_remove(struct waiter *waiter)
{
	struct lookup *lookup = waiter->lookup;

	if (!lookup)
		return;
	if (waiter->want.home) {
		socket_owner_scan_remove(lookup->scan, &waiter->want);
	} else {
		lookup->noted -= lookup_is_noted(waiter);
		TAILQ_REMOVE(&lookup->asked, &waiter->want, entry);
		lookup->is_awaited &= !TAILQ_EMPTY(&lookup->asked);
	}
	waiter->lookup = NULL;
	lookup_set_busy(lookup);
}

/* A program that is only noted and was not found may be searched again. */
static void lookups_give_back(struct waiter *waiter)
{
	bool was_looked_for = waiter->is_looked_for;

	waiter->lookup = NULL;
	waiter->is_looked_for = false;
	waiter->was_looked_up = was_looked_for || waiter->program;
	if (was_looked_for)
		waiter->gw->lookups.on_known(waiter);
}

static void lookup_begin(struct lookup *lookup, int64_t now_ms)
{
	struct socket_owner_want *want;

	lookup->scan = socket_owner_scan_new(lookup->exec->who);
	lookup->is_read = false;
	lookup->since_ms = now_ms;
	while ((want = TAILQ_FIRST(&lookup->asked))) {
		TAILQ_REMOVE(&lookup->asked, want, entry);
		socket_owner_scan_add(lookup->scan, want);
	}
	lookup->noted = 0;
	lookup->is_awaited = false;
}

static void lookup_hand_out(struct gateway *gw, struct lookup *lookup)
{
	struct socket_owner_found found;
	struct socket_owner_want *want = NULL;
	int r;

	for (unsigned int i = 0; i < LOOKUPS_WORK / 8; i++) {
		want = socket_owner_scan_take(lookup->scan, &found, &r);
		if (!want)
			break;
		struct waiter *waiter = container_of(want, struct waiter, want);

		if (r == 0) {
			waiter->program = execs_intern(lookup->exec, found.program);
			waiter->program_file = found.file;
			waiter->program_pid = found.pid;
		}
		lookups_give_back(waiter);
	}
	if (want)
		return;
	socket_owner_scan_free(take(lookup->scan));
	int64_t pause_ms = lookup->paid_ms - loop_now_ms(gw->loop) - LOOKUPS_BURST_MS;

	if (pause_ms > 0)
		loop_timer_start(gw->loop, &lookup->pause, pause_ms, lookup_schedule, lookup);
	lookup_set_busy(lookup);
}

static void lookup_pay(struct lookup *lookup, int64_t now_ms)
{
	if (lookup->paid_ms < now_ms)
		lookup->paid_ms = now_ms;
	lookup->paid_ms += LOOKUPS_PART_MS;
}

/* Does one part of the work for the exec whose turn it is. */
static void lookups_turn(void *arg)
{
	struct gateway *gw = arg;
	struct lookup *lookup = TAILQ_FIRST(&gw->lookups.busy);

	if (!lookup)
		return;
	TAILQ_REMOVE(&gw->lookups.busy, lookup, entry);
	TAILQ_INSERT_TAIL(&gw->lookups.busy, lookup, entry);
	lookup_pay(lookup, loop_now_ms(gw->loop));
	if (!lookup->scan)
		lookup_begin(lookup, loop_now_ms(gw->loop));
	if (lookup->is_read)
		lookup_hand_out(gw, lookup);
	else
		lookup->is_read = !socket_owner_scan_step(lookup->scan, LOOKUPS_WORK) ||
				  loop_now_ms(gw->loop) - lookup->since_ms > LOOKUPS_SCAN_MS;
	/* Not loop_defer(): one part in each turn of the loop. */
	if (!TAILQ_EMPTY(&gw->lookups.busy) && !gw->lookups.task.is_armed)
		loop_timer_start(gw->loop, &gw->lookups.task, 0, lookups_turn, gw);
}

void lookups_exec_ended(struct gateway *gw, struct gateway_exec *exec)
{
	struct lookup *lookup = take(exec->lookup);
	struct socket_owner_found found;
	struct socket_owner_want *want;
	int r;

	if (!lookup)
		return;
	if (lookup->is_busy)
		TAILQ_REMOVE(&gw->lookups.busy, lookup, entry);
	loop_timer_stop(&lookup->pause);
	while (lookup->scan && (want = socket_owner_scan_take(lookup->scan, &found, &r)))
		TAILQ_INSERT_TAIL(&lookup->asked, want, entry);
	socket_owner_scan_free(lookup->scan);
	TAILQ_FOREACH (want, &lookup->asked, entry) {
		struct waiter *waiter = container_of(want, struct waiter, want);

		waiter->lookup = NULL;
		if (!waiter->pass && !waiter->party && !waiter->is_queued)
			queue_add(waiter);
	}
	free(lookup);
}

void lookups_chain(const struct waiter *waiter, char out[SOCKET_OWNER_CHAIN_MAX])
{
	const struct gateway_exec *exec = lookups_exec(waiter);

	out[0] = '\0';
	if (exec && waiter->program_pid > 0)
		socket_owner_chain(exec->who, waiter->program_pid, out);
}

void lookups_done(struct gateway *gw)
{
	loop_timer_stop(&gw->lookups.task);
}
