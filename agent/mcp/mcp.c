#include "agent/mcp/mcp_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* False: the message is too long for the other end, and was not sent. */
static bool mcp_send(struct channel *channel, json_t *message, size_t max)
{
	auto_free char *line = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);
	size_t len = line ? strlen(line) : 0;

	json_decref(message);
	if (!line || len > max)
		return false;
	channel_send(channel, line, len);
	return true;
}

void mcp_tell_client(struct mcp *mcp, json_t *message)
{
	(void)json_object_set_new(message, "jsonrpc",
				  json_string("2.0")); /* fails only without memory */
	(void)mcp_send(mcp->front, message, SIZE_MAX); /* its queue has a limit of its own */
}

bool mcp_tell_agent(struct mcp *mcp, const char *type, const char *id, json_t *message)
{
	(void)json_object_set_new(message, "version",
				  json_integer(1)); /* fails only without memory, as below */
	(void)json_object_set_new(message, "type", json_string(type));
	(void)json_object_set_new(message, "id", json_string(id));
	return mcp_send(mcp->back, message, CHANNEL_LINE_MAX);
}

void mcp_reply(struct mcp *mcp, const json_t *request, json_t *result)
{
	mcp_tell_client(mcp, json_pack("{s:O, s:o}", "id", request, "result", result));
}

void mcp_refuse(struct mcp *mcp, const json_t *request, enum mcp_error code, const char *words)
{
	mcp_tell_client(mcp,
			json_pack("{s:o, s:{s:i, s:s}}", "id",
				  request ? json_incref((json_t *)(uintptr_t)request) : json_null(),
				  "error", "code", (int)code, "message", words));
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
	(void)mcp_tell_agent(mcp, "configure_session", MCP_SESSION, message); /* it is short */
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
		return mcp_refuse(mcp, request, MCP_INVALID_REQUEST,
				  "initialize was sent twice; send it once");
	for (size_t i = 0; wanted && i < ARRAY_SIZE(versions); i++) {
		if (strcmp(wanted, versions[i]) == 0)
			version = versions[i];
	}
	mcp->can_elicit = mcp_has_forms(json_object_get(can, "elicitation"));
	mcp->is_initialized = true;
	mcp_configure(mcp);
	mcp_reply(mcp, request,
		  json_pack("{s:s, s:{s:{s:b}}, s:{s:s, s:s, s:s}, s:s}", "protocolVersion",
			    version, "capabilities", "tools", "listChanged", 0, "serverInfo",
			    "name", "sallyport", "title", "Sallyport", "version", mcp->version,
			    "instructions", instructions));
}

static void mcp_request(struct mcp *mcp, const char *method, const json_t *request,
			const json_t *params)
{
	if (!json_is_integer(request) &&
	    (!json_is_string(request) || json_string_length(request) > MCP_REQUEST_MAX))
		return mcp_refuse(mcp, NULL, MCP_INVALID_REQUEST,
				  "an id must be a short text or a whole number");
	if (strcmp(method, "ping") == 0)
		return mcp_reply(mcp, request, json_object());
	if (strcmp(method, "initialize") == 0)
		return mcp_initialize(mcp, request, params);
	if (!mcp->is_initialized)
		return mcp_refuse(mcp, request, MCP_NOT_READY, "send initialize first");
	if (strcmp(method, "tools/list") == 0)
		return mcp_reply(mcp, request, json_pack("{s:o}", "tools", mcp_tools_list()));
	if (strcmp(method, "tools/call") == 0)
		return mcp_call_begin(mcp, request, params);
	mcp_refuse(mcp, request, MCP_NO_METHOD, "the method is unknown");
}

static void mcp_notified(struct mcp *mcp, const char *method, const json_t *params)
{
	if (strcmp(method, "notifications/cancelled") == 0)
		mcp_call_cancel(mcp, json_object_get(params, "requestId"));
}

/* False: it is not a JSON-RPC 2.0 message. */
static bool mcp_serve(struct mcp *mcp, const json_t *message)
{
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *id = json_object_get(message, "id");
	const json_t *params = json_object_get(message, "params");

	if (!version || strcmp(version, "2.0") != 0)
		return false;
	if (method && id)
		mcp_request(mcp, method, id, params);
	else if (method)
		mcp_notified(mcp, method, params);
	else if (json_object_get(message, "result") || json_object_get(message, "error"))
		/* A response to none of our requests is late, and ignored. One with both a result
		 * and an error is invalid, so it denies. */
		(void)mcp_ask_answered(mcp, json_string_value(id),
				       json_object_get(message, "error")
					       ? NULL
					       : json_object_get(message, "result"));
	else
		return false;
	return true;
}

static void mcp_end(struct mcp *mcp)
{
	if (mcp->is_over)
		return;
	mcp_call_give_up(mcp, mcp->closing ? mcp->closing : "the gate has ended");
	mcp->is_over = true;
	/* The agent's questions are denied, and what runs ends. Both channels are finished: the
	 * agent would wait for the client to read its last events. */
	channel_finish(mcp->front);
	channel_finish(mcp->back);
	fd_hang_up(mcp->config.agent);
}

static void on_client_line(const char *line, size_t len, void *arg)
{
	struct mcp *mcp = arg;
	json_t *message = line ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;

	if (json_is_object(message) && mcp_serve(mcp, message)) {
		json_decref(message);
		return;
	}
	mcp_refuse(mcp, NULL, message ? MCP_INVALID_REQUEST : MCP_PARSE_ERROR,
		   !line ? "the line is too long"
		   : json_is_array(message)
			   ? "batches are not supported; send one message on each line"
			   : "the line is not a message of JSON-RPC 2.0");
	json_decref(message);
	if (++mcp->bad > MCP_BAD_MAX)
		mcp_end(mcp);
}

static void mcp_keep(char **words, const json_t *error)
{
	const char *message = json_string_value(json_object_get(error, "message"));

	free(*words);
	*words = mem_strdup(message ? message : "the agent gave no reason");
}

static void on_agent_line(const char *line, size_t len, void *arg)
{
	struct mcp *mcp = arg;
	/* NUL is allowed: outputs contain what commands write. */
	json_t *event = line ? json_loadb(line, len, JSON_ALLOW_NUL, NULL) : NULL;
	const char *type = json_string_value(json_object_get(event, "type"));
	const char *id = json_string_value(json_object_get(event, "id"));

	if (!type) {
		mcp_end(mcp); /* an agent sends no such line */
	} else if (strcmp(type, "approval_request") == 0) {
		mcp_progress_asked(mcp, event);
		mcp_ask_begin(mcp, event);
	} else if (strcmp(type, "approval_updated") == 0) {
		mcp_progress_asked(mcp, event);
	} else if (strcmp(type, "approval_resolved") == 0) {
		mcp_progress_resolved(mcp, event);
		mcp_ask_resolved(mcp, event);
	} else if (strcmp(type, "error") == 0 && (!id || strcmp(id, MCP_SESSION) == 0)) {
		mcp_keep(id ? &mcp->refused : &mcp->closing, event);
	} else if (id && strcmp(type, "error") == 0 && mcp_ask_refused(mcp, id)) {
		/* the question is denied instead */
	} else if (id) {
		(void)mcp_call_event(mcp, type, id, event); /* other events need no action */
	}
	json_decref(event);
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

static const struct channel_events client_events = {
	.on_line = on_client_line,
	.on_room = on_room,
	.on_end = on_client_end,
	.on_empty = on_room,
};
static const struct channel_events agent_events = {
	.on_line = on_agent_line,
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
	mcp->front = channel_new(config->loop, config->in, config->out, &client_events, mcp, why);
	mcp->back = mcp->front ? channel_new(config->loop, config->agent, config->agent,
					     &agent_events, mcp, why)
			       : NULL;
	if (!mcp->back) {
		mcp_free(mcp);
		return NULL;
	}
	channel_set_line_max(mcp->back, MCP_EVENT_MAX);
	channel_start(mcp->front);
	channel_start(mcp->back);
	return mcp;
}

void mcp_free(struct mcp *mcp)
{
	if (!mcp)
		return;
	if (mcp->front && !mcp->is_over) /* the agent ended before its client */
		mcp_call_give_up(mcp, mcp->closing ? mcp->closing : "the gate has ended");
	mcp_call_free_all(mcp);
	mcp_ask_free_all(mcp);
	channel_free(mcp->front);
	channel_free(mcp->back);
	free(mcp->version);
	free(mcp->approval);
	free(mcp->sandbox);
	free(mcp->refused);
	free(mcp->closing);
	free(mcp);
}
