#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/attempt.h"
#include "exec/orchestrator/call.h"
#include "exec/orchestrator/question_impl.h"

#define DECIDER_MS 90000

/* NULL: a person. */
static const struct orchestrator_decider *decider_of(const struct question *question)
{
	const struct orchestrator_config *config = &question->orchestrator->config;

	return question->next < config->decider_count ? &config->deciders[question->next] : NULL;
}

bool question_put_is_with_person(const struct question *question)
{
	return question->state == QUESTION_PUT && !decider_of(question);
}

static bool is_for(const struct question *question, const struct orchestrator_decider *decider,
		   enum orchestrator_kind kind)
{
	const struct breaker *breaker = &question->orchestrator->breakers[question->next];

	if (!(decider->kinds & BIT(kind)))
		return false;
	return decider->is_reviewer ? !breaker->is_open : !question->ask.is_review;
}

/* A retry for nothing but destinations is a question about the network. */
static enum orchestrator_kind kind_of(const struct question *question)
{
	return question->is_retry && access_is_destinations(&question->accesses)
		       ? ORCHESTRATOR_NETWORK
		       : question->request.kind;
}

static bool has_number(const uint64_t *numbers, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (numbers[i] == number)
			return true;
	}
	return false;
}

/* The calls it is asked for: those that wait, or those whose attempts it is of. Returned owned. */
static uint64_t *collect_calls(const struct question *question, size_t *ret_count)
{
	const struct orchestrator *orchestrator = question->orchestrator;
	uint64_t *numbers = mem_new_array(
		orchestrator->call_count + orchestrator->attempt_count + 1, sizeof(*numbers));
	const struct call *call;
	size_t count = 0;

	TAILQ_FOREACH (call, &question->waiting, waiting) {
		const struct attempt *attempt;
		bool is_of_any = false;

		TAILQ_FOREACH (attempt, &orchestrator->attempts, entry) {
			if (!call_may_be_of(call, attempt))
				continue;
			is_of_any = true;
			if (!has_number(numbers, count, attempt->call))
				numbers[count++] = attempt->call;
		}
		if (!is_of_any)
			numbers[count++] = call->number;
	}
	*ret_count = count;
	return numbers;
}

/* Borrows @calls. */
static struct orchestrator_question show(const struct question *question, const uint64_t *calls,
					 size_t call_count)
{
	const struct orchestrator_request *request = &question->request;

	return (struct orchestrator_question){
		.id = question->id,
		.client = request->client,
		.kind = kind_of(question),
		.is_retry = question->is_retry,
		.is_one_shot = question->is_retry || question->ask.is_one_shot,
		.calls = calls,
		.call_count = call_count,
		.environment = request->environment,
		.cwd = request->cwd,
		.argv = request->argv,
		.env = request->env,
		.keys = request->keys,
		.program = question->program,
		.is_confined = question->ask.is_confined,
		.sandbox = question->sandbox,
		.accesses = question->accesses.list,
		.access_count = question->accesses.count,
		.choices = question->choices,
		.reason = question->reason,
		.justification = request->justification ? request->justification : "",
		.proposal = (const char *const *)question->proposal,
		.heard = question->heard,
		.deadline_ms = question->deadline_ms,
	};
}

void question_put_changed(const struct question *question)
{
	const struct orchestrator_config *config = &question->orchestrator->config;
	size_t count;

	if (question->state != QUESTION_PUT)
		return;
	auto_free uint64_t *calls = collect_calls(question, &count);
	struct orchestrator_question shown = show(question, calls, count);

	config->ops->changed(&shown, config->arg);
}

/* Silence, in the words of who kept it. */
static void rule_silence(struct question *question, const char *words)
{
	const struct orchestrator_decider *decider = decider_of(question);
	enum orchestrator_result_kind kind = ORCHESTRATOR_REJECTED_NO_ANSWER;

	if (decider)
		kind = decider->is_reviewer ? ORCHESTRATOR_REJECTED_REVIEWER_LATE
					    : ORCHESTRATOR_REJECTED_BY_HOOK;
	/* Nobody spoke for it in its place. */
	if (!decider && question->is_reviewer_late)
		kind = ORCHESTRATOR_REJECTED_REVIEWER_LATE;
	auto_free char *text =
		mem_printf("%s%s%s", decider ? decider->name : "", decider ? ": " : "", words);

	question_rule(question, ORCHESTRATOR_DENY, kind, text);
}

static void on_deadline(void *arg)
{
	struct question *question = arg;
	const struct orchestrator_config *config = &question->orchestrator->config;

	config->ops->retract(question->id, "not answered in time", config->arg);
	rule_silence(question, "not answered in time");
}

void question_put_next(struct question *question)
{
	struct orchestrator *orchestrator = question->orchestrator;
	const struct orchestrator_config *config = &orchestrator->config;
	const struct orchestrator_decider *decider;
	enum orchestrator_kind kind = kind_of(question);
	int64_t ms = config->question_ms ? config->question_ms : ORCHESTRATOR_QUESTION_MS;
	size_t count;

	while ((decider = decider_of(question)) && !is_for(question, decider, kind))
		question->next++;
	if (approvals_new_id(question->id) < 0) {
		rule_silence(question, "no random numbers for an id");
		return;
	}
	if (decider)
		ms = decider->timeout_ms ? decider->timeout_ms : DECIDER_MS;
	question->state = QUESTION_PUT;
	question->deadline_ms = loop_now_ms(orchestrator->loop) + ms;
	loop_timer_start(orchestrator->loop, &question->deadline, ms, on_deadline, question);
	auto_free uint64_t *calls = collect_calls(question, &count);
	struct orchestrator_question shown = show(question, calls, count);
	int r = decider ? config->ops->decide(question->next, &shown, config->arg)
			: config->ops->ask(&shown, config->arg);

	if (r != 0)
		rule_silence(question, decider ? "could not be asked" : "nobody is there to ask");
}
