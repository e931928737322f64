#include "gateway/approvals/sessions.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "gateway/approvals/approval.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_agent.h"
#include "gateway/grants/ledger.h"

uint64_t sessions_of_waiter(const struct waiter *waiter)
{
	const struct gateway_exec *exec =
		waiter->facts.exec ? execs_find(waiter->gw, waiter->facts.exec) : NULL;

	return exec ? exec->session : waiter->session;
}

static size_t sessions_add(uint64_t list[SESSIONS_MAX], size_t count, uint64_t session)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == session)
			return count;
	}
	if (count == SESSIONS_MAX)
		return count;
	list[count] = session;
	return count + 1;
}

size_t sessions_of_approval(const struct approval *approval, uint64_t ret[SESSIONS_MAX])
{
	const struct party *party;
	const struct waiter *waiter;
	size_t count = 0;

	TAILQ_FOREACH (party, &approval->parties, entry) {
		if (party->exec) {
			count = sessions_add(ret, count, party->exec->session);
			continue;
		}
		TAILQ_FOREACH (waiter, &party->waiters, entry)
			count = sessions_add(ret, count, waiter->session);
	}
	return count > 0 ? count : sessions_add(ret, 0, 0);
}

int gateway_exec_join(struct gateway *gw, uint64_t exec, uint64_t session, int64_t question_ms)
{
	struct gateway_exec *found = execs_find(gw, exec);

	if (!found)
		return -ENOENT;
	found->session = session;
	found->question_ms = question_ms;
	return 0;
}

void gateway_session_end(struct gateway *gw, uint64_t session)
{
	if (session != 0)
		ledger_end_session(gw, session);
}

/* The session's grants, those of its commands, and those for all sessions. */
static bool sessions_has(const struct gateway *gw, uint64_t session, const struct grant *grant)
{
	const struct gateway_exec *exec = grant->exec ? execs_find(gw, grant->exec) : NULL;

	return exec ? exec->session == session : grant->session == session || grant->session == 0;
}

void gateway_session_grants(const struct gateway *gw, uint64_t session, gateway_grant_fn each,
			    void *arg)
{
	const struct grant *grant;

	TAILQ_FOREACH (grant, &gw->grants.all, order) {
		const struct gateway_grant shown = {
			.id = grant->id_node.number,
			.action = grant->action,
			.scope = grant->scope,
			.exec = grant->exec,
			.text = grant->text,
			.by = grant->by,
			.until_s = grant->until_s,
		};

		if (sessions_has(gw, session, grant))
			each(&shown, arg);
	}
}

int gateway_session_revoke(struct gateway *gw, uint64_t session, uint64_t id, const char *by,
			   struct err *why)
{
	const struct grant *grant = grants_by_id(&gw->grants, id);
	struct approver_revoked revoked;

	if (!grant || grant->over != POLICY_NONE || !sessions_has(gw, session, grant))
		return err_set(why, -ENOENT, "there is no remembered answer with that number");
	/* Only its author may revoke a denial, and a grant that is valid elsewhere is not this
	 * session's. */
	if (grant->scope == GATEWAY_ALWAYS || (grant->exec == 0 && grant->session != session) ||
	    (grant->action == POLICY_DENY && strcmp(grant->by, by) != 0))
		return err_set(why, -EPERM, "this session cannot revoke that answer");
	return ledger_revoke(gw, id, by, &revoked, why);
}
