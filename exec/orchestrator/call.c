#include "exec/orchestrator/call.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/attempt.h"
#include "exec/orchestrator/confine.h"
#include "exec/orchestrator/judgement.h"
#include "exec/orchestrator/question.h"
#include "exec/orchestrator/request.h"
#include "exec/orchestrator/verdict.h"

static void step(void *arg);

static void wake(struct call *call)
{
	loop_defer(call->orchestrator->loop, &call->task, step, call);
}

static void enter(struct call *call, enum call_state next)
{
	static const unsigned int may_follow[CALL_STATES] = {
		[CALL_NEW] = BIT(CALL_ASKING) | BIT(CALL_RUNNING),
		[CALL_ASKING] = BIT(CALL_RULED),
		[CALL_RULED] = BIT(CALL_RUNNING),
		[CALL_RUNNING] = BIT(CALL_ENDED),
		[CALL_ENDED] = BIT(CALL_ASKING),
	};

	assert(may_follow[call->state] & BIT(next));
	call->state = next;
}

bool call_may_be_of(const struct call *call, const struct attempt *attempt)
{
	const struct orchestrator_request *request = &call->request;

	if (!attempt_is_live(attempt))
		return false;
	if (request->attempt != 0)
		return request->attempt == attempt->number;
	/* Nobody knows which: any where it came from. */
	return request->kind == ORCHESTRATOR_NETWORK &&
	       strcmp(request->environment, attempt->environment) == 0;
}

/* A network request that can be of one attempt only is of that. */
static void attribute(struct call *call)
{
	const struct attempt *attempt;
	uint64_t only = 0;
	size_t count = 0;

	if (call->request.kind != ORCHESTRATOR_NETWORK || call->request.attempt != 0)
		return;
	TAILQ_FOREACH (attempt, &call->orchestrator->attempts, entry) {
		if (call_may_be_of(call, attempt)) {
			only = attempt->number;
			count++;
		}
	}
	if (count == 1)
		call->request.attempt = only;
}

struct call *call_new(struct orchestrator *orchestrator, const struct orchestrator_request *request)
{
	struct call *call = mem_new(sizeof(*call));

	call->orchestrator = orchestrator;
	call->number = ++orchestrator->next_number;
	call->request = request_copy(request);
	call->result.call = call->number;
	attribute(call);
	TAILQ_INSERT_TAIL(&orchestrator->calls, call, entry);
	orchestrator->call_count++;
	wake(call);
	return call;
}

struct call *call_find(const struct orchestrator *orchestrator, uint64_t number)
{
	struct call *call;

	TAILQ_FOREACH (call, &orchestrator->calls, entry) {
		if (call->number == number)
			return call;
	}
	return NULL;
}

void call_cancel(struct call *call)
{
	call->is_cancelled = true;
	wake(call);
}

void call_cancel_questions(struct orchestrator *orchestrator, uint64_t attempt)
{
	struct call *call;

	TAILQ_FOREACH (call, &orchestrator->calls, entry) {
		if (call->request.attempt == attempt)
			call_cancel(call);
	}
}

void call_free(struct call *call)
{
	loop_timer_stop(&call->task);
	TAILQ_REMOVE(&call->orchestrator->calls, call, entry);
	call->orchestrator->call_count--;
	for (size_t i = 0; i < call->result.attempt_count; i++)
		request_outcome_free(&call->result.outcomes[i]);
	request_drop(&call->request);
	key_free(&call->keys);
	access_done(&call->granted);
	access_done(&call->offered);
	exec_sandbox_free(call->sandbox);
	free(call->paused);
	free(call);
}

/* What the network did to the attempt that a question was of. */
static void record_rejection(const struct call *call, enum orchestrator_result_kind kind,
			     const char *why)
{
	struct attempt *attempt = attempt_find(call->orchestrator, call->request.attempt);
	struct orchestrator_block block = { .kind = ORCHESTRATOR_NETWORK_BY_PERSON, .words = why };

	if (call->request.kind != ORCHESTRATOR_NETWORK || !attempt || !attempt_is_live(attempt))
		return;
	if (kind == ORCHESTRATOR_REJECTED_BY_RULE)
		block.kind = ORCHESTRATOR_NETWORK_BY_POLICY;
	else if (kind == ORCHESTRATOR_REJECTED_NO_ANSWER || kind == ORCHESTRATOR_CANCELLED)
		block.kind = ORCHESTRATOR_NETWORK_DISCONNECTED;
	block.reason = ORCHESTRATOR_BLOCKED_UNLISTED;
	block.host = call->request.accesses[0].name;
	block.protocol = call->request.accesses[0].protocol;
	block.port = call->request.accesses[0].port;
	(void)attempt_block(attempt, &block);
}

/* The end: nothing of the call is left when it returns. */
static void finish(struct call *call, enum orchestrator_result_kind kind, const char *why)
{
	struct orchestrator *orchestrator = call->orchestrator;
	struct orchestrator_result *result = &call->result;

	result->kind = kind;
	if (why != result->why)
		(void)snprintf(result->why, sizeof(result->why), "%s", why ? why : "");
	if (kind != ORCHESTRATOR_DONE)
		record_rejection(call, kind, result->why);
	for (size_t i = 0; i < result->attempt_count; i++) {
		struct attempt *attempt = attempt_find(orchestrator, result->attempts[i]);

		if (attempt)
			result->networks[i] = attempt_outcome(attempt);
	}
	call->request.done(result, call->request.arg);
	for (size_t i = 0; i < result->attempt_count; i++) {
		struct attempt *attempt = attempt_find(orchestrator, result->attempts[i]);

		if (attempt && !attempt->is_deferred)
			attempt_free(attempt);
	}
	call_free(call);
}

static void add_note(struct call *call, const char *text)
{
	char *note = call->result.note;
	size_t len = strlen(note);

	if (*text)
		(void)snprintf(note + len, sizeof(call->result.note) - len, "%s%s",
			       len > 0 ? "; " : "", text);
}

static void ask_first(struct call *call, bool is_review)
{
	const struct judgement *judgement = &call->judgement;
	const struct orchestrator_request *request = &call->request;
	bool is_asking_access =
		!request_has_attempt(request) ||
		(judgement->is_confined && judgement->wish == ORCHESTRATOR_WITH_ACCESS);
	auto_free char *reason = mem_printf("%s%s%s", judgement->reason,
					    judgement->reason[0] && request->reason ? "; " : "",
					    request->reason ? request->reason : "");

	enter(call, CALL_ASKING);
	question_open(call, &(struct question_ask){
				    .is_one_shot = judgement->requirement == ORCHESTRATOR_ONE_SHOT,
				    .is_review = is_review,
				    .is_wider = judgement->is_wider,
				    .is_confined = judgement->is_confined,
				    .sandbox = call->sandbox,
				    .accesses = request->accesses,
				    .access_count = is_asking_access ? request->access_count : 0,
				    .proposal = judgement_proposal(call),
				    .reason = reason });
}

/* It may run as it is confined now. */
static void start_attempt(struct call *call)
{
	struct orchestrator *orchestrator = call->orchestrator;
	const struct orchestrator_config *config = &orchestrator->config;
	struct orchestrator_result *result = &call->result;
	struct attempt *attempt = attempt_new(call);
	struct err why = { 0 };

	enter(call, CALL_RUNNING);
	call->attempt = attempt->number;
	result->attempts[result->attempt_count] = attempt->number;
	const struct orchestrator_attempt to = {
		.number = attempt->number,
		.call = call->number,
		.is_retry = call->is_retry,
		.is_confined = call->is_confined,
		.sandbox = call->sandbox,
		.accesses = call->granted.list,
		.access_count = call->granted.count,
		.new_from = call->granted_before,
		.is_for_session = call->is_for_session,
		.program = call->judgement.program,
		.request = &call->request,
	};

	if (config->ops->attempt(&to, &why, config->arg) != 0 && call->state == CALL_RUNNING)
		call_attempt_ended(call,
				   &(struct orchestrator_outcome){ .end = ORCHESTRATOR_NOT_STARTED,
								   .why = why.text });
}

static void allowed(struct call *call)
{
	if (request_has_attempt(&call->request))
		start_attempt(call);
	else
		finish(call, ORCHESTRATOR_DONE, NULL);
}

/* Reviewers of a strict session see what nobody has to be asked about, too. */
static bool is_reviewed(const struct call *call)
{
	return call->orchestrator->config.is_strict && request_has_attempt(&call->request);
}

static void begin(struct call *call)
{
	struct orchestrator *orchestrator = call->orchestrator;
	struct judgement *judgement = &call->judgement;
	struct err why = { 0 };

	judgement_make(call, judgement);
	if (judgement->wish != call->request.wish && call->request.wish == ORCHESTRATOR_ESCALATED)
		add_note(call, "confined as usual: there are files that nothing may read");
	if (judgement->is_rule_held && judgement->is_confined)
		add_note(call, "confined as usual: no command may leave its sandbox here, "
			       "whatever a rule says");
	if (!confine_first(call, &why)) {
		finish(call, ORCHESTRATOR_REJECTED_BY_RULE, why.text);
		return;
	}
	key_make(&call->keys, &call->request,
		 &(struct key_run){ call->sandbox, judgement->is_wider, judgement->program });
	enum approvals_says said =
		judgement->requirement == ORCHESTRATOR_ONE_SHOT
			? APPROVALS_NOTHING
			: approvals_look_all(&orchestrator->approvals, &call->keys,
					     loop_now_ms(orchestrator->loop));

	if (said == APPROVALS_DENIED)
		finish(call, ORCHESTRATOR_REJECTED_BY_PERSON, "denied for this session");
	else if (judgement->requirement == ORCHESTRATOR_FORBIDDEN)
		finish(call, ORCHESTRATOR_REJECTED_BY_RULE, verdict_forbidden(call));
	else if (judgement->requirement == ORCHESTRATOR_SKIP || said == APPROVALS_ALLOWED)
		is_reviewed(call) ? ask_first(call, true) : allowed(call);
	else
		ask_first(call, false);
}

static void ruled(struct call *call)
{
	const struct ruling *ruling = &call->ruling;
	struct err why = { 0 };

	add_note(call, ruling->note);
	call->is_for_session = ruling->is_for_session;
	switch (ruling->choice) {
	case ORCHESTRATOR_DENY:
	case ORCHESTRATOR_ABORT:
	case ORCHESTRATOR_DENY_ALWAYS:
		call->result.is_abort = ruling->choice == ORCHESTRATOR_ABORT;
		finish(call, ruling->rejected, ruling->words);
		return;
	case ORCHESTRATOR_ONCE:
	case ORCHESTRATOR_SESSION:
	case ORCHESTRATOR_ALWAYS:
	case ORCHESTRATOR_UNCONFINED:
		break;
	}
	if (judgement_is_denied_now(call))
		finish(call, ORCHESTRATOR_REJECTED_BY_RULE, "denied by a rule meanwhile");
	else if (call->is_retry && !confine_retry(call, &why))
		finish(call, ORCHESTRATOR_DENIED, why.text);
	else
		allowed(call);
}

static void ended(struct call *call)
{
	struct attempt *attempt = attempt_find(call->orchestrator, call->attempt);
	struct verdict verdict;

	if (attempt && !attempt->is_deferred) {
		outcome_settle(&attempt->network);
		call_cancel_questions(call->orchestrator, attempt->number);
	}
	verdict_make(call, attempt, &verdict);
	if (!verdict.may_retry) {
		finish(call, verdict.kind, verdict.why);
		return;
	}
	call->is_retry = true;
	enter(call, CALL_ASKING);
	question_open(call, &(struct question_ask){ .may_unconfine = verdict.may_unconfine,
						    .is_confined = true,
						    .sandbox = verdict.sandbox,
						    .accesses = call->offered.list,
						    .access_count = call->offered.count,
						    .proposal = judgement_proposal(call),
						    .reason = verdict.why });
	exec_sandbox_free(verdict.sandbox);
}

static void stop(struct call *call)
{
	struct attempt *attempt = attempt_find(call->orchestrator, call->attempt);

	if (call->state == CALL_RUNNING) {
		attempt_stop(attempt, "cancelled");
		return;
	}
	if (call->state == CALL_ASKING)
		question_leave(call, "cancelled");
	finish(call, ORCHESTRATOR_CANCELLED, "cancelled");
}

static void step(void *arg)
{
	struct call *call = arg;

	if (call->is_cancelled && call->state != CALL_ENDED) {
		stop(call);
		return;
	}
	switch (call->state) {
	case CALL_NEW:
		begin(call);
		return;
	case CALL_RULED:
		ruled(call);
		return;
	case CALL_ENDED:
		ended(call);
		return;
	case CALL_ASKING:
	case CALL_RUNNING:
	case CALL_STATES:
		return;
	}
}

void call_ruled(struct call *call, const struct ruling *ruling)
{
	enter(call, CALL_RULED);
	call->ruling = *ruling;
	wake(call);
}

void call_attempt_ended(struct call *call, const struct orchestrator_outcome *outcome)
{
	struct attempt *attempt = attempt_find(call->orchestrator, call->attempt);
	struct orchestrator_result *result = &call->result;

	enter(call, CALL_ENDED);
	attempt->is_running = false;
	attempt->is_deferred = outcome->is_deferred && outcome->end == ORCHESTRATOR_EXITED;
	result->outcomes[result->attempt_count++] = request_outcome_copy(outcome);
	wake(call);
}
