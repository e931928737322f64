#include "exec/orchestrator/requests.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/exec_record.h"
#include "exec/orchestrator/judging/access.h"
#include "exec/orchestrator/setting.h"

#define REFUSALS_MAX 256 /* kept per exec */

bool requests_acts(const struct orchestrator_request *wanted)
{
	return wanted->kind == ORCHESTRATOR_EXEC || wanted->kind == ORCHESTRATOR_PATCH;
}

static int check_words(const char *const *words, size_t count, const char *what, struct err *why)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(words[i]) + 1;
	if (count > REQUESTS_WORDS_MAX || bytes > REQUESTS_BYTES_MAX)
		return err_set(why, -E2BIG, "%s has more than %d words or %u bytes", what,
			       REQUESTS_WORDS_MAX, REQUESTS_BYTES_MAX);
	return 0;
}

static size_t count_words(const char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

static int check_run(const struct orchestrator_request *wanted, struct err *why)
{
	bool wants_access = wanted->confinement == ORCHESTRATOR_WITH_ACCESS;

	if (!wanted->sandbox)
		return err_set(why, -EINVAL, "a command needs a sandbox");
	if (!wanted->cwd || wanted->cwd[0] != '/')
		return err_set(why, -EINVAL, "a command needs an absolute working directory");
	if ((unsigned int)wanted->confinement > ORCHESTRATOR_ESCALATED)
		return err_set(why, -EINVAL, "the confinement is unknown");
	if (wants_access != (wanted->access_count > 0))
		return err_set(why, -EINVAL,
			       "a list of accesses is allowed, and needed, only where the command "
			       "asks for more access");
	if (wanted->exec != 0)
		return err_set(why, -EINVAL, "a command cannot be part of another command");
	if (wanted->kind == ORCHESTRATOR_EXEC && count_words(wanted->argv) == 0)
		return err_set(why, -EINVAL, "the command is empty");
	return 0;
}

static int check_question(const struct orchestrator_request *wanted, struct err *why)
{
	if (wanted->kind == ORCHESTRATOR_PERMISSIONS && wanted->access_count == 0)
		return err_set(why, -EINVAL, "a request for permissions must name at least one");
	if (wanted->kind == ORCHESTRATOR_ELICITATION && wanted->access_count > 0)
		return err_set(why, -EINVAL, "a tool's question cannot ask for access");
	return 0;
}

int requests_check(const struct orchestrator_request *wanted, struct err *why)
{
	if ((unsigned int)wanted->kind >= ORCHESTRATOR_KINDS ||
	    wanted->kind == ORCHESTRATOR_NETWORK || !wanted->done ||
	    (unsigned int)wanted->on_denial > ORCHESTRATOR_STOP)
		return err_set(
			why, -EINVAL,
			"the request has an unknown kind, or no function to call when it is done");
	if (wanted->access_count + wanted->granted_count > ORCHESTRATOR_ACCESSES_MAX ||
	    wanted->key_count > ORCHESTRATOR_KEYS_MAX)
		return err_set(why, -E2BIG, "the request has more than %d accesses or %d keys",
			       ORCHESTRATOR_ACCESSES_MAX, ORCHESTRATOR_KEYS_MAX);
	int r = check_words(wanted->argv, count_words(wanted->argv), "the command", why);

	if (r == 0)
		r = check_words(wanted->env, count_words(wanted->env), "the environment", why);
	if (r == 0)
		r = check_words(wanted->keys, wanted->key_count, "the list of keys", why);
	if (r == 0)
		r = requests_acts(wanted) ? check_run(wanted, why) : check_question(wanted, why);
	for (size_t i = 0; r == 0 && i < wanted->access_count; i++)
		r = access_check(&wanted->accesses[i], why);
	for (size_t i = 0; r == 0 && i < wanted->granted_count; i++)
		r = access_check(&wanted->granted[i], why);
	return r;
}

static char **copy_list(const char *const *list, size_t count)
{
	char **copy = mem_new_array(count + 1, sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy[i] = mem_strdup(list[i]);
	return copy;
}

static void copy_access(struct orchestrator_access *ret, const struct orchestrator_access *access)
{
	*ret = *access;
	ret->name = mem_strdup_or_null(access->name);
	ret->protocol = mem_strdup_or_null(access->protocol);
}

static struct orchestrator_access *copy_accesses(const struct orchestrator_access *list,
						 size_t count)
{
	struct orchestrator_access *copy = mem_new_array(count + 1, sizeof(*copy));

	for (size_t i = 0; i < count; i++)
		copy_access(&copy[i], &list[i]);
	return copy;
}

static void free_access(const struct orchestrator_access *access)
{
	free((char *)access->name);
	free((char *)access->protocol);
}

struct orchestrator_request requests_copy(const struct orchestrator_request *wanted)
{
	struct orchestrator_request copy = *wanted;

	copy.accesses = copy_accesses(wanted->accesses, wanted->access_count);
	copy.granted = copy_accesses(wanted->granted, wanted->granted_count);
	copy.cwd = mem_strdup(wanted->cwd ? wanted->cwd : "");
	copy.argv = (const char *const *)copy_list(wanted->argv, count_words(wanted->argv));
	copy.env = (const char *const *)copy_list(wanted->env, count_words(wanted->env));
	copy.keys = (const char *const *)copy_list(wanted->keys, wanted->key_count);
	copy.sandbox = wanted->sandbox ? exec_sandbox_copy(wanted->sandbox) : NULL;
	copy.changes = mem_strdup_or_null(wanted->changes);
	copy.reason = mem_strdup_or_null(wanted->reason);
	copy.justification = mem_strdup_or_null(wanted->justification);
	return copy;
}

void requests_drop(struct orchestrator_request *wanted)
{
	for (size_t i = 0; i < wanted->access_count; i++)
		free_access(&wanted->accesses[i]);
	for (size_t i = 0; i < wanted->granted_count; i++)
		free_access(&wanted->granted[i]);
	free((struct orchestrator_access *)wanted->accesses);
	free((struct orchestrator_access *)wanted->granted);
	free((char *)wanted->cwd);
	mem_free_list((char **)wanted->argv);
	mem_free_list((char **)wanted->env);
	mem_free_list((char **)wanted->keys);
	exec_sandbox_free((struct exec_sandbox *)wanted->sandbox);
	free((char *)wanted->changes);
	free((char *)wanted->reason);
	free((char *)wanted->justification);
	*wanted = (struct orchestrator_request){ 0 };
}

static struct orchestrator_outcome outcome_copy(const struct orchestrator_outcome *outcome)
{
	struct orchestrator_outcome copy = *outcome;
	size_t count = outcome->refusal_count;

	if (count > REFUSALS_MAX)
		count = REFUSALS_MAX;
	struct orchestrator_refusal *refusals = mem_new_array(count + 1, sizeof(*refusals));

	for (size_t i = 0; i < count; i++) {
		refusals[i] = outcome->refusals[i];
		copy_access(&refusals[i].access, &outcome->refusals[i].access);
		/* An access of an unknown class cannot be granted. */
		if ((unsigned int)refusals[i].access.what >= ORCHESTRATOR_CLASSES)
			refusals[i].access.what = ORCHESTRATOR_SYSTEM_CALL;
		if (!refusals[i].access.name)
			refusals[i].access.name = mem_strdup("");
		refusals[i].why = mem_strdup_or_null(outcome->refusals[i].why);
	}
	copy.refusals = refusals;
	copy.refusal_count = count;
	copy.why = mem_strdup_or_null(outcome->why);
	return copy;
}

static void outcome_free(struct orchestrator_outcome *outcome)
{
	for (size_t i = 0; i < outcome->refusal_count; i++) {
		free_access(&outcome->refusals[i].access);
		free((char *)outcome->refusals[i].why);
	}
	free((struct orchestrator_refusal *)outcome->refusals);
	free((char *)outcome->why);
}

bool requests_is_approval(enum orchestrator_choice choice)
{
	return choice != ORCHESTRATOR_DENY && choice != ORCHESTRATOR_ABORT &&
	       choice != ORCHESTRATOR_DENY_ALWAYS;
}

static void on_woken(void *arg)
{
	struct request *request = arg;

	request->requests->step(request, request->requests->arg);
}

static void wake(struct request *request)
{
	loop_defer(request->setting->loop, &request->task, on_woken, request);
}

void requests_enter(struct request *request, enum request_state next)
{
	static const unsigned int may_follow[REQUEST_STATES] = {
		[REQUEST_NEW] = BIT(REQUEST_ASKING) | BIT(REQUEST_RUNNING),
		[REQUEST_ASKING] = BIT(REQUEST_RULED),
		[REQUEST_RULED] = BIT(REQUEST_RUNNING),
		[REQUEST_RUNNING] = BIT(REQUEST_ENDED),
		[REQUEST_ENDED] = BIT(REQUEST_ASKING),
	};

	assert(may_follow[request->state] & BIT(next));
	request->state = next;
}

void requests_init(struct requests *requests, struct setting *setting,
		   void (*step)(struct request *request, void *arg), void *arg)
{
	requests->setting = setting;
	TAILQ_INIT(&requests->list);
	requests->step = step;
	requests->arg = arg;
}

void requests_done(struct requests *requests)
{
	struct request *request;

	while ((request = TAILQ_FIRST(&requests->list)))
		requests_free(request);
}

struct request *requests_new(struct requests *requests, const struct orchestrator_request *wanted)
{
	struct request *request = mem_new(sizeof(*request));

	request->requests = requests;
	request->setting = requests->setting;
	request->number = ++requests->setting->last_number;
	request->wanted = requests_copy(wanted);
	request->result.request = request->number;
	TAILQ_INSERT_TAIL(&requests->list, request, entry);
	requests->count++;
	wake(request);
	return request;
}

struct request *requests_find(const struct requests *requests, uint64_t number)
{
	struct request *request;

	TAILQ_FOREACH (request, &requests->list, entry) {
		if (request->number == number)
			return request;
	}
	return NULL;
}

void requests_cancel(struct request *request)
{
	request->is_cancelled = true;
	wake(request);
}

void requests_cancel_questions(struct requests *requests, uint64_t exec)
{
	struct request *request;

	TAILQ_FOREACH (request, &requests->list, entry) {
		if (request->wanted.exec == exec)
			requests_cancel(request);
	}
}

void requests_ruled(struct request *request, const struct ruling *ruling)
{
	requests_enter(request, REQUEST_RULED);
	request->ruling = *ruling;
	wake(request);
}

void requests_exec_ended(struct request *request, struct exec_record *exec,
			 const struct orchestrator_outcome *outcome)
{
	struct orchestrator_result *result = &request->result;

	requests_enter(request, REQUEST_ENDED);
	exec->is_running = false;
	exec->is_deferred = outcome->is_deferred && outcome->end == EXEC_EXITED;
	result->outcomes[result->exec_count++] = outcome_copy(outcome);
	wake(request);
}

void requests_free(struct request *request)
{
	loop_timer_stop(&request->task);
	TAILQ_REMOVE(&request->requests->list, request, entry);
	request->requests->count--;
	for (size_t i = 0; i < request->result.exec_count; i++)
		outcome_free(&request->result.outcomes[i]);
	requests_drop(&request->wanted);
	key_free(&request->keys);
	access_done(&request->granted);
	access_done(&request->offered);
	exec_sandbox_free(request->sandbox);
	free(request);
}
