#include "agent/session/submission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/rpc/channel.h"
#include "agent/session/client.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/session/listing.h"
#include "agent/patches.h"
#include "agent/command/question_request.h"
#include "agent/propose.h"
#include "agent/session/received.h"
#include "agent/session/reply.h"
#include "agent/session/session.h"
#include "agent/session/agent_session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "agent/session/tool.h"
#include "agent/command/exec_request.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

/* To add a submission: a line here; the function that serves it, in the file of its subject
 * (agent/session/tool.c, declared in agent/session/tool.h, for actions on a running command);
 * docs/schema/agent/submission-NAME.json; its paragraph in docs/man/sallyport-agent.7; a case in
 * tests/agent/protocol.py. The function returns 0, or -errno with @why, and then it has done
 * nothing. */
static const struct {
	const char *type;
	int (*serve)(struct agent *agent, const struct submission *submission, struct err *why);
	bool needs_session;
} kinds[] = {
	{ "configure_session", agent_session_configure, false },
	{ "override_turn_context", agent_session_override, true },
	{ "end_session", agent_session_serve_end, true },
	{ "exec", exec_request_serve, true },
	{ "request_patch_approval", question_request_patch, true },
	{ "patch_applied", patches_serve_applied, true },
	{ "request_permissions", question_request_permissions, true },
	{ "request_elicitation", question_request_elicitation, true },
	{ "propose_network_rule", propose_serve, true },
	{ "approve", reply_serve, false },
	{ "write_input", tool_write_input, true },
	{ "resize", tool_resize, true },
	{ "poll", tool_poll, true },
	{ "interrupt", tool_interrupt, true },
	{ "cancel", tool_cancel, true },
	{ "list", listing_serve, true },
	{ "revoke", listing_revoke, true },
};

struct envelope {
	int64_t version;
	const char *type, *id, *session;
};
/* The id is read first, so that an error about the rest can name it. */
static const struct fields_entry envelope_fields[] = {
	{ "id", FIELDS_TEXT, offsetof(struct envelope, id), AGENT_ID_MAX, true, NULL },
	{ "version", FIELDS_NUMBER, offsetof(struct envelope, version), INT32_MAX, true, NULL },
	{ "type", FIELDS_TEXT, offsetof(struct envelope, type), AGENT_NAME_MAX, true, NULL },
	{ "session", FIELDS_TEXT, offsetof(struct envelope, session), AGENT_NAME_MAX, false, NULL },
	{ 0 },
};

/* @id may be NULL. */
static void refuse_line(struct agent *agent, const char *id, const char *text)
{
	tell_error(agent, id, "malformed", text);
	if (++agent->malformed > AGENT_MALFORMED_MAX)
		channel_close(agent->channel, "the client sent too many malformed lines");
}

/* Is @id in use? Two submissions with one id could not be distinguished. */
static bool is_open(const struct agent *agent, const char *id)
{
	const struct session *session;
	const struct task *task;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		if (session->id && strcmp(session->id, id) == 0)
			return true;
		TAILQ_FOREACH (task, &session->tasks, entry) {
			if (task->ops->kind != TASK_PROGRAM && strcmp(task->id, id) == 0)
				return true;
		}
	}
	return false;
}

static void serve_object(struct agent *agent, json_t *object);

void submission_serve_held(json_t *held, struct agent *agent)
{
	json_t *object;
	size_t i;

	json_array_foreach(held, i, object)
	{
		serve_object(agent, object); /* it was parsed as a submission before */
	}
	json_decref(held);
}

static void serve_again(void *arg)
{
	struct agent *agent = arg;

	submission_serve_held(take(agent->unkept), agent);
}

static void append(json_t **list, json_t *object)
{
	if (!*list)
		*list = json_array();
	(void)json_array_append(*list, object); /* fails only without memory */
}

/* Serves the submission again after a write: it may have been the answer that it needs. */
static void wait_for_file(struct agent *agent, json_t *object)
{
	append(&agent->unkept, object);
	gateway_when_kept(agent->gateway, &agent->kept, serve_again, agent);
}

/* The session's configuration is being examined. */
static void hold(struct agent *agent, struct session *session, const char *id, json_t *object)
{
	if (json_array_size(session->held) < AGENT_TASKS_MAX)
		append(&session->held, object);
	else
		tell_failure(agent, id, -EBUSY,
			     "too many submissions wait for the configuration of the session");
}

static void dispatch(struct agent *agent, const struct envelope *envelope, json_t *object)
{
	struct submission submission = { envelope->type, envelope->id, NULL, object };
	struct err why = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].type, envelope->type) != 0)
			continue;
		if (is_open(agent, envelope->id))
			return tell_error(agent, NULL, "malformed",
					  "a submission with this id is open; use another id");
		submission.type = kinds[i].type;
		submission.session = agent_session_find(agent, envelope->session);
		if (kinds[i].needs_session && !submission.session)
			return tell_error(
				agent, envelope->id, "unknown",
				envelope->session
					? "the session is unknown; configure it first"
					: "no session is configured; configure one first");
		if (kinds[i].needs_session && submission.session->look)
			return hold(agent, submission.session, envelope->id, object);
		int r = kinds[i].serve(agent, &submission, &why);

		if (r == -EINPROGRESS)
			return wait_for_file(agent, object);
		if (r < 0)
			tell_failure(agent, envelope->id, r, why.text);
		return;
	}
	tell_error(agent, envelope->id, "unknown_type", "the type of the submission is unknown");
}

static void serve_object(struct agent *agent, json_t *object)
{
	struct envelope envelope = { 0 };
	struct err why = { 0 };

	if (fields_read(object, envelope_fields, false, &envelope, &why) < 0)
		return refuse_line(agent, envelope.id, why.text);
	if (envelope.version == AGENT_VERSION && envelope.id[0] == '\0')
		return refuse_line(agent, NULL, "\"id\" is empty; give the submission an id");
	if (envelope.version == AGENT_VERSION)
		dispatch(agent, &envelope, object);
	else
		tell_error(agent, envelope.id, "version", "this server supports version 1 only");
}

void submission_serve(const char *line, size_t len, void *arg)
{
	struct agent *agent = arg;
	json_error_t error;

	if (!line)
		return refuse_line(agent, NULL, "the line is too long");
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);

	if (!json_is_object(object)) {
		auto_free char *text = object ? mem_strdup("a submission must be a JSON object")
					      : mem_printf("the line is not JSON, at byte %d: %s",
							   error.position, error.text);
		auto_free char *shown = text_visible_dup(text);

		refuse_line(agent, NULL, shown);
	} else {
		serve_object(agent, object);
	}
	json_decref(object);
}
