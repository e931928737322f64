/* The messages of the editor. They are passed on, except for what the program must not be offered.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/acp/acp_impl.h"
#include "agent/rpc/channel.h"
#include "base/mem.h"

void acp_editor_session(struct acp *acp, const char *session)
{
	if (session && strlen(session) > ACP_SESSION_MAX)
		return;
	free(acp->session);
	acp->session = mem_strdup_or_null(session);
	acp_ask_show_all(acp);
}

/* The editor's capabilities without those that would let the program act outside the sandbox:
 * files, commands, extensions, pages that are opened in a browser. Owned. */
static json_t *narrowed(const json_t *given)
{
	json_t *can = json_pack("{s:{s:b, s:b}, s:b}", "fs", "readTextFile", 0, "writeTextFile", 0,
				"terminal", 1);
	json_t *session = json_object_get(given, "session");

	if (json_is_object(session))
		(void)json_object_set(can, "session", session); /* fails only without memory */
	if (json_object_get(json_object_get(given, "elicitation"), "form"))
		(void)json_object_set_new(can, "elicitation", json_pack("{s:{}}", "form"));
	return can;
}

static void initialize(struct acp *acp, const struct rpc_message *message)
{
	json_t *whole = json_deep_copy(message->whole);
	json_t *params = json_object_get(whole, "params");
	json_t *version = json_object_get(params, "protocolVersion");

	(void)json_object_del(params, "_meta"); /* may be missing */
	(void)json_object_set_new(params, "clientCapabilities",
				  narrowed(json_object_get(params, "clientCapabilities")));
	if (json_integer_value(version) > ACP_VERSION)
		(void)json_object_set_new(params, "protocolVersion", json_integer(ACP_VERSION));
	rpc_pass(acp->inner, whole);
	json_decref(whole);
}

/* What a request says about the session that the editor shows. */
static void look_at_session(struct acp *acp, const struct rpc_message *message)
{
	const char *method = message->method;
	const json_t *params = message->params;
	static const char *const uses[] = { "session/prompt", "session/load", "session/resume",
					    "session/set_mode" };
	static const char *const ends[] = { "session/close", "session/delete" };
	const char *session = json_string_value(json_object_get(params, "sessionId"));

	if (message->id &&
	    (strcmp(method, "session/new") == 0 || strcmp(method, "session/fork") == 0)) {
		json_decref(acp->making);
		acp->making = json_deep_copy(message->id);
	}
	for (size_t i = 0; session && i < ARRAY_SIZE(uses); i++) {
		if (strcmp(method, uses[i]) == 0)
			acp_editor_session(acp, session);
	}
	for (size_t i = 0; session && acp->session && i < ARRAY_SIZE(ends); i++) {
		if (strcmp(method, ends[i]) == 0 && strcmp(session, acp->session) == 0)
			acp_editor_session(acp, NULL);
	}
}

void acp_editor_said(const struct rpc_message *message, void *arg)
{
	struct acp *acp = arg;

	if (acp->is_over || (!message->method && !message->id))
		return; /* an error without an id is about no request */
	if (!message->method && acp_is_own(message->id))
		return acp_ask_answered(acp, json_string_value(message->id), message->result);
	if (message->method && acp_is_own(message->id))
		return rpc_refuse(acp->front, message->id, RPC_INVALID_REQUEST, NULL,
				  "ids that begin with \"" ACP_OWN "\" are those of sallyport");
	if (message->method && message->id && strcmp(message->method, "initialize") == 0)
		return initialize(acp, message);
	rpc_pass(acp->inner, message->whole);
	if (message->method)
		look_at_session(acp, message);
}
