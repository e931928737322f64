#include "agent/session/submission.h"

#include <errno.h>
#include <string.h>

#include "agent/session/client.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/rpc/rpc.h"
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

/* Each submission may name its session; the rest is for the function that serves it. */
struct named {
	const char *session;
};
static const struct fields_entry named_fields[] = {
	{ "session", FIELDS_TEXT, offsetof(struct named, session), AGENT_NAME_MAX, false, NULL },
	{ 0 },
};

struct hello {
	int64_t version;
};
static const struct fields_entry hello_fields[] = {
	{ "protocol_version", FIELDS_NUMBER, offsetof(struct hello, version), INT32_MAX, true,
	  NULL },
	{ 0 },
};

static int serve_initialize(struct agent *agent, const struct submission *submission,
			    struct err *why)
{
	struct hello hello = { 0 };
	int r = fields_read(submission->body, hello_fields, false, &hello, why);

	if (r < 0)
		return r;
	if (agent->is_initialized)
		return err_set(why, -EINVAL, "initialize was sent before; send it once");
	if (hello.version != AGENT_VERSION)
		return err_set(why, -EPROTONOSUPPORT, "this server supports version %d only",
			       AGENT_VERSION);
	agent->is_initialized = true;
	tell_reply(agent, submission->id,
		   json_pack("{s:i, s:{s:s, s:o}}", "protocol_version", AGENT_VERSION,
			     "server_info", "name", "sallyport", "version",
			     tell_text(agent->config.version)));
	return 0;
}

/* To add a submission: a line here; the function that serves it, in the file of its subject
 * (agent/session/tool.c, declared in agent/session/tool.h, for actions on a running command);
 * docs/schema/agent/submission-NAME.json and result-NAME.json; its paragraph in
 * docs/man/sallyport-agent.7; a case in tests/agent/protocol.py. The function returns 0, and then
 * it has replied or will; or -errno with @why, and then it has done nothing. */
static const struct {
	const char *method;
	int (*serve)(struct agent *agent, const struct submission *submission, struct err *why);
	bool needs_session;
} methods[] = {
	{ "initialize", serve_initialize, false },
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
#define INITIALIZE 0 /* the index of the one that is served first, and once */

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

static void serve(struct agent *agent, const struct rpc_message *message);

void submission_serve_held(json_t *held, struct agent *agent)
{
	struct rpc_message message;
	json_t *whole;
	size_t i;

	json_array_foreach(held, i, whole)
	{
		rpc_message_read(whole, &message);
		serve(agent, &message);
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

static void dispatch(struct agent *agent, const struct rpc_message *message, size_t method,
		     const char *id)
{
	struct submission submission = { .id = id, .body = message->params };
	struct named named = { 0 };
	struct err why = { 0 };
	int r = fields_read(message->params, named_fields, false, &named, &why);

	if (r < 0)
		return tell_failure(agent, id, r, why.text);
	submission.session = agent_session_find(agent, named.session);
	if (methods[method].needs_session && !submission.session)
		return tell_failure(agent, id, -ENOENT,
				    named.session
					    ? "the session is unknown; configure it first"
					    : "no session is configured; configure one first");
	if (methods[method].needs_session && submission.session->look)
		return hold(agent, submission.session, id, message->whole);
	r = methods[method].serve(agent, &submission, &why);
	if (r == -EINPROGRESS)
		return wait_for_file(agent, message->whole);
	if (r < 0)
		tell_failure(agent, id, r, why.text);
}

/* A request that was checked. */
static void serve(struct agent *agent, const struct rpc_message *message)
{
	auto_free char *id = rpc_id_text(message->id);
	size_t at = 0;

	while (at < ARRAY_SIZE(methods) && strcmp(methods[at].method, message->method) != 0)
		at++;
	if (at == ARRAY_SIZE(methods))
		return rpc_refuse(agent->rpc, message->id, RPC_NO_METHOD, "unknown_method",
				  "the method is unknown");
	if (at != INITIALIZE && !agent->is_initialized)
		return rpc_refuse(agent->rpc, message->id, RPC_NOT_READY, "not_initialized",
				  "send initialize first");
	if (is_open(agent, id))
		return rpc_refuse(agent->rpc, NULL, RPC_INVALID_REQUEST, "malformed",
				  "a submission with this id is open; use another id");
	dispatch(agent, message, at, id);
}

/* Notifications and replies have no meaning here. One that is ignored could be an exec whose id was
 * forgotten, so each is an error. */
void submission_serve(const struct rpc_message *message, void *arg)
{
	struct agent *agent = arg;

	if (!message->method)
		return rpc_refuse_malformed(
			agent->rpc, NULL, RPC_INVALID_REQUEST,
			"this server sends no requests, so it takes no replies");
	if (!message->id)
		return rpc_refuse_malformed(
			agent->rpc, NULL, RPC_INVALID_REQUEST,
			"\"id\" is missing; this server takes no notifications");
	serve(agent, message);
}
