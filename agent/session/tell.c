#include "agent/session/tell.h"

#include <errno.h>
#include <string.h>

#include "agent/rpc/rpc.h"
#include "agent/session/client.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/text.h"

/* To add an event: a line here and in the enum, a schema in docs/schema/agent, a paragraph in
 * sallyport-agent(7). */
static const char *const names[TELL_EVENTS] = {
	[TELL_TASK_STARTED] = "task_started",
	[TELL_EXEC_BEGIN] = "exec_begin",
	[TELL_EXEC_OUTPUT] = "exec_output",
	[TELL_PATCH_APPLY_BEGIN] = "patch_apply_begin",
	[TELL_PATCH_APPLY_END] = "patch_apply_end",
	[TELL_APPROVAL_REQUEST] = "approval_request",
	[TELL_APPROVAL_UPDATED] = "approval_updated",
	[TELL_APPROVAL_RESOLVED] = "approval_resolved",
	[TELL_REVIEW_STARTED] = "review_started",
	[TELL_REVIEW_COMPLETED] = "review_completed",
	[TELL_NETWORK_DENIED] = "network_denied",
	[TELL_BACKGROUND] = "background",
	[TELL_SESSION_ENDED] = "session_ended",
	[TELL_WARNING] = "warning",
	[TELL_ERROR] = "error",
};

void tell_add(json_t *object, const char *name, json_t *value)
{
	if (value)
		(void)json_object_set_new(object, name, value); /* fails only without memory */
}

json_t *tell_of_session(const struct session *session)
{
	return json_pack("{s:o}", "session", tell_text(session->name));
}

void tell_send(struct agent *agent, enum tell_event event, json_t *params)
{
	rpc_notify(agent->rpc, names[event], params);
}

json_t *tell_id(const char *id)
{
	return rpc_id_json(id);
}

void tell_reply(struct agent *agent, const char *id, json_t *result)
{
	json_t *given = tell_id(id);

	rpc_reply(agent->rpc, given, result);
	json_decref(given);
}

json_t *tell_text(const char *text)
{
	json_t *value = json_string(text ? text : "");

	if (value)
		return value;
	auto_free char *shown = text_visible_dup(text);

	return json_string(shown);
}

void tell_add_text(json_t *object, const char *name, const char *text)
{
	if (text && text[0])
		tell_add(object, name, tell_text(text));
}

json_t *tell_list(const char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list && list[i]; i++)
		(void)json_array_append_new(array,
					    tell_text(list[i])); /* fails only without memory */
	return array;
}

void tell_bytes(json_t *object, const char *bytes, size_t len)
{
	json_t *text = json_stringn(bytes, len);

	if (text) {
		tell_add(object, "text", text);
		return;
	}
	auto_free char *encoded = base64_encode(bytes, len);

	tell_add(object, "base64", json_string(encoded));
}

json_t *tell_destination(const struct policy_destination *dst)
{
	return json_pack("{s:o, s:s, s:i}", "host", tell_text(dst->host), "protocol",
			 policy_protocol_name(dst->protocol), "port", (int)dst->port);
}

/* There are few reasons: one for each way in which a program can react. */
static const char *reason_of(int r, enum rpc_code *ret_code)
{
	switch (-r) {
	case EINVAL:
	case EBADMSG:
		*ret_code = RPC_BAD_PARAMS;
		return "malformed";
	case EPROTONOSUPPORT:
		*ret_code = RPC_BAD_PARAMS;
		return "version";
	case ENOENT:
	case ESRCH:
	case ESTALE:
		*ret_code = RPC_REFUSED;
		return "unknown";
	case EPERM:
	case EACCES:
		*ret_code = RPC_REFUSED;
		return "refused";
	case EBUSY:
	case EAGAIN:
	case ENOSPC:
	case E2BIG:
		*ret_code = RPC_REFUSED;
		return "busy";
	default:
		*ret_code = RPC_FAILED;
		return "failed";
	}
}

void tell_failure(struct agent *agent, const char *id, int error, const char *why)
{
	json_t *given = tell_id(id), *words = tell_text(why[0] ? why : strerror(-error));
	enum rpc_code code;
	const char *reason = reason_of(error, &code);

	rpc_refuse(agent->rpc, given, code, reason, json_string_value(words));
	json_decref(given);
	json_decref(words);
}

void tell_warning(struct agent *agent, const char *text)
{
	tell_send(agent, TELL_WARNING, json_pack("{s:o}", "message", tell_text(text)));
}

void tell_closing(struct agent *agent, const char *why)
{
	tell_send(agent, TELL_ERROR,
		  json_pack("{s:s, s:o}", "reason", "closing", "message", tell_text(why)));
}

void tell_accepted(struct agent *agent, const struct submission *submission, json_t *more)
{
	json_t *result = submission->session ? tell_of_session(submission->session) : json_object();

	if (more)
		(void)json_object_update(result, more); /* fails only without memory */
	json_decref(more);
	tell_reply(agent, submission->id, result);
}
