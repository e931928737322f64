#include "exec/orchestrator/questions/question.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/exec_record.h"
#include "exec/orchestrator/decided.h"
#include "exec/orchestrator/questions/question_impl.h"
#include "exec/orchestrator/requests.h"
#include "exec/orchestrator/judging/requirement.h"
#include "exec/orchestrator/setting.h"

#define STORE_MS 10000

static void free_one(struct question *question)
{
	TAILQ_REMOVE(&question->questions->list, question, entry);
	loop_timer_stop(&question->task);
	loop_timer_stop(&question->deadline);
	requests_drop(&question->wanted);
	access_done(&question->accesses);
	exec_sandbox_free(question->sandbox);
	mem_free_list(question->proposal);
	free(question->reason);
	key_free(&question->keys);
	free(question);
}

void question_list_init(struct questions *questions, struct setting *setting,
			struct exec_records *execs)
{
	questions->setting = setting;
	questions->execs = execs;
	TAILQ_INIT(&questions->list);
}

void question_list_done(struct questions *questions)
{
	struct question *question;

	while ((question = TAILQ_FIRST(&questions->list)))
		free_one(question);
}

/* Pauses the clock of the exec that @request's question is about. */
static void hold_clock(struct request *request, const struct exec_records *execs)
{
	struct exec_record *exec = exec_record_find(execs, request->wanted.exec);

	request->is_holding = exec && exec_record_is_live(exec);
	if (request->is_holding)
		exec_record_hold_clock(exec);
}

static void release_clock(struct request *request, const struct exec_records *execs)
{
	struct exec_record *exec = exec_record_find(execs, request->wanted.exec);

	if (request->is_holding && exec)
		exec_record_release_clock(exec);
	request->is_holding = false;
}

static void leave(struct request *request)
{
	const struct exec_records *execs = request->question->questions->execs;

	TAILQ_REMOVE(&request->question->waiting, request, waiting);
	request->question = NULL;
	release_clock(request, execs);
}

void question_leave(struct request *request, const char *why)
{
	struct question *question = request->question;
	const struct orchestrator_config *config = &request->setting->config;

	leave(request);
	if (!TAILQ_EMPTY(&question->waiting)) {
		question_put_changed(question);
		return;
	}
	/* Lines are being stored: the question ends when that has finished. */
	if (question->state == QUESTION_STORING || question->state == QUESTION_STORED)
		return;
	if (question->state == QUESTION_PUT)
		config->ops->retract(question->id, why, config->arg);
	free_one(question);
}

void question_rule(struct question *question, enum orchestrator_by by,
		   enum orchestrator_choice choice, enum orchestrator_result_kind rejected,
		   const char *words)
{
	struct ruling *ruling = &question->ruling;

	*ruling = (struct ruling){
		.choice = choice, .rejected = rejected, .by = by, .through = ruling->through
	};
	(void)snprintf(ruling->words, sizeof(ruling->words), "%s", words ? words : "");
	(void)snprintf(ruling->name, sizeof(ruling->name), "%s", question->by);
	question->state = QUESTION_RULED;
	loop_timer_stop(&question->deadline);
	question_wake(question);
}

/* Wakes all requests that wait. */
static void release_all(struct question *question)
{
	struct request *request;

	while ((request = TAILQ_FIRST(&question->waiting))) {
		leave(request);
		requests_ruled(request, &question->ruling);
	}
	free_one(question);
}

static void note(struct question *question, const char *text)
{
	(void)snprintf(question->ruling.note, sizeof(question->ruling.note), "%s", text);
}

/* The access that an answer remembered by key @index grants. A destination of a retry is remembered
 * by the gateway. NULL: none. */
static const struct orchestrator_access *access_of(const struct question *question, size_t index)
{
	const struct orchestrator_access *access = &question->accesses.list[index];

	if (!question->is_of_accesses)
		return NULL;
	return question->is_retry && access->what == ORCHESTRATOR_DESTINATION ? NULL : access;
}

/* Each key is remembered separately, so that a later request for a part of them matches. */
static void remember(struct question *question, bool is_denial)
{
	struct setting *setting = question->setting;
	int64_t now_ms = setting_now_ms(setting);
	struct approvals_new add = { .is_denial = is_denial, .client = question->wanted.client };

	if (question->expires_ms > 0 && !is_denial)
		add.ends_ms = now_ms + question->expires_ms;
	for (size_t i = 0; i < question->keys.count; i++) {
		add.key = &question->keys.list[i];
		add.access = is_denial ? NULL : access_of(question, i);
		/* Of a destination whose line was chosen, the gateway knows how long it holds. */
		if (question->chosen && (i != question->chosen - 1 || !add.access))
			continue;
		if (!approvals_add(&setting->approvals, &add, now_ms))
			note(question,
			     "the answer is not remembered, because too many are remembered");
	}
}

/* What a patch asks for beside its files: nothing but an answer for the session grants it. */
static void remember_root(const struct question *question)
{
	struct setting *setting = question->setting;
	int64_t now_ms = setting_now_ms(setting);
	const struct access_list *accesses = &question->accesses;

	for (size_t i = 0; question->wanted.kind == ORCHESTRATOR_PATCH && i < accesses->count;
	     i++) {
		struct key key = { 0 };
		const struct approvals_new add = {
			.key = &key,
			.access = &accesses->list[i],
			.client = question->wanted.client,
			.ends_ms = question->expires_ms > 0 ? now_ms + question->expires_ms : 0,
		};

		/* If it cannot be remembered, it is asked about again. */
		if (key_of_access(&key, &accesses->list[i]) == 0)
			(void)approvals_add(&setting->approvals, &add, now_ms);
		free(key.text);
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
	struct setting *setting = question->setting;
	const struct orchestrator_config *config = &setting->config;
	bool is_denial = question->ruling.choice == ORCHESTRATOR_DENY_ALWAYS;
	auto_free_list char **denials = is_denial ? denial_lines(question) : NULL;
	char *one[] = { question->chosen ? question->proposal[question->chosen - 1] : NULL, NULL };
	char **lines = is_denial ? denials : question->chosen ? one : question->proposal;

	question->state = QUESTION_STORING;
	question->store = ++setting->last_number;
	loop_timer_start(setting->loop, &question->deadline, STORE_MS, store_failed, question);
	int r = config->ops->store(question->store, (const char *const *)lines, config->arg);

	if (r != 0)
		(void)question_stored(question->questions, question->store, r);
}

/* A denial that was given meanwhile takes precedence. */
static bool is_denied_meanwhile(struct question *question)
{
	struct setting *setting = question->setting;

	return approvals_look_all(&setting->approvals, &question->keys, setting_now_ms(setting)) ==
	       APPROVALS_DENIED;
}

static void deny(struct ruling *ruling, enum orchestrator_by by,
		 enum orchestrator_result_kind rejected, const char *words)
{
	*ruling = (struct ruling){ .choice = ORCHESTRATOR_DENY, .rejected = rejected, .by = by };
	(void)snprintf(ruling->words, sizeof(ruling->words), "%s", words);
}

/* Records the decision for each request that waits. Not 0: at least one could not be recorded. */
static int tell_all(const struct question *question)
{
	const struct request *request;
	int r = 0;

	TAILQ_FOREACH (request, &question->waiting, waiting) {
		int one = decided_tell(request, &question->ruling,
				       requests_is_approval(question->ruling.choice));

		r = r ? r : one;
	}
	return r;
}

/* Records that the answer holds for a shorter time than was recorded before. */
static void tell_not_stored(struct question *question)
{
	struct ruling *ruling = &question->ruling;
	const struct ruling said = *ruling;
	bool is_allow = requests_is_approval(said.choice);

	/* The same answer but for its duration; an allow is on record already. */
	ruling->choice = is_allow ? ORCHESTRATOR_ONCE : ORCHESTRATOR_DENY;
	(void)snprintf(ruling->words, sizeof(ruling->words), "%s", ruling->note);
	(void)tell_all(question);
	*ruling = said;
}

static void conclude(struct question *question)
{
	struct ruling *ruling = &question->ruling;

	/* Only an "always" revokes a denial for the session. */
	if (requests_is_approval(ruling->choice) && ruling->choice != ORCHESTRATOR_ALWAYS &&
	    is_denied_meanwhile(question)) {
		deny(ruling, ORCHESTRATOR_BY_EARLIER, ORCHESTRATOR_REJECTED_BY_PERSON,
		     "another answer denied this for the session meanwhile");
	}
	if (tell_all(question) < 0 && requests_is_approval(ruling->choice))
		deny(ruling, ORCHESTRATOR_BY_RULE, ORCHESTRATOR_REJECTED_NO_ANSWER,
		     decided_unrecorded);
	if (ruling->choice == ORCHESTRATOR_SESSION) {
		remember(question, false);
		remember_root(question);
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
		note(question,
		     is_allow ? "allowed once only, because the policy could not be written"
			      : "denied for this session only, because the policy could not be "
				"written");
		tell_not_stored(question);
	} else if (is_allow) {
		ruling->is_for_session = !question->chosen; /* a part has its own duration only */
		/* For a command the line is a rule now; for a destination the gateway adds it
		 * later. */
		if (question->is_retry)
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
	loop_defer(question->setting->loop, &question->task, run, question);
}

static struct question *find_same(const struct questions *questions, const struct request *request)
{
	struct question *question;

	TAILQ_FOREACH (question, &questions->list, entry) {
		if (question->state <= QUESTION_PUT && question->share[0] &&
		    strcmp(question->share, request->keys.all) == 0)
			return question;
	}
	return NULL;
}

/* One key for each access, or none: an answer that lasts for a part of them only was not asked
 * for. */
static void make_access_keys(struct question *question)
{
	const struct access_list *accesses = &question->accesses;
	struct key_list *keys = &question->keys;

	for (size_t i = 0; i < accesses->count; i++) {
		if (accesses->list[i].what == ORCHESTRATOR_PROGRAM ||
		    key_of_access(&keys->list[i], &accesses->list[i]) < 0) {
			key_free(keys);
			return;
		}
		keys->count++;
	}
}

/* The keys that a lasting answer is remembered by: of a retry, and of permissions that belong to no
 * running command, the accesses. */
static void copy_keys(struct question *question, const struct request *request)
{
	const struct orchestrator_request *wanted = &request->wanted;
	struct key_list *keys = &question->keys;

	question->is_of_accesses = request->is_retry ||
				   (wanted->kind == ORCHESTRATOR_PERMISSIONS && wanted->exec == 0);
	size_t max = question->is_of_accesses ? question->accesses.count : request->keys.count;

	keys->list = mem_new_array(max + 1, sizeof(*keys->list));
	if (question->is_of_accesses)
		return make_access_keys(question);
	for (; keys->count < max; keys->count++) {
		keys->list[keys->count] = request->keys.list[keys->count];
		keys->list[keys->count].text = mem_strdup(request->keys.list[keys->count].text);
	}
}

static unsigned int choices_of(const struct question *question)
{
	const struct requirement_choices of = {
		.is_retry = question->is_retry,
		.is_no_exec = question->wanted.kind != ORCHESTRATOR_EXEC,
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

static struct question *question_new(struct questions *questions, struct request *request,
				     const struct question_ask *ask)
{
	struct question *question = mem_new(sizeof(*question));

	TAILQ_INIT(&question->waiting);
	TAILQ_INSERT_TAIL(&questions->list, question, entry);
	question->questions = questions;
	question->setting = questions->setting;
	question->wanted = requests_copy(&request->wanted);
	question->ask = *ask;
	question->is_retry = request->is_retry;
	question->heard = ORCHESTRATOR_PASS;
	question->program = request->judgement.program;
	for (size_t i = 0; i < ask->access_count; i++)
		(void)access_add(&question->accesses, &ask->accesses[i]);
	question->sandbox = ask->sandbox ? exec_sandbox_copy(ask->sandbox) : NULL;
	question->proposal = ask->proposal;
	question->reason = mem_strdup(ask->reason);
	copy_keys(question, request);
	question->choices = choices_of(question);
	if (!request->is_retry && !ask->is_one_shot && !ask->is_review)
		memcpy(question->share, request->keys.all, sizeof(question->share));
	question_wake(question);
	return question;
}

void question_open(struct questions *questions, struct request *request,
		   const struct question_ask *ask)
{
	bool may_share = !request->is_retry && !ask->is_one_shot && !ask->is_review;
	struct question *question = may_share ? find_same(questions, request) : NULL;
	bool is_new = !question;

	if (is_new)
		question = question_new(questions, request, ask);
	else
		mem_free_list(ask->proposal);
	request->question = question;
	request->asked_ms = setting_now_ms(request->setting);
	TAILQ_INSERT_TAIL(&question->waiting, request, waiting);
	hold_clock(request, questions->execs);
	if (!is_new)
		question_put_changed(question);
}

int question_stored(struct questions *questions, uint64_t number, int error)
{
	struct question *question;

	TAILQ_FOREACH (question, &questions->list, entry) {
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
