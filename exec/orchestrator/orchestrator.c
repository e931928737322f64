#include "exec/orchestrator/orchestrator.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/attempt.h"
#include "exec/orchestrator/call.h"
#include "exec/orchestrator/question.h"
#include "exec/orchestrator/request.h"

static int check_config(const struct orchestrator_config *config, struct err *why)
{
	const struct orchestrator_ops *ops = config->ops;

	if (!ops || !ops->ask || !ops->changed || !ops->retract || !ops->attempt || !ops->stop ||
	    !ops->pause || !ops->store || (config->decider_count > 0 && !ops->decide))
		return err_set(why, -EINVAL, "an operation is missing");
	if ((unsigned int)config->mode > ORCHESTRATOR_GRANULAR || config->question_ms < 0 ||
	    config->decider_count > ORCHESTRATOR_DECIDERS_MAX)
		return err_set(why, -EINVAL, "no such mode, time or number of deciders");
	for (size_t i = 0; i < config->decider_count; i++) {
		if (!config->deciders[i].name || config->deciders[i].timeout_ms < 0)
			return err_set(why, -EINVAL, "a decider needs a name and a time");
	}
	return 0;
}

struct orchestrator *orchestrator_new(struct loop *loop, const struct orchestrator_config *config,
				      struct err *why)
{
	if (check_config(config, why) < 0)
		return NULL;
	struct orchestrator *orchestrator = mem_new(sizeof(*orchestrator));

	orchestrator->loop = loop;
	orchestrator->config = *config;
	orchestrator->no_rules = command_rules_new();
	TAILQ_INIT(&orchestrator->calls);
	TAILQ_INIT(&orchestrator->attempts);
	TAILQ_INIT(&orchestrator->questions);
	approvals_init(&orchestrator->approvals);
	return orchestrator;
}

void orchestrator_free(struct orchestrator *orchestrator)
{
	struct question *question;
	struct attempt *attempt;
	struct call *call;

	if (!orchestrator)
		return;
	while ((question = TAILQ_FIRST(&orchestrator->questions)))
		question_free(question);
	while ((call = TAILQ_FIRST(&orchestrator->calls)))
		call_free(call);
	while ((attempt = TAILQ_FIRST(&orchestrator->attempts)))
		attempt_free(attempt);
	approvals_done(&orchestrator->approvals);
	command_rules_free(orchestrator->no_rules);
	free(orchestrator);
}

const struct command_rules *orchestrator_rules(const struct orchestrator *orchestrator)
{
	return orchestrator->config.rules ? orchestrator->config.rules : orchestrator->no_rules;
}

void orchestrator_set_rules(struct orchestrator *orchestrator, const struct command_rules *rules)
{
	orchestrator->config.rules = rules;
}

/* A question of an attempt is of one that is there, and of where that runs. */
static int check_attempt(const struct orchestrator *orchestrator,
			 const struct orchestrator_request *request, struct err *why)
{
	const struct attempt *attempt = attempt_find(orchestrator, request->attempt);

	if (request->attempt == 0)
		return 0;
	if (!attempt || !attempt_is_live(attempt))
		return err_set(why, -EINVAL, "the attempt that it is of is over");
	if (strcmp(attempt->environment, request->environment ? request->environment : "") != 0)
		return err_set(why, -EINVAL, "the attempt that it is of runs elsewhere");
	return 0;
}

int orchestrator_start(struct orchestrator *orchestrator,
		       const struct orchestrator_request *request, uint64_t *ret_call,
		       struct err *why)
{
	int r = request_check(request, why);

	if (r == 0)
		r = check_attempt(orchestrator, request, why);
	if (r < 0)
		return r;
	if (orchestrator->call_count >= ORCHESTRATOR_CALLS_MAX ||
	    orchestrator->attempt_count >= ORCHESTRATOR_CALLS_MAX)
		return err_set(why, -EBUSY, "%d requests are open: let some end first",
			       ORCHESTRATOR_CALLS_MAX);
	*ret_call = call_new(orchestrator, request)->number;
	return 0;
}

int orchestrator_cancel(struct orchestrator *orchestrator, uint64_t number)
{
	struct call *call = call_find(orchestrator, number);

	if (!call)
		return -ENOENT;
	call_cancel(call);
	return 0;
}

int orchestrator_answer(struct orchestrator *orchestrator, const char *id, uint64_t client,
			const struct orchestrator_answer *answer, struct err *why)
{
	return question_answer(orchestrator, id, client, answer, why);
}

int orchestrator_decide(struct orchestrator *orchestrator, const char *id,
			enum orchestrator_decision decision, const char *words, struct err *why)
{
	return question_answer_decider(orchestrator, id, decision, words, why);
}

size_t orchestrator_client_gone(struct orchestrator *orchestrator, uint64_t client)
{
	return question_answer_gone(orchestrator, client);
}

int orchestrator_attempt_ended(struct orchestrator *orchestrator, uint64_t number,
			       const struct orchestrator_outcome *outcome)
{
	const struct attempt *attempt = attempt_find(orchestrator, number);
	struct call *call = attempt ? call_find(orchestrator, attempt->call) : NULL;

	if (!call || !attempt->is_running)
		return -ENOENT;
	call_attempt_ended(call, outcome);
	return 0;
}

int orchestrator_stored(struct orchestrator *orchestrator, uint64_t number, int error)
{
	return question_stored(orchestrator, number, error);
}

bool orchestrator_is_breaker_open(const struct orchestrator *orchestrator, size_t decider)
{
	return decider < ORCHESTRATOR_DECIDERS_MAX && orchestrator->breakers[decider].is_open;
}

void orchestrator_close_breaker(struct orchestrator *orchestrator, size_t decider)
{
	if (decider < ORCHESTRATOR_DECIDERS_MAX)
		breaker_close(&orchestrator->breakers[decider]);
}

void orchestrator_approvals(const struct orchestrator *orchestrator,
			    void (*each)(const struct orchestrator_approval *approval, void *arg),
			    void *arg)
{
	const struct approvals_entry *entry;
	int64_t now_ms = loop_now_ms(orchestrator->loop);

	TAILQ_FOREACH (entry, &orchestrator->approvals.list, entry) {
		const struct orchestrator_approval shown = {
			.id = entry->id,
			.is_denial = entry->is_denial,
			.text = entry->key.text,
			.client = entry->client,
			.left_ms = entry->ends_ms > 0 ? entry->ends_ms - now_ms : -1,
		};

		if (entry->ends_ms == 0 || shown.left_ms > 0)
			each(&shown, arg);
	}
}

int orchestrator_revoke(struct orchestrator *orchestrator, const char *id)
{
	return approvals_revoke(&orchestrator->approvals, id);
}
