#include "agent/mcp/mcp_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/rpc/channel.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

/* Newest first: it is offered to a client that asks for an unknown version. */
static const char *const versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };

static const char instructions[] =
	"Runs commands in a sandbox that reaches the network only through a gate. If the policy "
	"does not decide about a destination, a person is asked; the command's clock is stopped "
	"while a question is open. The result lists denied destinations under network; do not try "
	"to reach them in another way.";

bool mcp_tell_agent(struct mcp *mcp, const char *method, const char *id, json_t *params)
{
	return rpc_request(mcp->back, id, method, params);
}

void mcp_reply(struct mcp *mcp, const json_t *request, json_t *result)
{
	rpc_reply(mcp->front, request, result);
}

void mcp_refuse(struct mcp *mcp, const json_t *request, enum rpc_code code, const char *words)
{
	rpc_refuse(mcp->front, request, code, NULL, words);
}

void mcp_make_id(struct mcp *mcp, char prefix, char ret[MCP_ID_MAX])
{
	(void)snprintf(ret, MCP_ID_MAX, "%c%" PRIu64, prefix, ++mcp->last_id);
}

/* All calls of the client use one session. */
static void mcp_configure(struct mcp *mcp)
{
	json_t *message = json_pack("{s:s, s:{s:s}, s:{s:i}}", "name", MCP_SESSION, "sandbox",
				    "mode", mcp->sandbox ? mcp->sandbox : "workspace-write",
				    "limits", "kept_bytes", MCP_KEPT_BYTES);

	if (mcp->approval)
		(void)json_object_set_new(message, "approval", json_string(mcp->approval));
	/* Both are short. */
	(void)mcp_tell_agent(mcp, "initialize", MCP_HELLO,
			     json_pack("{s:i}", "protocol_version", MCP_AGENT_VERSION));
	(void)mcp_tell_agent(mcp, "configure_session", MCP_SESSION, message);
}

/* A client that names no kind of elicitation supports forms. */
static bool mcp_has_forms(const json_t *elicitation)
{
	return json_is_object(elicitation) &&
	       (json_object_get(elicitation, "form") || !json_object_get(elicitation, "url"));
}

static void mcp_initialize(struct mcp *mcp, const json_t *request, const json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	const json_t *can = json_object_get(params, "capabilities");
	const char *version = versions[0];

	if (mcp->is_initialized)
		return mcp_refuse(mcp, request, RPC_INVALID_REQUEST,
				  "initialize was sent twice; send it once");
	for (size_t i = 0; wanted && i < ARRAY_SIZE(versions); i++) {
		if (strcmp(wanted, versions[i]) == 0)
			version = versions[i];
	}
	mcp->can_elicit = mcp_has_forms(json_object_get(can, "elicitation"));
	mcp->is_initialized = true;
	mcp_configure(mcp);
	mcp_roots_begin(mcp, json_object_get(can, "roots"));
	mcp_reply(mcp, request,
		  json_pack("{s:s, s:{s:{s:b}}, s:{s:s, s:s, s:s}, s:s}", "protocolVersion",
			    version, "capabilities", "tools", "listChanged", 0, "serverInfo",
			    "name", "sallyport", "title", "Sallyport", "version", mcp->version,
			    "instructions", instructions));
}

static void mcp_request(struct mcp *mcp, const char *method, const json_t *request,
			const json_t *params)
{
	if (strcmp(method, "ping") == 0)
		return mcp_reply(mcp, request, json_object());
	if (strcmp(method, "initialize") == 0)
		return mcp_initialize(mcp, request, params);
	if (!mcp->is_initialized)
		return mcp_refuse(mcp, request, RPC_NOT_READY, "send initialize first");
	if (strcmp(method, "tools/list") == 0)
		return mcp_reply(mcp, request, json_pack("{s:o}", "tools", mcp_tools_list()));
	if (strcmp(method, "tools/call") == 0)
		return mcp_call_begin(mcp, request, params);
	mcp_refuse(mcp, request, RPC_NO_METHOD, "the method is unknown");
}

static void mcp_notified(struct mcp *mcp, const char *method, const json_t *params)
{
	if (strcmp(method, "notifications/cancelled") == 0)
		mcp_call_cancel(mcp, json_object_get(params, "requestId"));
	else if (strcmp(method, "notifications/initialized") == 0 ||
		 strcmp(method, "notifications/roots/list_changed") == 0)
		mcp_roots_ask(mcp);
}

static void on_client_message(const struct rpc_message *message, void *arg)
{
	struct mcp *mcp = arg;

	if (message->method && message->id)
		mcp_request(mcp, message->method, message->id, message->params);
	else if (message->method)
		mcp_notified(mcp, message->method, message->params);
	else if (!mcp_roots_answered(mcp, json_string_value(message->id), message->result))
		/* A response to none of our requests is late, and ignored. */
		(void)mcp_ask_answered(mcp, json_string_value(message->id), message->result);
}

static void mcp_end(struct mcp *mcp)
{
	if (mcp->is_over)
		return;
	mcp_call_give_up(mcp, mcp->closing ? mcp->closing : "the gate has ended");
	mcp->is_over = true;
	mcp_roots_done(mcp);
	/* The agent's questions are denied, and what runs ends. Both channels are finished: the
	 * agent would wait for the client to read its last events. */
	channel_finish(rpc_channel(mcp->front));
	channel_finish(rpc_channel(mcp->back));
	fd_hang_up(mcp->config.agent);
}

static void mcp_keep(char **words, const json_t *error)
{
	const char *message = json_string_value(json_object_get(error, "message"));

	free(*words);
	*words = mem_strdup(message ? message : "the agent gave no reason");
}

static void agent_told(struct mcp *mcp, const char *event, const json_t *params)
{
	const char *id = json_string_value(json_object_get(params, "id"));

	if (strcmp(event, "approval_request") == 0) {
		mcp_progress_asked(mcp, params);
		mcp_ask_begin(mcp, params);
	} else if (strcmp(event, "approval_updated") == 0) {
		mcp_progress_asked(mcp, params);
	} else if (strcmp(event, "approval_resolved") == 0) {
		mcp_progress_resolved(mcp, params);
		mcp_ask_resolved(mcp, params);
	} else if (strcmp(event, "error") == 0) {
		mcp_keep(&mcp->closing, params);
	} else if (id) {
		mcp_call_event(mcp, event, id, params); /* other events need no action */
	}
}

static void agent_replied(struct mcp *mcp, const char *id, const json_t *result,
			  const json_t *error)
{
	if (!id)
		return mcp_keep(&mcp->closing, error);
	if (strcmp(id, MCP_SESSION) == 0 || strcmp(id, MCP_HELLO) == 0) {
		if (error && !mcp->refused)
			mcp_keep(&mcp->refused, error);
	} else if (id[0] == MCP_ANSWER) {
		mcp_ask_replied(mcp, id, result);
	} else if (id[0] == MCP_ROOTS) {
		mcp_roots_replied(mcp, error);
	} else {
		mcp_call_replied(mcp, id, result, error);
	}
}

static void on_agent_message(const struct rpc_message *message, void *arg)
{
	struct mcp *mcp = arg;

	if (message->method)
		agent_told(mcp, message->method, message->params);
	else
		agent_replied(mcp, json_string_value(message->id), message->result, message->error);
}

static void on_room(void *arg)
{
}

static void on_client_end(const char *why, void *arg)
{
	mcp_end(arg);
}

static void on_agent_end(const char *why, void *arg)
{
	mcp_end(arg);
}

static const struct rpc_events client_events = {
	.on_message = on_client_message,
	.on_room = on_room,
	.on_end = on_client_end,
	.on_empty = on_room,
};
static const struct rpc_events agent_events = {
	.on_message = on_agent_message,
	.on_room = on_room,
	.on_end = on_agent_end,
	.on_empty = on_room,
};

struct mcp *mcp_new(const struct mcp_config *config, struct err *why)
{
	struct mcp *mcp = mem_new(sizeof(*mcp));

	mcp->config = *config;
	mcp->version = mem_strdup(config->version);
	mcp->approval = mem_strdup_or_null(config->approval);
	mcp->sandbox = mem_strdup_or_null(config->sandbox);
	LIST_INIT(&mcp->calls);
	LIST_INIT(&mcp->asks);
	const struct rpc_config front = {
		.loop = config->loop,
		.in = config->in,
		.out = config->out,
		.events = &client_events,
		.arg = mcp,
	};
	const struct rpc_config back = {
		.loop = config->loop,
		.in = config->agent,
		.out = config->agent,
		.line_max = MCP_EVENT_MAX,
		.request_max = CHANNEL_LINE_MAX,
		.is_trusted = true,
		.events = &agent_events,
		.arg = mcp,
	};

	mcp->front = rpc_new(&front, why);
	mcp->back = mcp->front ? rpc_new(&back, why) : NULL;
	if (!mcp->back) {
		mcp_free(mcp);
		return NULL;
	}
	channel_start(rpc_channel(mcp->front));
	channel_start(rpc_channel(mcp->back));
	return mcp;
}

void mcp_free(struct mcp *mcp)
{
	if (!mcp)
		return;
	if (mcp->front && !mcp->is_over) /* the agent ended before its client */
		mcp_call_give_up(mcp, mcp->closing ? mcp->closing : "the gate has ended");
	mcp_roots_done(mcp);
	mcp_call_free_all(mcp);
	mcp_ask_free_all(mcp);
	rpc_free(mcp->front);
	rpc_free(mcp->back);
	free(mcp->version);
	free(mcp->approval);
	free(mcp->sandbox);
	free(mcp->refused);
	free(mcp->closing);
	free(mcp);
}
