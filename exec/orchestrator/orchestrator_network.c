#include "exec/orchestrator/orchestrator_network.h"

#include <errno.h>

#include "exec/orchestrator/attempt.h"
#include "exec/orchestrator/call.h"

int orchestrator_network_record(struct orchestrator *orchestrator, uint64_t number,
				const struct orchestrator_block *block)
{
	struct attempt *attempt = attempt_find(orchestrator, number);

	return attempt ? attempt_block(attempt, block) : -ENOENT;
}

int orchestrator_network_question(struct orchestrator *orchestrator, uint64_t number, bool is_open)
{
	struct attempt *attempt = attempt_find(orchestrator, number);

	if (!attempt)
		return -ENOENT;
	if (!attempt_is_live(attempt) || (!is_open && attempt->told_questions == 0))
		return -ESTALE;
	if (is_open) {
		attempt->told_questions++;
		attempt_hold_clock(attempt);
	} else {
		attempt->told_questions--;
		attempt_release_clock(attempt);
	}
	return 0;
}

int orchestrator_network_settle(struct orchestrator *orchestrator, uint64_t number,
				struct orchestrator_network_outcome *ret)
{
	struct attempt *attempt = attempt_find(orchestrator, number);

	if (!attempt)
		return -ENOENT;
	if (attempt->is_running)
		return -EBUSY;
	outcome_settle(&attempt->network);
	call_cancel_questions(orchestrator, number);
	*ret = attempt_outcome(attempt);
	return 0;
}

int orchestrator_network_look(const struct orchestrator *orchestrator, uint64_t number,
			      struct orchestrator_network_outcome *ret)
{
	const struct attempt *attempt = attempt_find(orchestrator, number);

	if (!attempt)
		return -ENOENT;
	*ret = attempt_outcome(attempt);
	return 0;
}

void orchestrator_network_forget(struct orchestrator *orchestrator, uint64_t number)
{
	struct attempt *attempt = attempt_find(orchestrator, number);

	if (!attempt || !attempt->is_deferred)
		return;
	attempt_free(attempt);
	call_cancel_questions(orchestrator, number);
}
