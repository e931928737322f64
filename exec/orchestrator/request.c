#include "exec/orchestrator/request.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "exec/orchestrator/access.h"

bool request_has_attempt(const struct orchestrator_request *request)
{
	return request->kind == ORCHESTRATOR_EXEC || request->kind == ORCHESTRATOR_PATCH;
}

static int check_words(const char *const *words, size_t count, const char *what, struct err *why)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(words[i]) + 1;
	if (count > REQUEST_WORDS_MAX || bytes > REQUEST_BYTES_MAX)
		return err_set(why, -E2BIG, "%s: more than %d words or %u bytes", what,
			       REQUEST_WORDS_MAX, REQUEST_BYTES_MAX);
	return 0;
}

static size_t count_words(const char *const *words)
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

static int check_run(const struct orchestrator_request *request, struct err *why)
{
	bool has_wish = request->wish == ORCHESTRATOR_WITH_ACCESS;

	if (!request->sandbox)
		return err_set(why, -EINVAL, "a run needs a sandbox");
	if (!request->cwd || request->cwd[0] != '/')
		return err_set(why, -EINVAL, "a run needs an absolute folder to begin in");
	if ((unsigned int)request->wish > ORCHESTRATOR_ESCALATED ||
	    (unsigned int)request->preference > ORCHESTRATOR_SANDBOX_FORBID)
		return err_set(why, -EINVAL, "no such wish or preference");
	if (has_wish != (request->access_count > 0))
		return err_set(why, -EINVAL,
			       "what is to be touched goes with a wish for it, and only with it");
	if (request->attempt != 0)
		return err_set(why, -EINVAL, "a run is not part of another attempt");
	if (request->kind == ORCHESTRATOR_EXEC && count_words(request->argv) == 0)
		return err_set(why, -EINVAL, "there is no command");
	return 0;
}

static int check_question(const struct orchestrator_request *request, struct err *why)
{
	if (request->kind == ORCHESTRATOR_NETWORK &&
	    (request->access_count != 1 || request->accesses[0].what != ORCHESTRATOR_DESTINATION ||
	     !request->sandbox))
		return err_set(why, -EINVAL,
			       "a network request has one destination and the sandbox it is of");
	if (request->kind == ORCHESTRATOR_PERMISSIONS && request->access_count == 0)
		return err_set(why, -EINVAL, "a request for permissions says which");
	if (request->kind == ORCHESTRATOR_ELICITATION && request->access_count > 0)
		return err_set(why, -EINVAL, "a tool's question grants nothing");
	return 0;
}

int request_check(const struct orchestrator_request *request, struct err *why)
{
	if ((unsigned int)request->kind >= ORCHESTRATOR_KINDS || !request->done ||
	    (unsigned int)request->on_denial > ORCHESTRATOR_STOP ||
	    (unsigned int)request->requirement > ORCHESTRATOR_SKIP)
		return err_set(why, -EINVAL, "no such request");
	if (request->access_count + request->granted_count > ORCHESTRATOR_ACCESSES_MAX ||
	    request->key_count > ORCHESTRATOR_KEYS_MAX)
		return err_set(why, -E2BIG, "more than %d accesses or %d keys",
			       ORCHESTRATOR_ACCESSES_MAX, ORCHESTRATOR_KEYS_MAX);
	int r = check_words(request->argv, count_words(request->argv), "a command", why);

	if (r == 0)
		r = check_words(request->env, count_words(request->env), "an environment", why);
	if (r == 0)
		r = check_words(request->keys, request->key_count, "keys", why);
	if (r == 0)
		r = request_has_attempt(request) ? check_run(request, why)
						 : check_question(request, why);
	for (size_t i = 0; r == 0 && i < request->access_count; i++)
		r = access_check(&request->accesses[i], why);
	for (size_t i = 0; r == 0 && i < request->granted_count; i++)
		r = access_check(&request->granted[i], why);
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

struct orchestrator_request request_copy(const struct orchestrator_request *request)
{
	struct orchestrator_request copy = *request;

	copy.accesses = copy_accesses(request->accesses, request->access_count);
	copy.granted = copy_accesses(request->granted, request->granted_count);
	copy.environment = mem_strdup(request->environment ? request->environment : "");
	copy.cwd = mem_strdup(request->cwd ? request->cwd : "");
	copy.argv = (const char *const *)copy_list(request->argv, count_words(request->argv));
	copy.env = (const char *const *)copy_list(request->env, count_words(request->env));
	copy.keys = (const char *const *)copy_list(request->keys, request->key_count);
	copy.sandbox = request->sandbox ? exec_sandbox_copy(request->sandbox) : NULL;
	copy.reason = mem_strdup_or_null(request->reason);
	copy.justification = mem_strdup_or_null(request->justification);
	return copy;
}

void request_drop(struct orchestrator_request *request)
{
	for (size_t i = 0; i < request->access_count; i++)
		free_access(&request->accesses[i]);
	for (size_t i = 0; i < request->granted_count; i++)
		free_access(&request->granted[i]);
	free((struct orchestrator_access *)request->accesses);
	free((struct orchestrator_access *)request->granted);
	free((char *)request->environment);
	free((char *)request->cwd);
	mem_free_list((char **)request->argv);
	mem_free_list((char **)request->env);
	mem_free_list((char **)request->keys);
	exec_sandbox_free((struct exec_sandbox *)request->sandbox);
	free((char *)request->reason);
	free((char *)request->justification);
	*request = (struct orchestrator_request){ 0 };
}

struct orchestrator_outcome request_outcome_copy(const struct orchestrator_outcome *outcome)
{
	struct orchestrator_outcome copy = *outcome;
	size_t count = outcome->refusal_count;

	if (count > REQUEST_REFUSALS_MAX)
		count = REQUEST_REFUSALS_MAX;
	struct orchestrator_refusal *refusals = mem_new_array(count + 1, sizeof(*refusals));

	for (size_t i = 0; i < count; i++) {
		refusals[i] = outcome->refusals[i];
		copy_access(&refusals[i].access, &outcome->refusals[i].access);
		/* What nobody knows the kind of cannot be granted. */
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

void request_outcome_free(struct orchestrator_outcome *outcome)
{
	for (size_t i = 0; i < outcome->refusal_count; i++) {
		free_access(&outcome->refusals[i].access);
		free((char *)outcome->refusals[i].why);
	}
	free((struct orchestrator_refusal *)outcome->refusals);
	free((char *)outcome->why);
}
