#include "agent/approval_request.h"

#include <errno.h>

#include "agent/deciders.h"
#include "agent/elsewhere.h"
#include "agent/pending.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/sandbox_json.h"
#include "agent/session/tell.h"
#include "gateway/gateway_agent_question.h"

static const char *const class_names[ORCHESTRATOR_CLASSES] = {
	[ORCHESTRATOR_WRITE_PATH] = "write", [ORCHESTRATOR_READ_PATH] = "read",
	[ORCHESTRATOR_SOCKET] = "socket",    [ORCHESTRATOR_DESTINATION] = "destination",
	[ORCHESTRATOR_PROGRAM] = "program",  [ORCHESTRATOR_SYSTEM_CALL] = "call",
};

static json_t *accesses_json(const struct orchestrator_question *question)
{
	json_t *list = json_array();

	for (size_t i = 0; i < question->access_count; i++) {
		const struct orchestrator_access *access = &question->accesses[i];
		json_t *shown = json_pack("{s:s, s:o}", "what", class_names[access->what], "name",
					  tell_text(access->name));

		if (access->what == ORCHESTRATOR_DESTINATION) {
			tell_add(shown, "protocol", tell_text(access->protocol));
			tell_add(shown, "port", json_integer(access->port));
		}
		(void)json_array_append_new(list, shown); /* fails only without memory */
	}
	return list;
}

static void add_command(json_t *event, const struct orchestrator_question *question)
{
	if (question->argv)
		tell_add(event, "command", tell_list(question->argv));
	if (question->env && question->env[0])
		tell_add(event, "env", tell_list(question->env));
	if (question->changes)
		tell_add(event, "changes", json_loads(question->changes, 0, NULL));
	if (question->keys)
		tell_add(event, "items", tell_list(question->keys));
	tell_add_text(event, "program", question->program.path);
	if (question->cwd)
		tell_add(event, "cwd", tell_text(question->cwd));
	tell_add(event, "confined", json_boolean(question->is_confined));
	if (question->is_confined && question->sandbox)
		tell_add(event, "sandbox", sandbox_json(question->sandbox));
}

/* What changes while it is open. */
static json_t *state_json(const struct session *session,
			  const struct orchestrator_question *question)
{
	json_t *event = tell_of_session(session);
	int64_t left_ms = question->deadline_ms - loop_now_ms(session->agent->loop);

	tell_add(event, "approval", json_string(question->id));
	pending_add_tasks(event, session, question);
	tell_add(event, "remaining_ms", json_integer((json_int_t)(left_ms > 0 ? left_ms : 0)));
	return event;
}

static json_t *question_json(struct pending *pending, const struct orchestrator_question *question)
{
	json_t *event = state_json(pending->session, question);

	tell_add(event, "kind", json_string(pending_kind_words[question->kind]));
	tell_add(event, "retry", json_boolean(question->is_retry));
	add_command(event, question);
	tell_add(event, "accesses", accesses_json(question));
	pending_add_warnings(pending, event, question);
	tell_add(event, "decisions", pending_choices(question->choices));
	tell_add_text(event, "because", question->reason);
	tell_add_text(event, "reason", question->justification);
	if (question->proposal && question->proposal[0])
		tell_add(event, "proposal", tell_list(question->proposal));
	if (question->heard != ORCHESTRATOR_PASS)
		tell_add(event, "review",
			 json_string(question->heard == ORCHESTRATOR_WAS_LATE ? "late" : "failed"));
	return event;
}

int approval_request_ask(const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;
	struct agent *agent = session->agent;

	if (agent->is_gone || agent->is_deaf || question->client != session->number)
		return -ENOTCONN;
	struct pending *pending = pending_add(agent, question->id, question->kind, session);

	json_t *event = question_json(pending, question);

	pending->watch = deciders_watch(session, question);
	elsewhere_ask(pending, question);
	tell_add(event, "elsewhere",
		 json_boolean(pending->elsewhere && gateway_agent_is_attended(agent->gateway)));
	tell_send(agent, TELL_APPROVAL_REQUEST, event);
	return 0;
}

void approval_request_changed(const struct orchestrator_question *question, void *arg)
{
	struct session *session = arg;

	if (deciders_has(session, question->id))
		return;
	if (pending_find(session->agent, question->id))
		tell_send(session->agent, TELL_APPROVAL_UPDATED, state_json(session, question));
}

void approval_request_retract(const char *id, const char *why, void *arg)
{
	struct session *session = arg;

	if (deciders_drop(session, id))
		return;
	json_t *event = tell_of_session(session);
	struct pending *pending = pending_find(session->agent, id);

	if (pending)
		pending_retract(pending, why);
	pending_forget(session->agent, pending);
	tell_add(event, "approval", tell_text(id));
	tell_add(event, "message", tell_text(why));
	tell_send(session->agent, TELL_APPROVAL_RESOLVED, event);
}
