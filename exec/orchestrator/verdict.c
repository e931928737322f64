#include "exec/orchestrator/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/attempt.h"

const char *verdict_forbidden(struct call *call)
{
	const struct judgement *judgement = &call->judgement;
	bool is_never = call->orchestrator->config.mode == ORCHESTRATOR_NEVER;
	auto_free char *text =
		mem_printf("%s%s", judgement->reason[0] ? judgement->reason : "it would be asked",
			   is_never ? "; and nobody is asked in this session" : "");
	char *why = call->result.why;

	(void)snprintf(why, sizeof(call->result.why), "%s", text);
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

/* Did what refused it make it fail? Only evidence says so. A run with nothing around it is refused
 * nothing of ours. */
static bool is_denied(const struct call *call, const struct orchestrator_outcome *outcome)
{
	if (!call->is_confined || outcome->refusal_count == 0 || outcome->is_deferred)
		return false;
	if (outcome->end == ORCHESTRATOR_SIGNALLED)
		return outcome->status == SIGSYS && has_system_call(outcome);
	return outcome->end == ORCHESTRATOR_EXITED && outcome->status != 0;
}

/* Does what the network refused make it a denial, whatever the attempt made of it? */
static bool is_strictly_denied(const struct attempt *attempt,
			       const struct orchestrator_outcome *outcome)
{
	return attempt && attempt_outcome(attempt).is_denial && !outcome->is_deferred &&
	       (outcome->end == ORCHESTRATOR_EXITED || outcome->end == ORCHESTRATOR_STOPPED ||
		outcome->end == ORCHESTRATOR_SIGNALLED);
}

static enum orchestrator_result_kind plain_kind(const struct orchestrator_outcome *outcome,
						bool is_cancelled)
{
	switch (outcome->end) {
	case ORCHESTRATOR_EXITED:
		return ORCHESTRATOR_DONE;
	case ORCHESTRATOR_SIGNALLED:
		return ORCHESTRATOR_RESULT_SIGNALLED;
	case ORCHESTRATOR_TIMED_OUT:
		return ORCHESTRATOR_RESULT_TIMED_OUT;
	case ORCHESTRATOR_INTERRUPTED:
		return ORCHESTRATOR_RESULT_INTERRUPTED;
	case ORCHESTRATOR_STOPPED:
		return is_cancelled ? ORCHESTRATOR_CANCELLED : ORCHESTRATOR_RESULT_FAILED;
	case ORCHESTRATOR_NOT_STARTED:
		return ORCHESTRATOR_RESULT_NOT_STARTED;
	case ORCHESTRATOR_FAILED:
		break;
	}
	return ORCHESTRATOR_RESULT_FAILED;
}

/* Can an answer open it, and is it not open yet? */
static bool can_be_opened(struct call *call, const struct attempt *attempt,
			  const struct orchestrator_refusal *refusal)
{
	struct approvals *approvals = &call->orchestrator->approvals;
	const struct orchestrator_access *access = &refusal->access;
	int64_t now_ms = loop_now_ms(call->orchestrator->loop);
	struct key key = { 0 };

	if (refusal->is_final || access_check(access, NULL) < 0 ||
	    access_has(&call->granted, access) || access_is_given(call->sandbox, access))
		return false;
	if (access->what != ORCHESTRATOR_DESTINATION)
		return true;
	if ((attempt && outcome_has_denied(&attempt->network, access)) ||
	    key_of_destination(&key, call->request.environment, access) < 0)
		return false;
	bool is_denied_here = approvals_look(approvals, &key, now_ms) == APPROVALS_DENIED;

	free(key.text);
	return !is_denied_here;
}

/* Adds it to what is offered, unless the sandbox cannot be widened by it: an entry denies it. */
static void offer(struct call *call, const struct orchestrator_access *access)
{
	struct access_list one = { 0 };

	if (call->granted.count + call->offered.count >= ORCHESTRATOR_ACCESSES_MAX)
		return;
	(void)access_add(&one, access);
	struct exec_sandbox *wider = access_widen(call->sandbox, &one, NULL);

	if (wider)
		(void)access_add(&call->offered, access);
	exec_sandbox_free(wider);
	access_done(&one);
}

/* Leaves of what is offered what may be asked about. */
static void keep_offered(struct call *call, const struct requirement_offer *may)
{
	struct access_list all = call->offered;

	call->offered = (struct access_list){ 0 };
	for (size_t i = 0; i < all.count; i++) {
		bool is_destination = all.list[i].what == ORCHESTRATOR_DESTINATION;

		if (is_destination ? may->destinations : may->others)
			(void)access_add(&call->offered, &all.list[i]);
	}
	access_done(&all);
}

static struct requirement_offer find_offer(struct call *call, const struct attempt *attempt,
					   const struct orchestrator_outcome *outcome)
{
	const struct orchestrator_config *config = &call->orchestrator->config;
	struct requirement_retry retry = {
		.asking = { config->mode, config->categories },
		.sandbox = requirement_sandbox(call->request.sandbox),
		.may_retry = call->request.may_retry,
		.may_unconfine = config->may_unconfine,
	};

	for (size_t i = 0; i < outcome->refusal_count; i++) {
		const struct orchestrator_refusal *refusal = &outcome->refusals[i];

		if (refusal->access.what != ORCHESTRATOR_DESTINATION)
			retry.is_other_than_net |= !refusal->is_final;
		if (can_be_opened(call, attempt, refusal))
			offer(call, &refusal->access);
	}
	for (size_t i = 0; i < call->offered.count; i++) {
		if (call->offered.list[i].what == ORCHESTRATOR_DESTINATION)
			retry.has_destinations = true;
		else
			retry.has_others = true;
	}
	struct requirement_offer may = requirement_retry(&retry);

	keep_offered(call, &may);
	return may;
}

/* "refused: write /a; https://a.test:443", of @refusals; never of the output. */
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

static void consider_retry(struct call *call, const struct attempt *attempt,
			   const struct orchestrator_outcome *outcome, struct verdict *ret)
{
	struct requirement_offer may = find_offer(call, attempt, outcome);

	if (call->offered.count == 0 && !may.unconfined)
		return;
	ret->sandbox = access_widen(call->sandbox, &call->offered, NULL);
	ret->may_unconfine = may.unconfined;
	ret->may_retry = ret->sandbox != NULL;
}

void verdict_make(struct call *call, struct attempt *attempt, struct verdict *ret)
{
	const struct orchestrator_result *result = &call->result;
	const struct orchestrator_outcome *outcome = &result->outcomes[result->attempt_count - 1];

	*ret = (struct verdict){ .kind = plain_kind(outcome, call->is_cancelled) };
	(void)snprintf(ret->why, sizeof(ret->why), "%s", outcome->why ? outcome->why : "");
	if (ret->kind == ORCHESTRATOR_CANCELLED)
		return;
	if (is_strictly_denied(attempt, outcome)) {
		ret->kind = ORCHESTRATOR_DENIED;
		(void)snprintf(ret->why, sizeof(ret->why), "%s", attempt->network.text);
		return;
	}
	if (!is_denied(call, outcome))
		return;
	ret->kind = ORCHESTRATOR_DENIED;
	describe(ret->why, sizeof(ret->why), outcome);
	if (!call->is_retry && !call->is_cancelled)
		consider_retry(call, attempt, outcome, ret);
}
