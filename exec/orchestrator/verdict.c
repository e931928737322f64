#include "exec/orchestrator/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/exec_record.h"
#include "exec/orchestrator/judging/requirement.h"
#include "exec/orchestrator/setting.h"

const char *verdict_forbidden(struct request *request)
{
	const struct judgement *judgement = &request->judgement;
	bool is_never = request->setting->config.mode == ORCHESTRATOR_NEVER;
	auto_free char *text = mem_printf(
		"%s%s", judgement->reason[0] ? judgement->reason : "this needs an answer",
		is_never ? "; this session asks no questions" : "");
	char *why = request->result.why;

	(void)snprintf(why, sizeof(request->result.why), "%s", text);
	return why;
}

static bool has_system_call(const struct orchestrator_outcome *outcome)
{
	for (size_t i = 0; i < outcome->refusal_count; i++) {
		if (outcome->refusals[i].access.what == ORCHESTRATOR_SYSTEM_CALL)
			return true;
	}
	return false;
}

/* Did a refusal make it fail? Only evidence tells. An unconfined run is refused nothing by us. */
static bool is_denied(const struct request *request, const struct orchestrator_outcome *outcome)
{
	if (!request->is_confined || outcome->refusal_count == 0 || outcome->is_deferred)
		return false;
	if (outcome->end == EXEC_SIGNALLED)
		return outcome->status == SIGSYS && has_system_call(outcome);
	return outcome->end == EXEC_EXITED && outcome->status != 0 && !outcome->is_clean;
}

/* Does a network refusal make it a denial, however the exec ended? */
static bool is_strictly_denied(const struct exec_record *exec,
			       const struct orchestrator_outcome *outcome)
{
	return exec && exec_record_outcome(exec).is_denial && !outcome->is_deferred &&
	       (outcome->end == EXEC_EXITED || outcome->end == EXEC_CANCELLED ||
		outcome->end == EXEC_DENIED || outcome->end == EXEC_SIGNALLED);
}

static enum orchestrator_result_kind plain_kind(const struct orchestrator_outcome *outcome,
						bool is_cancelled)
{
	switch (outcome->end) {
	case EXEC_EXITED:
		return ORCHESTRATOR_DONE;
	case EXEC_SIGNALLED:
		return ORCHESTRATOR_RESULT_SIGNALLED;
	case EXEC_TIMED_OUT:
		return ORCHESTRATOR_RESULT_TIMED_OUT;
	case EXEC_INTERRUPTED:
		return ORCHESTRATOR_RESULT_INTERRUPTED;
	case EXEC_CANCELLED:
	case EXEC_DENIED:
		return is_cancelled ? ORCHESTRATOR_CANCELLED : ORCHESTRATOR_RESULT_FAILED;
	case EXEC_NOT_STARTED:
		return ORCHESTRATOR_RESULT_NOT_STARTED;
	case EXEC_KILLED:
		break;
	}
	return ORCHESTRATOR_RESULT_FAILED;
}

/* Can an answer grant it, and is it not granted yet? */
static bool can_be_opened(struct request *request, const struct exec_record *exec,
			  const struct orchestrator_refusal *refusal)
{
	struct approvals *approvals = &request->setting->approvals;
	const struct orchestrator_access *access = &refusal->access;
	int64_t now_ms = setting_now_ms(request->setting);
	struct key key = { 0 };

	if (refusal->is_final || access_check(access, NULL) < 0 ||
	    access_has(&request->granted, access) || access_is_given(request->sandbox, access))
		return false;
	if (access->what != ORCHESTRATOR_DESTINATION)
		return true;
	if ((exec && exec_record_has_denied(exec, access)) || key_of_access(&key, access) < 0)
		return false;
	bool is_denied_here = approvals_look(approvals, &key, now_ms) == APPROVALS_DENIED;

	free(key.text);
	return !is_denied_here;
}

/* Adds it to the offer, unless the sandbox cannot be widened by it because an entry denies it. */
static void offer(struct request *request, const struct orchestrator_access *access)
{
	struct access_list one = { 0 };

	if (request->granted.count + request->offered.count >= ORCHESTRATOR_ACCESSES_MAX)
		return;
	(void)access_add(&one, access);
	struct exec_sandbox *wider = access_widen(request->sandbox, &one, NULL);

	if (wider)
		(void)access_add(&request->offered, access);
	exec_sandbox_free(wider);
	access_done(&one);
}

/* Removes from the offer what may not be asked about. */
static void keep_offered(struct request *request, const struct requirement_offer *may)
{
	struct access_list all = request->offered;

	request->offered = (struct access_list){ 0 };
	for (size_t i = 0; i < all.count; i++) {
		bool is_destination = all.list[i].what == ORCHESTRATOR_DESTINATION;

		if (is_destination ? may->destinations : may->others)
			(void)access_add(&request->offered, &all.list[i]);
	}
	access_done(&all);
}

static struct requirement_offer find_offer(struct request *request, const struct exec_record *exec,
					   const struct orchestrator_outcome *outcome)
{
	const struct orchestrator_config *config = &request->setting->config;
	struct requirement_retry retry = {
		.asking = { config->mode, config->categories },
		.sandbox = requirement_sandbox(request->wanted.sandbox),
		.may_retry = request->wanted.may_retry,
		.may_unconfine = config->may_unconfine && !request->wanted.must_confine,
	};

	for (size_t i = 0; i < outcome->refusal_count; i++) {
		const struct orchestrator_refusal *refusal = &outcome->refusals[i];

		if (refusal->access.what != ORCHESTRATOR_DESTINATION)
			retry.is_other_than_net |= !refusal->is_final;
		if (can_be_opened(request, exec, refusal))
			offer(request, &refusal->access);
	}
	for (size_t i = 0; i < request->offered.count; i++) {
		if (request->offered.list[i].what == ORCHESTRATOR_DESTINATION)
			retry.has_destinations = true;
		else
			retry.has_others = true;
	}
	struct requirement_offer may = requirement_retry(&retry);

	keep_offered(request, &may);
	return may;
}

/* "refused: write /a; https://a.test:443", from @refusals; never from the output. */
static void describe(char *out, size_t size, const struct orchestrator_outcome *outcome)
{
	size_t used = (size_t)snprintf(out, size, "refused");

	for (size_t i = 0; i < outcome->refusal_count && used < size - 1; i++) {
		auto_free char *text = access_text(&outcome->refusals[i].access);
		auto_free char *visible = text_visible_dup(text);
		int wrote =
			snprintf(out + used, size - used, "%s%s", i == 0 ? ": " : "; ", visible);

		used += wrote > 0 ? (size_t)wrote : 0;
	}
}

static void consider_retry(struct request *request, const struct exec_record *exec,
			   const struct orchestrator_outcome *outcome, struct verdict *ret)
{
	struct requirement_offer may = find_offer(request, exec, outcome);

	if (request->offered.count == 0 && !may.unconfined)
		return;
	ret->sandbox = access_widen(request->sandbox, &request->offered, NULL);
	ret->may_unconfine = may.unconfined;
	ret->may_retry = ret->sandbox != NULL;
}

void verdict_make(struct request *request, struct exec_record *exec, struct verdict *ret)
{
	const struct orchestrator_result *result = &request->result;
	const struct orchestrator_outcome *outcome = &result->outcomes[result->exec_count - 1];

	*ret = (struct verdict){ .kind = plain_kind(outcome, request->is_cancelled) };
	(void)snprintf(ret->why, sizeof(ret->why), "%s", outcome->why ? outcome->why : "");
	if (ret->kind == ORCHESTRATOR_CANCELLED)
		return;
	if (is_strictly_denied(exec, outcome)) {
		ret->kind = ORCHESTRATOR_DENIED;
		(void)snprintf(ret->why, sizeof(ret->why), "%s", exec->network.text);
		return;
	}
	if (!is_denied(request, outcome))
		return;
	ret->kind = ORCHESTRATOR_DENIED;
	describe(ret->why, sizeof(ret->why), outcome);
	if (!request->is_retry && !request->is_cancelled)
		consider_retry(request, exec, outcome, ret);
}
