#include "exec/orchestrator/confine.h"

#include "base/err.h"
#include "exec/orchestrator/request.h"

/* @sandbox with @granted where it is confined, else what confines nothing. Owned. */
static struct exec_sandbox *make(const struct exec_sandbox *sandbox, bool is_confined,
				 const struct access_list *granted, struct err *why)
{
	const struct requirement_sandbox confines = requirement_sandbox(sandbox);

	if (is_confined)
		return access_widen(sandbox, granted, why);
	return requirement_is_open(&confines) ? exec_sandbox_copy(sandbox)
					      : exec_sandbox_unconfined(sandbox, why);
}

static void add_all(struct access_list *to, const struct orchestrator_access *list, size_t count)
{
	/* There is room: no more is accepted, and no more is offered. */
	for (size_t i = 0; i < count; i++)
		(void)access_add(to, &list[i]);
}

/* What has no attempt: does the sandbox that it is of let it be granted? */
static bool may_be_granted(const struct orchestrator_request *request, struct err *why)
{
	struct access_list wanted = { 0 };

	if (!request->sandbox)
		return true;
	add_all(&wanted, request->accesses, request->access_count);
	struct exec_sandbox *wider = access_widen(request->sandbox, &wanted, why);

	access_done(&wanted);
	exec_sandbox_free(wider);
	return wider != NULL;
}

bool confine_first(struct call *call, struct err *why)
{
	const struct orchestrator_request *request = &call->request;
	const struct judgement *judgement = &call->judgement;

	if (!request_has_attempt(request))
		return may_be_granted(request, why);
	call->is_confined = judgement->is_confined;
	if (judgement->is_confined)
		add_all(&call->granted, request->granted, request->granted_count);
	if (judgement->is_confined && judgement->wish == ORCHESTRATOR_WITH_ACCESS)
		add_all(&call->granted, request->accesses, request->access_count);
	call->sandbox = make(request->sandbox, call->is_confined, &call->granted, why);
	return call->sandbox != NULL;
}

bool confine_retry(struct call *call, struct err *why)
{
	bool is_confined = call->ruling.choice != ORCHESTRATOR_UNCONFINED;

	call->granted_before = call->granted.count;
	if (is_confined)
		add_all(&call->granted, call->offered.list, call->offered.count);
	struct exec_sandbox *sandbox =
		make(call->request.sandbox, is_confined, &call->granted, why);

	if (!sandbox)
		return false;
	exec_sandbox_free(call->sandbox);
	call->sandbox = sandbox;
	call->is_confined = is_confined;
	return true;
}
