#include "exec/orchestrator/judging/confine.h"

#include "base/err.h"
#include "exec/orchestrator/requests.h"
#include "exec/orchestrator/judging/requirement.h"

/* @sandbox with @granted if it is confined, else an unconfined one. Owned. */
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
	/* It fits: the number of accepted and of offered accesses is limited. */
	for (size_t i = 0; i < count; i++)
		(void)access_add(to, &list[i]);
}

/* For a request without an exec: could the sandbox it is about be widened like this? */
static bool may_be_granted(const struct orchestrator_request *wanted, struct err *why)
{
	struct access_list list = { 0 };

	if (!wanted->sandbox)
		return true;
	add_all(&list, wanted->accesses, wanted->access_count);
	struct exec_sandbox *wider = access_widen(wanted->sandbox, &list, why);

	access_done(&list);
	exec_sandbox_free(wider);
	return wider != NULL;
}

bool confine_first(struct request *request, struct err *why)
{
	const struct orchestrator_request *wanted = &request->wanted;
	const struct judgement *judgement = &request->judgement;

	if (!requests_acts(wanted))
		return may_be_granted(wanted, why);
	request->is_confined = judgement->is_confined;
	if (judgement->is_confined)
		add_all(&request->granted, wanted->granted, wanted->granted_count);
	if (judgement->is_confined && judgement->confinement == ORCHESTRATOR_WITH_ACCESS)
		add_all(&request->granted, wanted->accesses, wanted->access_count);
	request->sandbox = make(wanted->sandbox, request->is_confined, &request->granted, why);
	return request->sandbox != NULL;
}

bool confine_retry(struct request *request, struct err *why)
{
	bool is_confined = request->ruling.choice != ORCHESTRATOR_UNCONFINED;

	request->granted_before = request->granted.count;
	if (is_confined)
		add_all(&request->granted, request->offered.list, request->offered.count);
	struct exec_sandbox *sandbox =
		make(request->wanted.sandbox, is_confined, &request->granted, why);

	if (!sandbox)
		return false;
	exec_sandbox_free(request->sandbox);
	request->sandbox = sandbox;
	request->is_confined = is_confined;
	return true;
}
