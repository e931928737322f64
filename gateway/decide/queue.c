#include "gateway/decide/queue.h"

#include "gateway/audit/journal.h"

void queue_schedule(struct gateway *gw)
{
	if (!gw->turn.is_armed)
		loop_defer(gw->loop, &gw->turn, gw->take_turn, gw);
}

void queue_add(struct waiter *waiter)
{
	TAILQ_INSERT_TAIL(&waiter->gw->queue, waiter, entry);
	waiter->is_queued = true;
	queue_schedule(waiter->gw);
}

int queue_write_down(struct gateway *gw, const struct sink_record *record)
{
	(void)journal_write(gw->journal, record); /* the error is kept, and checked at the commit */
	int r = journal_commit(gw->journal);

	if (r < 0)
		queue_schedule(gw); /* denies all waiting requests */
	return r;
}
