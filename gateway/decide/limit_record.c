#include "gateway/decide/limit_record.h"

#include <inttypes.h>

#include "base/mem.h"
#include "gateway/execs/execs.h"
#include "gateway/gateway_tools.h"
#include "gateway/audit/journal.h"
#include "gateway/decide/queue.h"

void limit_record_limit(struct gateway *gw, struct gateway_exec *exec, enum policy_limit limit)
{
	uint64_t held = policy_limit_held(gw->config.policy, limit);
	const char *name = policy_limit_name(limit);

	gw->limits_reached |= BIT(limit);
	if (!exec || (exec->limits_reached & BIT(limit)) != 0)
		return;
	exec->limits_reached |= BIT(limit);
	auto_free char *cause = held ? mem_printf("the command reached limit %s %" PRIu64
						  "; a line `limit %s N` in a policy changes it",
						  name, held, name)
				     : mem_printf("the command reached this machine's limit of %s; "
						  "a line `limit %s N` in a policy changes it",
						  name, name);
	struct sink_record record = {
		.event = SINK_LIMIT,
		.exec = exec->node.number,
		.kind = name,
		.cause = cause,
	};

	journal_stamp(gw->journal, &record);
	(void)journal_write_later(gw->journal, &record); /* the error is kept */
	queue_schedule(gw);
}

const char *limit_record_questions(struct gateway *gw, struct gateway_exec *exec)
{
	if (!exec ||
	    exec->party_count < policy_limit_held(gw->config.policy, POLICY_LIMIT_QUESTIONS))
		return NULL;
	limit_record_limit(gw, exec, POLICY_LIMIT_QUESTIONS);
	return "this command reached its limit of open questions; a line `limit questions N` in a "
	       "policy changes it";
}

void gateway_exec_reached(struct gateway *gw, uint64_t id, enum policy_limit limit)
{
	limit_record_limit(gw, execs_find(gw, id), limit);
}

unsigned int gateway_limits_reached(const struct gateway *gw)
{
	return gw->limits_reached;
}
