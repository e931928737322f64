#include "gateway/decide/repeats.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gateway/execs/execs.h"
#include "gateway/audit/journal.h"
#include "gateway/decide/limit_record.h"
#include "gateway/decide/queue.h"

#define WINDOW_MS 1000

struct repeat {
	struct policy_facts facts; /* without its borrowed pointers */
	struct policy_verdict verdict;
	struct sink_times times;
};

/* For one exec, from its first denial on. */
struct repeats {
	uint64_t exec;
	int64_t since_ms;
	unsigned int recorded;
	uint64_t most;
	struct repeat *list; /* the last entry counts all denials that have no entry of their own */
	size_t count;
	LIST_ENTRY(repeats) entry;
};

static void repeats_write(struct gateway *gw, struct repeats *repeats)
{
	for (size_t i = 0; i < repeats->count; i++) {
		const struct repeat *repeat = &repeats->list[i];
		struct sink_record record = {
			.event = SINK_DECISION,
			.exec = repeats->exec,
			.facts = &repeat->facts,
			.verdict = &repeat->verdict,
			.reason = repeat->verdict.reason,
			.times = &repeat->times,
		};

		journal_stamp(gw->journal, &record);
		(void)journal_write_later(gw->journal, &record); /* the error is kept */
	}
	repeats->count = 0;
}

static void repeats_end(struct gateway *gw, struct repeats *repeats)
{
	repeats_write(gw, repeats);
	LIST_REMOVE(repeats, entry);
	free(repeats->list);
	free(repeats);
}

/* At the end of a second, writes what was counted and forgets that second's counts. */
static void repeats_tick(void *arg)
{
	struct gateway *gw = arg;
	int64_t now_ms = loop_now_ms(gw->loop);
	struct repeats *repeats, *next;

	for (repeats = LIST_FIRST(&gw->repeats.list); repeats; repeats = next) {
		next = LIST_NEXT(repeats, entry);
		if (now_ms - repeats->since_ms >= WINDOW_MS)
			repeats_end(gw, repeats);
	}
	queue_schedule(gw); /* commits the records */
	if (!LIST_EMPTY(&gw->repeats.list))
		loop_timer_start(gw->loop, &gw->repeats.timer, WINDOW_MS, repeats_tick, gw);
}

static struct repeats *repeats_of(struct gateway *gw, uint64_t exec)
{
	struct repeats *repeats;

	LIST_FOREACH (repeats, &gw->repeats.list, entry) {
		if (repeats->exec == exec)
			return repeats;
	}
	repeats = mem_new(sizeof(*repeats));
	repeats->exec = exec;
	repeats->most = policy_limit_held(gw->config.policy, POLICY_LIMIT_RECORDS);
	repeats->since_ms = loop_now_ms(gw->loop);
	LIST_INSERT_HEAD(&gw->repeats.list, repeats, entry);
	if (!gw->repeats.timer.is_armed)
		loop_timer_start(gw->loop, &gw->repeats.timer, WINDOW_MS, repeats_tick, gw);
	return repeats;
}

static struct repeat *repeats_find(struct repeats *repeats, const struct policy_facts *facts,
				   const struct policy_verdict *verdict)
{
	for (size_t i = 0; i < repeats->count; i++) {
		struct repeat *repeat = &repeats->list[i];

		if (i == REPEATS_EACH ||
		    (repeat->verdict.reason == verdict->reason &&
		     policy_destination_equal(&repeat->facts.dst, &facts->dst)))
			return repeat;
	}
	if (!repeats->list)
		repeats->list = mem_new_array(REPEATS_EACH + 1, sizeof(*repeats->list));
	struct repeat *repeat = &repeats->list[repeats->count++];

	*repeat =
		(struct repeat){ .verdict = { .action = POLICY_DENY, .reason = verdict->reason } };
	if (repeats->count <= REPEATS_EACH) {
		repeat->facts.dst = facts->dst;
		repeat->verdict = *verdict;
	}
	return repeat;
}

bool repeats_take(struct gateway *gw, const struct policy_facts *facts,
		  const struct policy_verdict *verdict)
{
	if (verdict->action == POLICY_ALLOW)
		return false;
	struct repeats *repeats = repeats_of(gw, facts->exec);

	if (repeats->recorded < repeats->most) {
		repeats->recorded++;
		return false;
	}
	struct repeat *repeat = repeats_find(repeats, facts, verdict);

	if (repeats->count == 1 && repeat->times.count == 0)
		limit_record_limit(gw, execs_find(gw, facts->exec), POLICY_LIMIT_RECORDS);
	repeat->times.last_us = loop_wall_us(gw->loop);
	if (repeat->times.count++ == 0)
		repeat->times.first_us = repeat->times.last_us;
	return true;
}

void repeats_exec_ended(struct gateway *gw, uint64_t exec)
{
	struct repeats *repeats, *next;

	for (repeats = LIST_FIRST(&gw->repeats.list); repeats; repeats = next) {
		next = LIST_NEXT(repeats, entry);
		if (repeats->exec == exec)
			repeats_end(gw, repeats);
	}
}

void repeats_done(struct gateway *gw)
{
	loop_timer_stop(&gw->repeats.timer);
	while (!LIST_EMPTY(&gw->repeats.list))
		repeats_end(gw, LIST_FIRST(&gw->repeats.list));
}
