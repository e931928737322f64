#include "exec/orchestrator/question.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/attempt.h"
#include "exec/orchestrator/call.h"
#include "exec/orchestrator/question_impl.h"
#include "exec/orchestrator/request.h"

#define STORE_MS 10000

void question_free(struct question *question)
{
	TAILQ_REMOVE(&question->orchestrator->questions, question, entry);
	loop_timer_stop(&question->task);
	loop_timer_stop(&question->deadline);
	request_drop(&question->request);
	access_done(&question->accesses);
	exec_sandbox_free(question->sandbox);
	mem_free_list(question->proposal);
	free(question->reason);
	key_free(&question->keys);
	free(question);
}

/* The clocks of the attempts that @call's question is of stand still. */
static void hold_clocks(struct call *call)
{
	const struct orchestrator *orchestrator = call->orchestrator;
	struct attempt *attempt;

	call->paused = mem_new_array(orchestrator->attempt_count + 1, sizeof(*call->paused));
	TAILQ_FOREACH (attempt, &orchestrator->attempts, entry) {
		if (!call_may_be_of(call, attempt))
			continue;
		attempt_hold_clock(attempt);
		call->paused[call->paused_count++] = attempt->number;
	}
}

static void release_clocks(struct call *call)
{
	for (size_t i = 0; i < call->paused_count; i++) {
		struct attempt *attempt = attempt_find(call->orchestrator, call->paused[i]);

		if (attempt)
			attempt_release_clock(attempt);
	}
	free(take(call->paused));
	call->paused_count = 0;
}

static void leave(struct call *call)
{
	TAILQ_REMOVE(&call->question->waiting, call, waiting);
	call->question = NULL;
	release_clocks(call);
}

void question_leave(struct call *call, const char *why)
{
	struct question *question = call->question;
	const struct orchestrator_config *config = &call->orchestrator->config;

	leave(call);
	if (!TAILQ_EMPTY(&question->waiting)) {
		question_put_changed(question);
		return;
	}
	/* What is being written is known when it is written. */
	if (question->state == QUESTION_STORING || question->state == QUESTION_STORED)
		return;
	if (question->state == QUESTION_PUT)
		config->ops->retract(question->id, why, config->arg);
	question_free(question);
}

void question_rule(struct question *question, enum orchestrator_choice choice,
		   enum orchestrator_result_kind rejected, const char *words)
{
	struct ruling *ruling = &question->ruling;

	*ruling = (struct ruling){ .choice = choice, .rejected = rejected };
	(void)snprintf(ruling->words, sizeof(ruling->words), "%s", words ? words : "");
	question->state = QUESTION_RULED;
	loop_timer_stop(&question->deadline);
	question_wake(question);
}

/* Whoever waits goes on. */
static void release_all(struct question *question)
{
	struct call *call;

	while ((call = TAILQ_FIRST(&question->waiting))) {
		leave(call);
		call_ruled(call, &question->ruling);
	}
	question_free(question);
}

static bool is_approval(enum orchestrator_choice choice)
{
	return choice != ORCHESTRATOR_DENY && choice != ORCHESTRATOR_ABORT &&
	       choice != ORCHESTRATOR_DENY_ALWAYS;
}

static void note(struct question *question, const char *text)
{
	(void)snprintf(question->ruling.note, sizeof(question->ruling.note), "%s", text);
}

/* Every key by itself, so that any part of it is known later. */
static void remember(struct question *question, bool is_denial)
{
	struct orchestrator *orchestrator = question->orchestrator;
	int64_t now_ms = loop_now_ms(orchestrator->loop);
	struct approvals_new add = { .is_denial = is_denial, .client = question->request.client };

	if (question->expires_ms > 0 && !is_denial)
		add.ends_ms = now_ms + question->expires_ms;
	for (size_t i = 0; i < question->keys.count; i++) {
		add.key = &question->keys.list[i];
		if (!approvals_add(&orchestrator->approvals, &add, now_ms))
			note(question, "not remembered: too much is");
	}
}

static void store_failed(void *arg)
{
	struct question *question = arg;

	question->store_error = -ETIMEDOUT;
	question->state = QUESTION_STORED;
	question_wake(question);
}

static char **denial_lines(const struct question *question)
{
	const struct access_list *accesses = &question->accesses;
	char **lines = mem_new_array(accesses->count + 1, sizeof(*lines));
	size_t count = 0;

	for (size_t i = 0; i < accesses->count; i++) {
		lines[count] = access_line(&accesses->list[i], true);
		count += lines[count] != NULL;
	}
	return lines;
}

static void store(struct question *question)
{
	struct orchestrator *orchestrator = question->orchestrator;
	const struct orchestrator_config *config = &orchestrator->config;
	bool is_denial = question->ruling.choice == ORCHESTRATOR_DENY_ALWAYS;
	auto_free_list char **denials = is_denial ? denial_lines(question) : NULL;
	char *one[] = { question->chosen ? question->proposal[question->chosen - 1] : NULL, NULL };
	char **lines = is_denial ? denials : question->chosen ? one : question->proposal;

	question->state = QUESTION_STORING;
	question->store = ++orchestrator->next_number;
	loop_timer_start(orchestrator->loop, &question->deadline, STORE_MS, store_failed, question);
	int r = config->ops->store(question->store, (const char *const *)lines, config->arg);

	if (r != 0)
		(void)question_stored(orchestrator, question->store, r);
}

/* A denial that came meanwhile holds. */
static bool is_denied_meanwhile(struct question *question)
{
	struct orchestrator *orchestrator = question->orchestrator;

	return approvals_look_all(&orchestrator->approvals, &question->keys,
				  loop_now_ms(orchestrator->loop)) == APPROVALS_DENIED;
}

static void conclude(struct question *question)
{
	struct ruling *ruling = &question->ruling;

	/* An "always" takes back what was denied for the session; nothing less does. */
	if (is_approval(ruling->choice) && ruling->choice != ORCHESTRATOR_ALWAYS &&
	    is_denied_meanwhile(question)) {
		*ruling = (struct ruling){ .choice = ORCHESTRATOR_DENY,
					   .rejected = ORCHESTRATOR_REJECTED_BY_PERSON };
		(void)snprintf(ruling->words, sizeof(ruling->words),
			       "denied for this session meanwhile");
	}
	if (ruling->choice == ORCHESTRATOR_SESSION) {
		remember(question, false);
		ruling->is_for_session = true;
	}
	if (ruling->choice == ORCHESTRATOR_DENY_ALWAYS)
		remember(question, true);
	if (ruling->choice == ORCHESTRATOR_ALWAYS || ruling->choice == ORCHESTRATOR_DENY_ALWAYS)
		store(question);
	else
		release_all(question);
}

static void conclude_stored(struct question *question)
{
	struct ruling *ruling = &question->ruling;
	bool is_allow = ruling->choice == ORCHESTRATOR_ALWAYS;

	if (question->store_error != 0) {
		note(question, is_allow ? "allowed once: the policy could not be written"
					: "denied for this session: the policy could not be "
					  "written");
	} else if (is_allow && !question->chosen) { /* a part of it is for no longer than it says */
		ruling->is_for_session = true;
		/* A command's line is a rule now; a destination's is the gate's, later. */
		if (question->is_retry || question->request.kind == ORCHESTRATOR_NETWORK)
			remember(question, false);
	}
	release_all(question);
}

static void run(void *arg)
{
	struct question *question = arg;

	switch (question->state) {
	case QUESTION_NEW:
		question_put_next(question);
		return;
	case QUESTION_RULED:
		conclude(question);
		return;
	case QUESTION_STORED:
		conclude_stored(question);
		return;
	case QUESTION_PUT:
	case QUESTION_STORING:
		return;
	}
}

void question_wake(struct question *question)
{
	loop_defer(question->orchestrator->loop, &question->task, run, question);
}

static struct question *find_same(const struct call *call)
{
	struct question *question;

	TAILQ_FOREACH (question, &call->orchestrator->questions, entry) {
		if (question->state <= QUESTION_PUT && question->share[0] &&
		    strcmp(question->share, call->keys.all) == 0)
			return question;
	}
	return NULL;
}

/* What an answer for longer is remembered by: of a retry, its destinations and nothing else. */
static void copy_keys(struct question *question, const struct call *call)
{
	const struct access_list *accesses = &question->accesses;
	struct key_list *keys = &question->keys;
	size_t max = call->is_retry ? accesses->count : call->keys.count;

	keys->list = mem_new_array(max + 1, sizeof(*keys->list));
	for (size_t i = 0; i < max; i++) {
		if (!call->is_retry) {
			keys->list[keys->count] = call->keys.list[i];
			keys->list[keys->count++].text = mem_strdup(call->keys.list[i].text);
		} else if (accesses->list[i].what == ORCHESTRATOR_DESTINATION &&
			   key_of_destination(&keys->list[keys->count], call->request.environment,
					      &accesses->list[i]) == 0) {
			keys->count++;
		}
	}
}

static unsigned int choices_of(const struct question *question)
{
	const struct requirement_choices of = {
		.kind = question->request.kind,
		.is_retry = question->is_retry,
		.is_one_shot = question->ask.is_one_shot,
		.is_confined = question->ask.is_confined,
		.has_accesses = question->accesses.count > 0,
		.is_destinations_only = access_is_destinations(&question->accesses),
		.has_keys = question->keys.count > 0,
		.has_proposal = question->proposal[0] != NULL,
		.may_unconfine = question->ask.may_unconfine,
	};

	return requirement_choices(&of);
}

static struct question *question_new(struct call *call, const struct question_ask *ask)
{
	struct orchestrator *orchestrator = call->orchestrator;
	struct question *question = mem_new(sizeof(*question));

	TAILQ_INIT(&question->waiting);
	TAILQ_INSERT_TAIL(&orchestrator->questions, question, entry);
	question->orchestrator = orchestrator;
	question->request = request_copy(&call->request);
	question->ask = *ask;
	question->is_retry = call->is_retry;
	question->heard = ORCHESTRATOR_PASS;
	question->program = call->judgement.program;
	for (size_t i = 0; i < ask->access_count; i++)
		(void)access_add(&question->accesses, &ask->accesses[i]);
	question->sandbox = ask->sandbox ? exec_sandbox_copy(ask->sandbox) : NULL;
	question->proposal = ask->proposal;
	question->reason = mem_strdup(ask->reason);
	copy_keys(question, call);
	question->choices = choices_of(question);
	if (!call->is_retry && !ask->is_one_shot && !ask->is_review)
		memcpy(question->share, call->keys.all, sizeof(question->share));
	question_wake(question);
	return question;
}

void question_open(struct call *call, const struct question_ask *ask)
{
	bool may_share = !call->is_retry && !ask->is_one_shot && !ask->is_review;
	struct question *question = may_share ? find_same(call) : NULL;
	bool is_new = !question;

	if (is_new)
		question = question_new(call, ask);
	else
		mem_free_list(ask->proposal);
	call->question = question;
	TAILQ_INSERT_TAIL(&question->waiting, call, waiting);
	hold_clocks(call);
	if (!is_new)
		question_put_changed(question);
}

int question_stored(struct orchestrator *orchestrator, uint64_t number, int error)
{
	struct question *question;

	TAILQ_FOREACH (question, &orchestrator->questions, entry) {
		if (question->state != QUESTION_STORING || question->store != number)
			continue;
		loop_timer_stop(&question->deadline);
		question->store_error = error;
		question->state = QUESTION_STORED;
		question_wake(question);
		return 0;
	}
	return -ENOENT;
}
