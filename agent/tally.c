#include "agent/tally.h"

#include <assert.h>

#include "base/mem.h"
#include "exec/orchestrator/orchestrator_decided.h"
#include "gateway/gateway_agent.h"

/* They follow the kinds. */
enum { PROGRAM = ORCHESTRATOR_KINDS, RETRY, ESCALATION, TOOLS };

static_assert(TALLY_TOOLS == TOOLS, "one for each kind, and three that are not kinds");

static const char *const more_tools[] = { "program", "retry", "escalation" };

static const char *const sources[TALLY_SOURCES] = {
	[TALLY_BY_POLICY] = "policy",     [TALLY_BY_CACHE] = "cache", [TALLY_BY_HOOK] = "hook",
	[TALLY_BY_REVIEWER] = "reviewer", [TALLY_BY_USER] = "user",   [TALLY_BY_NOBODY] = "nobody",
};

static unsigned int tool_of(const struct orchestrator_decided *decided, bool is_program)
{
	if (is_program)
		return PROGRAM;
	if (decided->is_retry)
		return RETRY;
	return decided->wanted->confinement == ORCHESTRATOR_ESCALATED ? ESCALATION : decided->kind;
}

void tally_decided(struct tally *tally, const struct orchestrator_decided *decided, bool is_program)
{
	static const enum tally_source of[ORCHESTRATOR_BYS] = {
		[ORCHESTRATOR_BY_RULE] = TALLY_BY_POLICY,
		[ORCHESTRATOR_BY_MODE] = TALLY_BY_POLICY,
		[ORCHESTRATOR_BY_EARLIER] = TALLY_BY_CACHE,
		[ORCHESTRATOR_BY_PERSON] = TALLY_BY_USER,
		[ORCHESTRATOR_BY_NOBODY] = TALLY_BY_NOBODY,
		[ORCHESTRATOR_BY_HOOK] = TALLY_BY_HOOK,
		[ORCHESTRATOR_BY_REVIEWER] = TALLY_BY_REVIEWER,
		[ORCHESTRATOR_BY_TIMEOUT] = TALLY_BY_NOBODY,
		[ORCHESTRATOR_BY_ABSENCE] = TALLY_BY_NOBODY,
		[ORCHESTRATOR_BY_DEPARTURE] = TALLY_BY_NOBODY,
		[ORCHESTRATOR_BY_WITHDRAWAL] = TALLY_BY_NOBODY,
	};

	tally->counts[tool_of(decided, is_program)][decided->is_allowed][of[decided->by]]++;
}

static enum tally_source source_of_allow(enum policy_reason reason)
{
	switch ((int)reason) {
	case POLICY_GRANTED_ONCE:
	case POLICY_GRANTED_EXEC:
	case POLICY_GRANTED_SESSION:
	case POLICY_GRANTED_ALWAYS:
		return TALLY_BY_USER;
	case POLICY_GRANTED_REVIEW:
		return TALLY_BY_REVIEWER;
	default:
		return TALLY_BY_POLICY;
	}
}

void tally_network(struct tally *tally, const struct gateway_exec_event *event)
{
	static const enum tally_source denials[] = {
		[GATEWAY_BY_NOBODY] = TALLY_BY_NOBODY,
		[GATEWAY_BY_POLICY] = TALLY_BY_POLICY,
		[GATEWAY_BY_PERSON] = TALLY_BY_USER,
		[GATEWAY_BY_REVIEW] = TALLY_BY_REVIEWER,
	};
	uint64_t(*counts)[TALLY_SOURCES] = tally->counts[ORCHESTRATOR_NETWORK];

	if (event->kind == GATEWAY_EXEC_ALLOWED)
		counts[true][source_of_allow(event->reason)]++;
	else if (event->kind == GATEWAY_EXEC_DENIED && event->whose != GATEWAY_BY_NETWORK)
		counts[false][denials[event->whose]]++; /* a failure is not a decision */
}

json_t *tally_json(const struct tally *tally, const char *const *tools)
{
	json_t *list = json_array();

	for (size_t tool = 0; tool < TALLY_TOOLS; tool++) {
		for (size_t at = 0; at < (size_t)2 * TALLY_SOURCES; at++) {
			bool is_allowed = at >= TALLY_SOURCES;
			size_t source = at % TALLY_SOURCES;
			uint64_t count = tally->counts[tool][is_allowed][source];

			if (count == 0)
				continue;
			/* fails only without memory */
			(void)json_array_append_new(
				list,
				json_pack("{s:s, s:s, s:s, s:I}", "tool",
					  tool < PROGRAM ? tools[tool] : more_tools[tool - PROGRAM],
					  "decision", is_allowed ? "allow" : "deny", "source",
					  sources[source], "count", (json_int_t)count));
		}
	}
	return list;
}
