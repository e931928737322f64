#include "exec/orchestrator/orchestrator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/decided.h"
#include "exec/orchestrator/judging/confine.h"
#include "exec/orchestrator/exec_record.h"
#include "exec/orchestrator/questions/question.h"
#include "exec/orchestrator/setting.h"
#include "exec/orchestrator/orchestrator_network.h"
#include "exec/orchestrator/requests.h"
#include "exec/orchestrator/verdict.h"

struct orchestrator {
	struct setting setting;
	struct exec_records execs;
	struct requests requests;
	struct questions questions;
};

/* Ends the request: it is freed when this returns. */
static void finish(struct orchestrator *orchestrator, struct request *request,
		   enum orchestrator_result_kind kind, const char *why)
{
	struct orchestrator_result *result = &request->result;

	result->kind = kind;
	result->is_asked = request->asked_ms > 0;
	if (why != result->why)
		(void)snprintf(result->why, sizeof(result->why), "%s", why ? why : "");
	for (size_t i = 0; i < result->exec_count; i++) {
		struct exec_record *exec = exec_record_find(&orchestrator->execs, result->execs[i]);

		if (exec)
			result->networks[i] = exec_record_outcome(exec);
	}
	request->wanted.done(result, request->wanted.arg);
	for (size_t i = 0; i < result->exec_count; i++) {
		struct exec_record *exec = exec_record_find(&orchestrator->execs, result->execs[i]);

		if (exec && !exec->is_deferred)
			exec_record_free(exec);
	}
	requests_free(request);
}

static void add_note(struct request *request, const char *text)
{
	char *note = request->result.note;
	size_t len = strlen(note);

	if (*text)
		(void)snprintf(note + len, sizeof(request->result.note) - len, "%s%s",
			       len > 0 ? "; " : "", text);
}

static void ask_first(struct orchestrator *orchestrator, struct request *request, bool is_review)
{
	const struct judgement *judgement = &request->judgement;
	const struct orchestrator_request *wanted = &request->wanted;
	bool is_asking_access =
		!requests_acts(wanted) ||
		(judgement->is_confined && judgement->confinement == ORCHESTRATOR_WITH_ACCESS);
	auto_free char *reason = mem_printf("%s%s%s", judgement->reason,
					    judgement->reason[0] && wanted->reason ? "; " : "",
					    wanted->reason ? wanted->reason : "");

	requests_enter(request, REQUEST_ASKING);
	question_open(&orchestrator->questions, request,
		      &(struct question_ask){
			      .is_one_shot = judgement->requirement == ORCHESTRATOR_ONE_SHOT,
			      .is_review = is_review,
			      .is_wider = judgement->is_wider,
			      .is_confined = judgement->is_confined,
			      .sandbox = request->sandbox,
			      .accesses = wanted->accesses,
			      .access_count = is_asking_access ? wanted->access_count : 0,
			      .proposal = judgement_proposal(request->setting, wanted, judgement),
			      .reason = reason });
}

/* The request is allowed to run as it is confined now. */
static void start_exec(struct orchestrator *orchestrator, struct request *request)
{
	const struct orchestrator_config *config = &request->setting->config;
	struct orchestrator_result *result = &request->result;
	struct exec_record *exec =
		exec_record_new(&orchestrator->execs, request->number, &request->wanted);
	struct err why = { 0 };

	requests_enter(request, REQUEST_RUNNING);
	request->exec = exec->number;
	result->execs[result->exec_count] = exec->number;
	const struct orchestrator_exec to = {
		.number = exec->number,
		.request = request->number,
		.is_retry = request->is_retry,
		.is_confined = request->is_confined,
		.is_open_by_rule = !request->is_confined && !request->is_retry &&
				   request->judgement.is_rule_open,
		.sandbox = request->sandbox,
		.accesses = request->granted.list,
		.access_count = request->granted.count,
		.new_from = request->granted_before,
		.is_for_session = request->is_for_session,
		.program = request->judgement.program,
		.wanted = &request->wanted,
		.by = request->ruling.by,
		.name = request->ruling.name,
	};

	if (config->ops->start(&to, &why, config->arg) != 0 && request->state == REQUEST_RUNNING)
		requests_exec_ended(
			request, exec,
			&(struct orchestrator_outcome){ .end = EXEC_NOT_STARTED, .why = why.text });
}

static void allowed(struct orchestrator *orchestrator, struct request *request)
{
	if (request->wanted.kind == ORCHESTRATOR_EXEC)
		start_exec(orchestrator, request);
	else
		finish(orchestrator, request, ORCHESTRATOR_DONE, NULL);
}

static void deny(struct orchestrator *orchestrator, struct request *request,
		 enum orchestrator_by by, enum orchestrator_result_kind kind, const char *why)
{
	(void)decided_tell_plain(request, by, false, why); /* denied even if this fails */
	finish(orchestrator, request, kind, why);
}

/* Allows it without a question. */
static void allow(struct orchestrator *orchestrator, struct request *request,
		  enum approvals_says said)
{
	const struct judgement *judgement = &request->judgement;
	struct ruling *ruling = &request->ruling;

	ruling->by = ORCHESTRATOR_BY_MODE;
	if (said == APPROVALS_ALLOWED)
		ruling->by = ORCHESTRATOR_BY_EARLIER;
	else if (judgement->is_by_rule)
		ruling->by = ORCHESTRATOR_BY_RULE;
	if (decided_tell_plain(request, ruling->by, true, "") == 0)
		allowed(orchestrator, request);
	else
		finish(orchestrator, request, ORCHESTRATOR_REJECTED_NO_ANSWER, decided_unrecorded);
}

/* In a strict session the reviewers also see what does not have to be asked. */
static bool is_reviewed(const struct request *request)
{
	return request->setting->config.is_strict && requests_acts(&request->wanted);
}

static void begin(struct orchestrator *orchestrator, struct request *request)
{
	struct judgement *judgement = &request->judgement;
	struct err why = { 0 };

	judgement_make(request->setting, &request->wanted, judgement);
	if (judgement->confinement != request->wanted.confinement &&
	    request->wanted.confinement == ORCHESTRATOR_ESCALATED)
		add_note(request, "the command runs in its sandbox, because the sandbox denies "
				  "files to every command");
	if (judgement->is_rule_held && judgement->is_confined)
		add_note(request, "the command runs in its sandbox although a rule allows it to "
				  "leave: this session does not allow that");
	if (!confine_first(request, &why))
		return deny(orchestrator, request, ORCHESTRATOR_BY_RULE,
			    ORCHESTRATOR_REJECTED_BY_RULE, why.text);
	key_make(&request->keys, &request->wanted,
		 &(struct key_run){ request->sandbox, judgement->is_wider, judgement->program });
	enum approvals_says said =
		judgement->requirement == ORCHESTRATOR_ONE_SHOT
			? APPROVALS_NOTHING
			: approvals_look_all(&orchestrator->setting.approvals, &request->keys,
					     setting_now_ms(&orchestrator->setting));

	if (said == APPROVALS_DENIED)
		deny(orchestrator, request, ORCHESTRATOR_BY_EARLIER,
		     ORCHESTRATOR_REJECTED_BY_PERSON,
		     "an earlier answer denied this for the session");
	else if (judgement->requirement == ORCHESTRATOR_FORBIDDEN)
		deny(orchestrator, request,
		     judgement->is_by_rule ? ORCHESTRATOR_BY_RULE : ORCHESTRATOR_BY_MODE,
		     ORCHESTRATOR_REJECTED_BY_RULE, verdict_forbidden(request));
	else if (judgement->requirement == ORCHESTRATOR_SKIP || said == APPROVALS_ALLOWED)
		is_reviewed(request) ? ask_first(orchestrator, request, true)
				     : allow(orchestrator, request, said);
	else
		ask_first(orchestrator, request, false);
}

static void ruled(struct orchestrator *orchestrator, struct request *request)
{
	const struct ruling *ruling = &request->ruling;
	struct err why = { 0 };

	add_note(request, ruling->note);
	request->is_for_session = request->result.is_for_session = ruling->is_for_session;
	switch (ruling->choice) {
	case ORCHESTRATOR_DENY:
	case ORCHESTRATOR_ABORT:
	case ORCHESTRATOR_DENY_ALWAYS:
		request->result.is_abort = ruling->choice == ORCHESTRATOR_ABORT;
		finish(orchestrator, request, ruling->rejected, ruling->words);
		return;
	case ORCHESTRATOR_ONCE:
	case ORCHESTRATOR_SESSION:
	case ORCHESTRATOR_ALWAYS:
	case ORCHESTRATOR_UNCONFINED:
		break;
	}
	if (judgement_is_denied_now(request->setting, &request->wanted, &request->judgement))
		deny(orchestrator, request, ORCHESTRATOR_BY_RULE, ORCHESTRATOR_REJECTED_BY_RULE,
		     "a rule that was added meanwhile denies this");
	else if (request->is_retry && !confine_retry(request, &why))
		deny(orchestrator, request, ORCHESTRATOR_BY_RULE, ORCHESTRATOR_DENIED, why.text);
	else
		allowed(orchestrator, request);
}

static void ended(struct orchestrator *orchestrator, struct request *request)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, request->exec);
	struct verdict verdict;

	if (exec && !exec->is_deferred) {
		exec_record_settle(exec);
		requests_cancel_questions(&orchestrator->requests, exec->number);
	}
	verdict_make(request, exec, &verdict);
	if (!verdict.may_retry) {
		finish(orchestrator, request, verdict.kind, verdict.why);
		return;
	}
	request->is_retry = true;
	requests_enter(request, REQUEST_ASKING);
	question_open(
		&orchestrator->questions, request,
		&(struct question_ask){ .may_unconfine = verdict.may_unconfine,
					.is_confined = true,
					.sandbox = verdict.sandbox,
					.accesses = request->offered.list,
					.access_count = request->offered.count,
					.proposal = judgement_retry_proposal(&request->offered),
					.reason = verdict.why });
	exec_sandbox_free(verdict.sandbox);
}

static void stop(struct orchestrator *orchestrator, struct request *request)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, request->exec);

	if (request->state == REQUEST_RUNNING) {
		exec_record_stop(exec, "cancelled");
		return;
	}
	if (request->state == REQUEST_ASKING)
		question_leave(request, "cancelled");
	/* The denial was reported already. */
	if (request->state == REQUEST_RULED && !requests_is_approval(request->ruling.choice))
		finish(orchestrator, request, ORCHESTRATOR_CANCELLED, "cancelled");
	else
		deny(orchestrator, request, ORCHESTRATOR_BY_WITHDRAWAL, ORCHESTRATOR_CANCELLED,
		     "cancelled");
}

static void step(struct request *request, void *arg)
{
	struct orchestrator *orchestrator = arg;

	if (request->is_cancelled && request->state != REQUEST_ENDED) {
		stop(orchestrator, request);
		return;
	}
	switch (request->state) {
	case REQUEST_NEW:
		begin(orchestrator, request);
		return;
	case REQUEST_RULED:
		ruled(orchestrator, request);
		return;
	case REQUEST_ENDED:
		ended(orchestrator, request);
		return;
	case REQUEST_ASKING:
	case REQUEST_RUNNING:
	case REQUEST_STATES:
		return;
	}
}

static int check_config(const struct orchestrator_config *config, struct err *why)
{
	const struct orchestrator_ops *ops = config->ops;

	if (!ops || !ops->ask || !ops->changed || !ops->retract || !ops->decided || !ops->start ||
	    !ops->stop || !ops->pause || !ops->store || (config->decider_count > 0 && !ops->decide))
		return err_set(why, -EINVAL, "an operation of the orchestrator is missing");
	if (!config->last_exec || (unsigned int)config->mode > ORCHESTRATOR_GRANULAR ||
	    config->question_ms < 0 || config->decider_count > ORCHESTRATOR_DECIDERS_MAX)
		return err_set(
			why, -EINVAL,
			"the mode, the time or the number of deciders or execs is out of range");
	for (size_t i = 0; i < config->decider_count; i++) {
		if (!config->deciders[i].name || config->deciders[i].timeout_ms < 0)
			return err_set(why, -EINVAL,
				       "a decider needs a name and a time of at least 0");
	}
	return 0;
}

struct orchestrator *orchestrator_new(struct loop *loop, const struct orchestrator_config *config,
				      struct err *why)
{
	if (check_config(config, why) < 0)
		return NULL;
	struct orchestrator *orchestrator = mem_new(sizeof(*orchestrator));

	setting_init(&orchestrator->setting, loop, config);
	exec_record_list_init(&orchestrator->execs, &orchestrator->setting);
	question_list_init(&orchestrator->questions, &orchestrator->setting, &orchestrator->execs);
	requests_init(&orchestrator->requests, &orchestrator->setting, step, orchestrator);
	return orchestrator;
}

void orchestrator_free(struct orchestrator *orchestrator)
{
	if (!orchestrator)
		return;
	question_list_done(&orchestrator->questions);
	requests_done(&orchestrator->requests);
	exec_record_list_done(&orchestrator->execs);
	setting_done(&orchestrator->setting);
	free(orchestrator);
}

void orchestrator_set_rules(struct orchestrator *orchestrator, const struct command_rules *rules)
{
	orchestrator->setting.config.rules = rules;
}

void orchestrator_set_mode(struct orchestrator *orchestrator, enum orchestrator_mode mode,
			   unsigned int categories)
{
	orchestrator->setting.config.mode = mode;
	orchestrator->setting.config.categories = categories;
}

/* A question about an exec needs an exec that exists. */
static int check_exec(const struct orchestrator *orchestrator,
		      const struct orchestrator_request *wanted, struct err *why)
{
	const struct exec_record *exec = exec_record_find(&orchestrator->execs, wanted->exec);

	if (wanted->exec == 0)
		return 0;
	if (!exec || !exec_record_is_live(exec))
		return err_set(why, -EINVAL, "the command that the request belongs to has ended");
	return 0;
}

int orchestrator_start(struct orchestrator *orchestrator, const struct orchestrator_request *wanted,
		       uint64_t *ret_request, struct err *why)
{
	int r = requests_check(wanted, why);

	if (r == 0)
		r = check_exec(orchestrator, wanted, why);
	if (r < 0)
		return r;
	if (orchestrator->requests.count >= ORCHESTRATOR_REQUESTS_MAX ||
	    orchestrator->execs.count >= ORCHESTRATOR_REQUESTS_MAX)
		return err_set(why, -EBUSY, "%d requests are open; wait for one to end",
			       ORCHESTRATOR_REQUESTS_MAX);
	*ret_request = requests_new(&orchestrator->requests, wanted)->number;
	return 0;
}

int orchestrator_cancel(struct orchestrator *orchestrator, uint64_t number)
{
	struct request *request = requests_find(&orchestrator->requests, number);

	if (!request)
		return -ENOENT;
	requests_cancel(request);
	return 0;
}

int orchestrator_answer(struct orchestrator *orchestrator, const char *id, uint64_t client,
			const struct orchestrator_answer *answer, struct err *why)
{
	return question_answer(&orchestrator->questions, id, client, answer, why);
}

int orchestrator_decide(struct orchestrator *orchestrator, const char *id,
			enum orchestrator_decision decision, const char *by, const char *words,
			struct err *why)
{
	return question_answer_decider(&orchestrator->questions, id, decision, by, words, why);
}

size_t orchestrator_client_gone(struct orchestrator *orchestrator, uint64_t client)
{
	return question_answer_gone(&orchestrator->questions, client);
}

int orchestrator_exec_ended(struct orchestrator *orchestrator, uint64_t number,
			    const struct orchestrator_outcome *outcome)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, number);
	struct request *request =
		exec ? requests_find(&orchestrator->requests, exec->request) : NULL;

	if (!request || !exec->is_running)
		return -ENOENT;
	requests_exec_ended(request, exec, outcome);
	return 0;
}

int orchestrator_stored(struct orchestrator *orchestrator, uint64_t number, int error)
{
	return question_stored(&orchestrator->questions, number, error);
}

bool orchestrator_is_breaker_open(const struct orchestrator *orchestrator, size_t decider)
{
	return decider < ORCHESTRATOR_DECIDERS_MAX &&
	       orchestrator->questions.breakers[decider].is_open;
}

void orchestrator_approvals(const struct orchestrator *orchestrator,
			    void (*each)(const struct orchestrator_approval *approval, void *arg),
			    void *arg)
{
	const struct approvals_entry *entry;
	int64_t now_ms = setting_now_ms(&orchestrator->setting);

	TAILQ_FOREACH (entry, &orchestrator->setting.approvals.list, entry) {
		const struct orchestrator_approval shown = {
			.id = entry->id,
			.is_denial = entry->is_denial,
			.access = entry->access.name ? &entry->access : NULL,
			.text = entry->key.text,
			.client = entry->client,
			.left_ms = entry->ends_ms > 0 ? entry->ends_ms - now_ms : -1,
		};

		if (entry->ends_ms == 0 || shown.left_ms > 0)
			each(&shown, arg);
	}
}

struct exec_sandbox *orchestrator_widen(const struct orchestrator *orchestrator,
					const struct exec_sandbox *sandbox)
{
	return approvals_widen(&orchestrator->setting.approvals, sandbox,
			       setting_now_ms(&orchestrator->setting));
}

int orchestrator_revoke(struct orchestrator *orchestrator, const char *id)
{
	return approvals_revoke(&orchestrator->setting.approvals, id);
}

int orchestrator_network_record(struct orchestrator *orchestrator, uint64_t number,
				const struct orchestrator_block *block)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, number);

	return exec ? exec_record_block(exec, block) : -ENOENT;
}

int orchestrator_network_question(struct orchestrator *orchestrator, uint64_t number, bool is_open)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, number);

	if (!exec)
		return -ENOENT;
	if (!exec_record_is_live(exec) || (!is_open && exec->told_questions == 0))
		return -ESTALE;
	if (is_open) {
		exec->told_questions++;
		exec_record_hold_clock(exec);
	} else {
		exec->told_questions--;
		exec_record_release_clock(exec);
	}
	return 0;
}

int orchestrator_network_settle(struct orchestrator *orchestrator, uint64_t number,
				struct orchestrator_network_outcome *ret)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, number);

	if (!exec)
		return -ENOENT;
	if (exec->is_running)
		return -EBUSY;
	exec_record_settle(exec);
	requests_cancel_questions(&orchestrator->requests, number);
	*ret = exec_record_outcome(exec);
	return 0;
}

void orchestrator_network_forget(struct orchestrator *orchestrator, uint64_t number)
{
	struct exec_record *exec = exec_record_find(&orchestrator->execs, number);

	if (!exec || !exec->is_deferred)
		return;
	exec_record_free(exec);
	requests_cancel_questions(&orchestrator->requests, number);
}
