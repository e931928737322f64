#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/exec_record.h"
#include "exec/orchestrator/questions/question_impl.h"
#include "exec/orchestrator/setting.h"

#define DECIDER_MS 90000

/* NULL: a person. */
static const struct orchestrator_decider *decider_of(const struct question *question)
{
	const struct orchestrator_config *config = &question->setting->config;

	return question->next < config->decider_count ? &config->deciders[question->next] : NULL;
}

bool question_put_is_with_person(const struct question *question)
{
	return question->state == QUESTION_PUT && !decider_of(question);
}

static bool is_for(const struct question *question, const struct orchestrator_decider *decider,
		   enum orchestrator_kind kind)
{
	const struct breaker *breaker = &question->questions->breakers[question->next];

	if (!(decider->kinds & BIT(kind)))
		return false;
	return decider->is_reviewer ? !breaker->is_open : !question->ask.is_review;
}

/* A retry for nothing but destinations is a question about the network. */
static enum orchestrator_kind kind_of(const struct question *question)
{
	return question->is_retry && access_is_destinations(&question->accesses)
		       ? ORCHESTRATOR_NETWORK
		       : question->wanted.kind;
}

static bool has_number(const uint64_t *numbers, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (numbers[i] == number)
			return true;
	}
	return false;
}

/* The requests it is about: those that wait, or those whose execs it is about. Returned owned. */
static uint64_t *collect_calls(const struct question *question, size_t *ret_count)
{
	const struct request *request;
	size_t max = 0, count = 0;

	TAILQ_FOREACH (request, &question->waiting, waiting)
		max++;
	uint64_t *numbers = mem_new_array(max + 1, sizeof(*numbers));

	TAILQ_FOREACH (request, &question->waiting, waiting) {
		const struct exec_record *exec =
			exec_record_find(question->questions->execs, request->wanted.exec);
		bool is_of_it = exec && exec_record_is_live(exec);
		uint64_t number = is_of_it ? exec->request : request->number;

		if (!has_number(numbers, count, number))
			numbers[count++] = number;
	}
	*ret_count = count;
	return numbers;
}

/* Borrows @requests. */
static struct orchestrator_question show(const struct question *question, const uint64_t *requests,
					 size_t request_count)
{
	const struct orchestrator_request *wanted = &question->wanted;

	return (struct orchestrator_question){
		.id = question->id,
		.client = wanted->client,
		.kind = kind_of(question),
		.is_retry = question->is_retry,
		.is_one_shot = question->is_retry || question->ask.is_one_shot,
		.requests = requests,
		.request_count = request_count,
		.cwd = wanted->cwd,
		.argv = wanted->argv,
		.env = wanted->env,
		.keys = wanted->keys,
		.changes = wanted->changes,
		.program = question->program,
		.is_confined = question->ask.is_confined,
		.sandbox = question->sandbox,
		.accesses = question->accesses.list,
		.access_count = question->accesses.count,
		.choices = question->choices,
		.reason = question->reason,
		.justification = wanted->justification ? wanted->justification : "",
		.proposal = (const char *const *)question->proposal,
		.heard = question->heard,
		.deadline_ms = question->deadline_ms,
	};
}

void question_put_changed(const struct question *question)
{
	const struct orchestrator_config *config = &question->setting->config;
	size_t count;

	if (question->state != QUESTION_PUT)
		return;
	auto_free uint64_t *requests = collect_calls(question, &count);
	struct orchestrator_question shown = show(question, requests, count);

	config->ops->changed(&shown, config->arg);
}

/* A denial because no answer came, with a reason that fits the one asked. */
static void rule_silence(struct question *question, enum orchestrator_by by, const char *words)
{
	const struct orchestrator_decider *decider = decider_of(question);
	enum orchestrator_result_kind kind = ORCHESTRATOR_REJECTED_NO_ANSWER;

	if (decider)
		kind = decider->is_reviewer ? ORCHESTRATOR_REJECTED_REVIEWER_LATE
					    : ORCHESTRATOR_REJECTED_BY_HOOK;
	/* A reviewer was late, and no person answered instead. */
	if (!decider && question->is_reviewer_late)
		kind = ORCHESTRATOR_REJECTED_REVIEWER_LATE;
	auto_free char *text =
		mem_printf("%s%s%s", decider ? decider->name : "", decider ? ": " : "", words);

	(void)snprintf(question->by, sizeof(question->by), "%s", decider ? decider->name : "");
	question_rule(question, by, ORCHESTRATOR_DENY, kind, text);
}

static void on_deadline(void *arg)
{
	struct question *question = arg;
	const struct orchestrator_config *config = &question->setting->config;

	config->ops->retract(question->id, "the question was not answered in time", config->arg);
	rule_silence(question, ORCHESTRATOR_BY_TIMEOUT, "the question was not answered in time");
}

void question_put_next(struct question *question)
{
	const struct setting *setting = question->setting;
	const struct orchestrator_config *config = &setting->config;
	const struct orchestrator_decider *decider;
	enum orchestrator_kind kind = kind_of(question);
	int64_t ms = config->question_ms ? config->question_ms : ORCHESTRATOR_QUESTION_MS;
	size_t count;

	while ((decider = decider_of(question)) && !is_for(question, decider, kind))
		question->next++;
	if (approvals_new_id(question->id) < 0) {
		rule_silence(question, ORCHESTRATOR_BY_ABSENCE,
			     "the question has no id, because the kernel gave no random numbers");
		return;
	}
	if (decider)
		ms = decider->timeout_ms ? decider->timeout_ms : DECIDER_MS;
	question->state = QUESTION_PUT;
	question->deadline_ms = setting_now_ms(setting) + ms;
	loop_timer_start(setting->loop, &question->deadline, ms, on_deadline, question);
	auto_free uint64_t *requests = collect_calls(question, &count);
	struct orchestrator_question shown = show(question, requests, count);
	int r = decider ? config->ops->decide(question->next, &shown, config->arg)
			: config->ops->ask(&shown, config->arg);

	if (r != 0)
		rule_silence(question, ORCHESTRATOR_BY_ABSENCE,
			     decider ? "the question could not be put to the program that decides"
				     : "no approver is connected to answer");
}
