#include "exec/orchestrator/decided.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/orchestrator/setting.h"

const char decided_unrecorded[] = "denied, because the decision could not be recorded";

static void add(char **text, const char *more)
{
	mem_append(text, "%s%s", (*text)[0] ? "; " : "", more);
}

/* The accesses that the request waits for, or would have been granted. Owned. */
static char *grants_of(const struct request *request, bool *ret_is_network)
{
	const struct orchestrator_request *wanted = &request->wanted;
	bool is_exec_without = wanted->kind == ORCHESTRATOR_EXEC &&
			       wanted->confinement != ORCHESTRATOR_WITH_ACCESS;
	const struct orchestrator_access *list =
		request->is_retry ? request->offered.list : wanted->accesses;
	size_t count = request->is_retry ? request->offered.count
		       : is_exec_without ? 0
					 : wanted->access_count;
	char *text = mem_strdup("");

	*ret_is_network = count > 0;
	for (size_t i = 0; i < count; i++) {
		auto_free char *one = access_text(&list[i]);

		add(&text, one);
		*ret_is_network &= list[i].what == ORCHESTRATOR_DESTINATION;
	}
	return text;
}

static enum orchestrator_holds holds_of(const struct ruling *ruling)
{
	static const enum orchestrator_holds holds[] = {
		[ORCHESTRATOR_DENY] = ORCHESTRATOR_HOLDS_ONCE,
		[ORCHESTRATOR_ABORT] = ORCHESTRATOR_HOLDS_ABORT,
		[ORCHESTRATOR_ONCE] = ORCHESTRATOR_HOLDS_ONCE,
		[ORCHESTRATOR_SESSION] = ORCHESTRATOR_HOLDS_SESSION,
		[ORCHESTRATOR_ALWAYS] = ORCHESTRATOR_HOLDS_ALWAYS,
		[ORCHESTRATOR_DENY_ALWAYS] = ORCHESTRATOR_HOLDS_ALWAYS,
		[ORCHESTRATOR_UNCONFINED] = ORCHESTRATOR_HOLDS_ONCE,
	};

	return holds[ruling->choice];
}

int decided_tell(const struct request *request, const struct ruling *ruling, bool is_allowed)
{
	const struct orchestrator_config *config = &request->setting->config;
	bool is_network;
	bool is_taken_back = ruling->by == ORCHESTRATOR_BY_WITHDRAWAL; /* perhaps not judged */
	auto_free char *grants = grants_of(request, &is_network);
	const struct orchestrator_decided decided = {
		.request = request->number,
		.kind = request->is_retry && is_network ? ORCHESTRATOR_NETWORK
							: request->wanted.kind,
		.wanted = &request->wanted,
		.by = ruling->by,
		.name = ruling->name,
		.through = ruling->through,
		.holds = holds_of(ruling),
		.is_allowed = is_allowed,
		.is_retry = request->is_retry,
		.is_confined =
			ruling->choice != ORCHESTRATOR_UNCONFINED &&
			(request->is_retry || request->judgement.is_confined || is_taken_back),
		.grants = ruling->choice == ORCHESTRATOR_UNCONFINED ? "" : grants,
		.rule = ruling->by == ORCHESTRATOR_BY_RULE ? request->judgement.rule : "",
		.words = ruling->words,
		.waited_ms = request->asked_ms > 0
				     ? setting_now_ms(request->setting) - request->asked_ms
				     : 0,
	};

	return config->ops->decided(&decided, config->arg);
}

int decided_tell_plain(const struct request *request, enum orchestrator_by by, bool is_allowed,
		       const char *why)
{
	struct ruling ruling = { .by = by,
				 .choice = is_allowed ? ORCHESTRATOR_ONCE : ORCHESTRATOR_DENY };

	(void)snprintf(ruling.words, sizeof(ruling.words), "%s", why);
	return decided_tell(request, &ruling, is_allowed);
}
