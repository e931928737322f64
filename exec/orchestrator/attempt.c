#include "exec/orchestrator/attempt.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Tells what it has not been told, while it runs. */
static void tell(void *arg)
{
	struct attempt *attempt = arg;
	const struct orchestrator_config *config = &attempt->orchestrator->config;

	if (!attempt_is_live(attempt))
		return;
	if (attempt->is_told_paused != (attempt->pauses > 0)) {
		attempt->is_told_paused = attempt->pauses > 0;
		config->ops->pause(attempt->number, attempt->is_told_paused, config->arg);
	}
	if (attempt->wants_stop && !attempt->is_told_stop) {
		attempt->is_told_stop = true;
		config->ops->stop(attempt->number, attempt->stop_why, config->arg);
	}
}

static void wake(struct attempt *attempt)
{
	loop_defer(attempt->orchestrator->loop, &attempt->task, tell, attempt);
}

struct attempt *attempt_new(struct call *call)
{
	struct orchestrator *orchestrator = call->orchestrator;
	struct attempt *attempt = mem_new(sizeof(*attempt));

	attempt->orchestrator = orchestrator;
	attempt->number = ++orchestrator->next_number;
	attempt->call = call->number;
	attempt->environment = mem_strdup(call->request.environment);
	attempt->on_denial = call->request.on_denial;
	attempt->is_running = true;
	TAILQ_INSERT_TAIL(&orchestrator->attempts, attempt, entry);
	orchestrator->attempt_count++;
	return attempt;
}

struct attempt *attempt_find(const struct orchestrator *orchestrator, uint64_t number)
{
	struct attempt *attempt;

	TAILQ_FOREACH (attempt, &orchestrator->attempts, entry) {
		if (attempt->number == number)
			return attempt;
	}
	return NULL;
}

void attempt_free(struct attempt *attempt)
{
	struct orchestrator *orchestrator = attempt->orchestrator;

	TAILQ_REMOVE(&orchestrator->attempts, attempt, entry);
	orchestrator->attempt_count--;
	loop_timer_stop(&attempt->task);
	outcome_done(&attempt->network);
	free(attempt->environment);
	free(attempt);
}

bool attempt_is_live(const struct attempt *attempt)
{
	return !attempt->network.is_settled && (attempt->is_running || attempt->is_deferred);
}

void attempt_hold_clock(struct attempt *attempt)
{
	attempt->pauses++;
	wake(attempt);
}

void attempt_release_clock(struct attempt *attempt)
{
	assert(attempt->pauses > 0);
	attempt->pauses--;
	wake(attempt);
}

void attempt_stop(struct attempt *attempt, const char *why)
{
	if (attempt->wants_stop)
		return;
	attempt->wants_stop = true;
	(void)snprintf(attempt->stop_why, sizeof(attempt->stop_why), "%s", why);
	wake(attempt);
}

int attempt_block(struct attempt *attempt, const struct orchestrator_block *block)
{
	int r = outcome_add(&attempt->network, block);

	if (r == 0 && attempt->on_denial == ORCHESTRATOR_STOP)
		attempt_stop(attempt, attempt->network.text);
	return r;
}

struct orchestrator_network_outcome attempt_outcome(const struct attempt *attempt)
{
	struct orchestrator_network_outcome outcome = outcome_look(&attempt->network);

	outcome.is_denial = attempt->on_denial != ORCHESTRATOR_REPORT &&
			    outcome.kind != ORCHESTRATOR_NETWORK_NOTHING;
	return outcome;
}
