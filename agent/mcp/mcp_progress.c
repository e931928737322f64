/* Reports the progress of a call to a client that has asked for it, as long as the call is open. It
 * is not known how much is left, so the number only grows: milliseconds since the call. */
#include <stdlib.h>
#include <string.h>

#include "agent/mcp/mcp_impl.h"
#include "agent/rpc/channel.h"
#include "base/mem.h"

#define PROGRESS_MS 1000

bool mcp_progress_is_token(const json_t *token)
{
	return json_is_integer(token) ||
	       (json_is_string(token) && json_string_length(token) <= MCP_TOKEN_MAX);
}

void mcp_progress_begin(struct mcp_call *call, const json_t *token)
{
	call->began_ms = loop_now_ms(call->mcp->config.loop);
	if (token)
		call->token = json_incref((json_t *)(uintptr_t)token);
}

static void on_time(void *arg);

static void progress_tell(struct mcp_call *call, const char *words)
{
	struct mcp *mcp = call->mcp;
	int64_t now_ms = loop_now_ms(mcp->config.loop) - call->began_ms;

	if (!call->token || !call->request)
		return;
	loop_timer_stop(&call->tick);
	loop_timer_start(mcp->config.loop, &call->tick, PROGRESS_MS, on_time, call);
	if (channel_is_full(rpc_channel(mcp->front)))
		return; /* it has not read the previous ones */
	call->progress = now_ms > call->progress ? now_ms : call->progress + 1;
	rpc_notify(mcp->front, "notifications/progress",
		   json_pack("{s:O, s:I, s:s}", "progressToken", call->token, "progress",
			     (json_int_t)call->progress, "message", words));
}

static void on_time(void *arg)
{
	struct mcp_call *call = arg;

	progress_tell(call, call->waits_for ? "the command waits for an answer"
			    : call->exec    ? "runs"
					    : "begins");
}

void mcp_progress_started(struct mcp_call *call)
{
	progress_tell(call, "begins");
}

void mcp_progress_end(struct mcp_call *call)
{
	loop_timer_stop(&call->tick);
	json_decref(call->token);
	call->token = NULL;
	free(take(call->waits_for));
}

static bool progress_has(const json_t *list, const char *id)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		if (json_is_string(one) && strcmp(json_string_value(one), id) == 0)
			return true;
	}
	return false;
}

/* One open question is enough to report that the call waits. */
void mcp_progress_asked(struct mcp *mcp, const json_t *event)
{
	const char *approval = json_string_value(json_object_get(event, "approval"));
	const json_t *ids = json_object_get(event, "ids");
	struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (!approval || call->waits_for || !progress_has(ids, call->id))
			continue;
		call->waits_for = mem_strdup(approval);
		progress_tell(call, "the command waits for an answer");
	}
}

void mcp_progress_resolved(struct mcp *mcp, const json_t *event)
{
	const char *approval = json_string_value(json_object_get(event, "approval"));
	struct mcp_call *call;

	LIST_FOREACH (call, &mcp->calls, entry) {
		if (!approval || !call->waits_for || strcmp(call->waits_for, approval) != 0)
			continue;
		free(take(call->waits_for));
		progress_tell(call, "the question was answered");
	}
}
