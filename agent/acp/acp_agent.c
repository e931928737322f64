/* The messages of the program. Only what is listed here reaches the editor, because an editor acts
 * outside the sandbox. */
#include <string.h>

#include "agent/acp/acp_impl.h"
#include "agent/rpc/channel.h"
#include "base/mem.h"
#include "base/text.h"

enum kind { REQUEST, NOTIFICATION };

static const struct {
	const char *method;
	enum kind kind;
} passed[] = {
	{ "session/request_permission", REQUEST }, { "elicitation/create", REQUEST },
	{ "session/update", NOTIFICATION },        { "elicitation/complete", NOTIFICATION },
	{ "$/cancel_request", NOTIFICATION },
};

static bool is_passed(const char *method, enum kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		if (passed[i].kind == kind && strcmp(passed[i].method, method) == 0)
			return true;
	}
	return false;
}

/* Does an editor take @key for @name? Some compare names of members without case, by the rules of
 * Unicode: two of its letters, U+017F and U+212A, are an s and a k then. */
static bool is_key(const char *key, const char *name)
{
	for (; *name; name++) {
		size_t len = *name == 's' && strncmp(key, "\xc5\xbf", 2) == 0       ? 2
			     : *name == 'k' && strncmp(key, "\xe2\x84\xaa", 3) == 0 ? 3
										    : 1;

		if (len == 1 && !text_equal_nocase(key, strnlen(key, 1), (char[]){ *name, '\0' }))
			return false;
		key += len;
	}
	return *key == '\0';
}

/* Has @object no member @name but @value? */
static bool is_only(const json_t *object, const char *name, const char *value)
{
	const char *key;
	json_t *member;

	json_object_foreach((json_t *)(uintptr_t)object, key, member)
	{
		const char *text = json_string_value(member);

		if (is_key(key, name) && !(value && text && strcmp(text, value) == 0))
			return false;
	}
	return true;
}

static void drop_methods(json_t *methods)
{
	for (size_t i = json_array_size(methods); i > 0; i--) {
		/* All others the editor would perform by a command of the program's choice. */
		if (!is_only(json_array_get(methods, i - 1), "type", "agent"))
			(void)json_array_remove(methods, i - 1); /* it is there */
	}
}

/* Takes out what an editor may act on without the protocol saying so: "_meta". False: @value names
 * a question of ours, which the program must not change. The depth is limited by rpc. */
static bool clean(json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	size_t i;
	bool is_clean = true;

	json_object_foreach_safe(value, next, key, member)
	{
		if (is_key(key, "toolCallId") || is_key(key, "requestId"))
			is_clean = is_clean && !acp_is_own(member);
		if (is_key(key, "authMethods"))
			drop_methods(member);
		is_clean = clean(member) && is_clean;
		if (is_key(key, "_meta"))
			(void)json_object_del(value, key); /* it is there */
	}
	json_array_foreach(value, i, member)
	{
		is_clean = clean(member) && is_clean;
	}
	return is_clean;
}

/* Takes out the members that a message of JSON-RPC does not have: an editor might take one of them
 * for the method. */
static void keep_known(json_t *whole)
{
	static const char *const known[] = {
		"jsonrpc", "id", "method", "params", "result", "error"
	};
	const char *key;
	json_t *member;
	void *next;

	json_object_foreach_safe(whole, next, key, member)
	{
		bool is_known = false;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			is_known = is_known || strcmp(key, known[i]) == 0;
		if (!is_known)
			(void)json_object_del(whole, key); /* it is there */
	}
}

/* Sends it, unless it is about us. */
static bool pass(struct acp *acp, const struct rpc_message *message)
{
	keep_known(message->whole);
	if (!clean(message->whole))
		return false;
	acp_shown_replace(acp, message->whole);
	rpc_pass(acp->front, message->whole);
	channel_pause(rpc_channel(acp->inner), channel_is_full(rpc_channel(acp->front)));
	return true;
}

static void refuse(struct acp *acp, const struct rpc_message *message, enum rpc_code code,
		   const char *words)
{
	rpc_refuse(acp->inner, message->id, code, NULL, words);
}

/* An address would be opened in the person's browser. */
static bool is_form(const json_t *params)
{
	return json_object_get(params, "mode") && is_only(params, "mode", "form") &&
	       is_only(params, "url", NULL);
}

static void request(struct acp *acp, const struct rpc_message *message)
{
	const char *method = message->method;

	if (acp_is_own(message->id))
		return refuse(acp, message, RPC_INVALID_REQUEST,
			      "ids that begin with \"" ACP_OWN "\" are those of sallyport; use "
			      "others");
	if (strncmp(method, "terminal/", strlen("terminal/")) == 0)
		return acp_terminal_request(acp, method + strlen("terminal/"), message->id,
					    message->params);
	if (strncmp(method, "fs/", strlen("fs/")) == 0)
		return refuse(acp, message, RPC_NO_METHOD,
			      "the editor would read and write files outside the sandbox; read and "
			      "write them yourself, inside");
	if (!is_passed(method, REQUEST))
		return refuse(acp, message, RPC_NO_METHOD,
			      "sallyport does not know this method, and does not pass it on");
	if (strcmp(method, "elicitation/create") == 0 && !is_form(message->params))
		return refuse(acp, message, RPC_BAD_PARAMS,
			      "the editor would open an address outside the sandbox; only the mode "
			      "\"form\" is passed on");
	if (!pass(acp, message))
		refuse(acp, message, RPC_BAD_PARAMS, "it names a question of sallyport");
}

static void notification(struct acp *acp, const struct rpc_message *message)
{
	auto_free char *shown = text_visible_dup(message->method);

	if (!is_passed(message->method, NOTIFICATION))
		acp_warn(acp,
			 "the agent's notification %s was not passed on, because it is unknown",
			 shown);
	else if (!pass(acp, message))
		acp_warn(acp,
			 "the agent's notification %s was not passed on, because it names a "
			 "question of sallyport",
			 shown);
}

static void response(struct acp *acp, const struct rpc_message *message)
{
	const char *session = json_string_value(json_object_get(message->result, "sessionId"));

	if (!message->id || acp_is_own(message->id) || !pass(acp, message))
		return acp_warn(acp, "a response of the agent was not passed on, because it is not "
				     "for a request of the editor");
	/* A response that the editor did not ask for must not lead questions elsewhere. */
	if (!acp->making || !json_equal(message->id, acp->making))
		return;
	json_decref(take(acp->making));
	if (session)
		acp_editor_session(acp, session);
}

void acp_agent_said(const struct rpc_message *message, void *arg)
{
	struct acp *acp = arg;

	if (acp->is_over)
		return;
	if (!message->method)
		response(acp, message);
	else if (message->id)
		request(acp, message);
	else
		notification(acp, message);
}
