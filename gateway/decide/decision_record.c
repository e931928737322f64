#include "gateway/decide/decision_record.h"

#include "gateway/audit/journal.h"
#include "gateway/decide/queue.h"
#include "gateway/decide/repeats.h"

struct sink_record decision_record(const struct gateway *gw, const struct waiter *waiter,
				   const struct policy_verdict *verdict)
{
	struct sink_record record = {
		.event = SINK_DECISION,
		.exec = waiter->facts.exec,
		.facts = &waiter->facts,
		.verdict = verdict,
		.reason = verdict->reason,
	};

	journal_stamp(gw->journal, &record);
	record.program = waiter->program; /* the exec owns it, and outlives it */
	record.duration_ms = (uint64_t)(record.mono_ms - waiter->since_ms);
	return record;
}

void decision_record_denial(struct gateway *gw, const struct waiter *waiter,
			    enum policy_reason reason)
{
	struct policy_verdict verdict = { .action = POLICY_DENY, .reason = reason };

	const struct sink_record record = decision_record(gw, waiter, &verdict);

	/* This verdict is sent to no client. A write error is kept, and later requests are
	 * denied. */
	if (!repeats_take(gw, &waiter->facts, &verdict))
		(void)journal_write_later(gw->journal, &record);
	queue_schedule(gw);
	traffic_count_verdict(&gw->trips, &waiter->facts, &verdict);
	traffic_count_verdict(waiter->ticket.client->trips, &waiter->facts, &verdict);
	traffic_note_denial(&gw->trips, &waiter->facts, record.program);
	traffic_note_denial(waiter->ticket.client->trips, &waiter->facts, record.program);
}
