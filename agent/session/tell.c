#include "agent/session/tell.h"

#include <errno.h>
#include <string.h>

#include "agent/rpc/channel.h"
#include "agent/session/client.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/text.h"

/* To add an event: a line here and in the enum, a schema in docs/schema/agent, a paragraph in
 * sallyport-agent(7). */
static const char *const names[TELL_EVENTS] = {
	[TELL_SESSION_CONFIGURED] = "session_configured",
	[TELL_TASK_STARTED] = "task_started",
	[TELL_EXEC_BEGIN] = "exec_begin",
	[TELL_EXEC_OUTPUT] = "exec_output",
	[TELL_EXEC_END] = "exec_end",
	[TELL_PATCH_APPLY_BEGIN] = "patch_apply_begin",
	[TELL_PATCH_APPLY_END] = "patch_apply_end",
	[TELL_APPROVAL_REQUEST] = "approval_request",
	[TELL_APPROVAL_UPDATED] = "approval_updated",
	[TELL_APPROVAL_RESOLVED] = "approval_resolved",
	[TELL_NETWORK_DENIED] = "network_denied",
	[TELL_BACKGROUND] = "background",
	[TELL_OUTPUT] = "output",
	[TELL_LISTED] = "listed",
	[TELL_ACCEPTED] = "accepted",
	[TELL_SESSION_ENDED] = "session_ended",
	[TELL_WARNING] = "warning",
	[TELL_ERROR] = "error",
	[TELL_TASK_COMPLETE] = "task_complete",
};

void tell_add(json_t *object, const char *name, json_t *value)
{
	if (value)
		(void)json_object_set_new(object, name, value); /* fails only without memory */
}

json_t *tell_new(enum tell_event event, const char *id)
{
	json_t *object = json_pack("{s:i, s:s}", "version", AGENT_VERSION, "type", names[event]);

	if (id)
		tell_add(object, "id", tell_text(id));
	return object;
}

json_t *tell_of_session(enum tell_event event, const char *id, const struct session *session)
{
	json_t *object = tell_new(event, id);

	tell_add(object, "session", tell_text(session->name));
	return object;
}

/* Replaces DEL by \u007f: it is the one control character that the library does not escape. Owned.
 */
static char *escape_delete(const char *line)
{
	size_t count = 0;

	for (const char *at = line; (at = strchr(at, 0x7f)) != NULL; at++)
		count++;
	char *escaped = mem_new(strlen(line) + 5 * count + 1), *to = escaped;

	for (; *line; line++) {
		if (*line == 0x7f)
			to = stpcpy(to, "\\u007f");
		else
			*to++ = *line;
	}
	return escaped;
}

void tell_send(struct agent *agent, json_t *event)
{
	/* Events are ASCII text, so that no character in them can move the cursor of a terminal. */
	auto_free char *plain = event ? json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(event);
	if (!plain)
		return channel_lose(agent->channel, "an event could not be written");
	auto_free char *line = strchr(plain, 0x7f) ? escape_delete(plain) : take(plain);

	channel_send(agent->channel, line, strlen(line));
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

void tell_error(struct agent *agent, const char *id, const char *code, const char *text)
{
	json_t *event = tell_new(TELL_ERROR, id);

	tell_add(event, "code", json_string(code));
	tell_add(event, "message", tell_text(text));
	tell_send(agent, event);
}

/* There are few codes: one for each way in which a program can react. */
static const char *code_of(int r)
{
	switch (-r) {
	case EINVAL:
	case EBADMSG:
		return "malformed";
	case ENOENT:
	case ESRCH:
	case ESTALE:
		return "unknown";
	case EPERM:
	case EACCES:
		return "refused";
	case EBUSY:
	case EAGAIN:
	case ENOSPC:
	case E2BIG:
		return "busy";
	default:
		return "failed";
	}
}

void tell_failure(struct agent *agent, const char *id, int error, const char *why)
{
	tell_error(agent, id, code_of(error), why[0] ? why : strerror(-error));
}

void tell_warning(struct agent *agent, const char *id, const char *text)
{
	json_t *event = tell_new(TELL_WARNING, id);

	tell_add(event, "message", tell_text(text));
	tell_send(agent, event);
}

void tell_accepted(struct agent *agent, const struct submission *submission, json_t *more)
{
	json_t *event = submission->session ? tell_of_session(TELL_ACCEPTED, submission->id,
							      submission->session)
					    : tell_new(TELL_ACCEPTED, submission->id);

	tell_add(event, "of", json_string(submission->type));
	if (more)
		(void)json_object_update(event, more); /* fails only without memory */
	json_decref(more);
	tell_send(agent, event);
}
