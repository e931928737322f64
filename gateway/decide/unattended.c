#include "gateway/decide/unattended.h"

#include <stdlib.h>

#include "base/mem.h"
#include "gateway/bundle/bundle.h"
#include "gateway/execs/execs.h"
#include "gateway/execs/lookups.h"
#include "gateway/audit/redact.h"

#define PROGRAMS_MAX 256 /* destinations for which the asking program is looked up */

/* An approver that was present and did not answer counts as absent. */
static bool unattended_is(const struct policy_verdict *verdict)
{
	return verdict->action == POLICY_DENY &&
	       (verdict->reason == POLICY_NO_APPROVER || verdict->reason == POLICY_APPROVER_GONE ||
		verdict->reason == POLICY_PROMPT_TIMEOUT);
}

static bool unattended_is_new(const struct bundle *bundle, const struct policy_destination *dst)
{
	return bundle && !bundle_has(bundle, dst) && bundle_count(bundle) < PROGRAMS_MAX;
}

bool unattended_wants(const struct waiter *waiter)
{
	const struct gateway_exec *exec = execs_find(waiter->gw, waiter->facts.exec);

	return unattended_is_new(waiter->gw->config.bundle, &waiter->facts.dst) ||
	       (exec && unattended_is_new(exec->bundle, &waiter->facts.dst));
}

static void unattended_note_in(struct bundle *bundle, const struct waiter *waiter,
			       const struct policy_verdict *verdict)
{
	struct gateway *gw = waiter->gw;
	const struct policy_facts *facts = &waiter->facts;
	const struct gateway_exec *exec = execs_find(gw, facts->exec);
	char chain[SOCKET_OWNER_CHAIN_MAX];
	bool is_known = bundle_has(bundle, &facts->dst);
	int64_t now_s = loop_wall_us(gw->loop) / 1000000;
	auto_free char *command = exec ? redact_command(exec->command) : NULL;

	lookups_chain(waiter, chain);
	const struct bundle_request request = {
		.dst = facts->dst,
		.count = 1,
		.runs = is_known ? 0 : 1,
		.first_s = now_s,
		.last_s = now_s,
		.rule = verdict->rule,
		.because = verdict->because,
		.program = waiter->program ? waiter->program : "",
		.chain = chain,
		.plea = facts->plea,
		.commands = { command },
	};

	bundle_note(bundle, &request);
}

void unattended_note(struct gateway *gw, const struct waiter *waiter,
		     const struct policy_verdict *verdict)
{
	const struct gateway_exec *exec = execs_find(gw, waiter->facts.exec);

	if (!unattended_is(verdict))
		return;
	if (gw->config.bundle)
		unattended_note_in(gw->config.bundle, waiter, verdict);
	if (exec && exec->bundle)
		unattended_note_in(exec->bundle, waiter, verdict);
}
