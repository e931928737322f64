#include "agent/session/listing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/pending.h"
#include "agent/session/client.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "agent/command/task_exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define GATEWAY_PREFIX "gateway-" /* of a grant that the gateway holds */

enum what { WHAT_EXECS, WHAT_QUESTIONS, WHAT_GRANTS, WHAT_DECISIONS };
static const char *const whats[] = {
	[WHAT_EXECS] = "execs",
	[WHAT_QUESTIONS] = "questions",
	[WHAT_GRANTS] = "grants",
	[WHAT_DECISIONS] = "decisions",
	NULL,
};
struct wanted {
	int what;
	const char *grant;
};
static const struct fields_entry list_fields[] = {
	{ "what", FIELDS_CHOICE, offsetof(struct wanted, what), 0, true, whats },
	{ 0 },
};
static const struct fields_entry revoke_fields[] = {
	{ "grant", FIELDS_TEXT, offsetof(struct wanted, grant), AGENT_NAME_MAX, true, NULL },
	{ 0 },
};

static const char *state_of(const struct task *task)
{
	const struct task_exec *exec = task->exec_count ? task->execs[task->exec_count - 1] : NULL;

	if (!exec || exec->has_settled)
		return exec && exec->is_deferred ? "background" : "asked";
	return exec->pauses > 0 ? "waits" : "runs";
}

static void list_execs(const struct session *session, json_t *items)
{
	const struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		if (task->ops->kind != TASK_EXEC)
			continue;
		json_t *item = json_pack(
			"{s:o, s:o, s:s, s:I}", "id", tell_id(task->id), "command",
			tell_list((const char *const *)task->argv), "state", state_of(task),
			"age_ms",
			(json_int_t)(loop_now_ms(session->agent->loop) - task->started_ms));

		if (task->number > 0) /* it has no number before its words have been examined */
			tell_add(item, "exec", json_integer((json_int_t)task->number));
		(void)json_array_append_new(items, item); /* fails only without memory */
	}
}

static void list_questions(const struct session *session, json_t *items)
{
	const struct pending *pending;

	TAILQ_FOREACH (pending, &session->agent->pending, entry) {
		if (pending->session && pending->session != session)
			continue;
		(void)json_array_append_new(items, json_pack("{s:o, s:s}", "approval",
							     tell_text(pending->id), "kind",
							     pending_kind_words[pending->kind]));
	}
}

static void list_grant(const struct orchestrator_approval *approval, void *arg)
{
	json_t *item = json_pack("{s:o, s:s, s:b, s:o}", "grant", tell_text(approval->id), "source",
				 "agent", "denial", approval->is_denial ? 1 : 0, "text",
				 tell_text(approval->text));

	if (approval->left_ms >= 0)
		tell_add(item, "remaining_ms", json_integer((json_int_t)approval->left_ms));
	(void)json_array_append_new(arg, item); /* fails only without memory */
}

struct gateway_listing {
	const struct session *session;
	int64_t now_s;
	json_t *items;
};

static void list_gateway_grant(const struct gateway_grant *grant, void *arg)
{
	const struct gateway_listing *listing = arg;
	const struct task_exec *exec =
		grant->exec ? task_find_exec(listing->session->agent, grant->exec) : NULL;
	char id[AGENT_NAME_MAX];

	(void)snprintf(id, sizeof(id), GATEWAY_PREFIX "%llu", (unsigned long long)grant->id);
	json_t *item = json_pack("{s:s, s:s, s:b, s:o, s:s, s:o}", "grant", id, "source", "gateway",
				 "denial", grant->action == POLICY_DENY ? 1 : 0, "text",
				 tell_text(grant->text), "scope", gateway_scope_name(grant->scope),
				 "by", tell_text(grant->by));

	if (exec)
		tell_add(item, "exec", json_integer((json_int_t)exec->task->number));
	if (grant->until_s > listing->now_s)
		tell_add(item, "remaining_ms",
			 json_integer((json_int_t)(grant->until_s - listing->now_s) * 1000));
	(void)json_array_append_new(listing->items, item); /* fails only without memory */
}

static void list_grants(const struct session *session, json_t *items)
{
	struct gateway_listing listing = {
		.session = session,
		.now_s = loop_wall_us(session->agent->loop) / 1000000,
		.items = items,
	};

	orchestrator_approvals(session->orchestrator, list_grant, items);
	if (!session->agent->gateway)
		return; /* not configured yet: it remembers nothing */
	gateway_session_grants(session->agent->gateway, session->number, list_gateway_grant,
			       &listing);
}

int listing_serve(struct agent *agent, const struct submission *submission, struct err *why)
{
	const struct session *session = submission->session;
	struct wanted wanted = { 0 };
	int r = fields_read(submission->body, list_fields, false, &wanted, why);

	if (r < 0)
		return r;
	json_t *told = tell_of_session(session);
	json_t *items = json_array();

	switch ((enum what)wanted.what) {
	case WHAT_EXECS:
		list_execs(session, items);
		break;
	case WHAT_QUESTIONS:
		list_questions(session, items);
		break;
	case WHAT_DECISIONS:
		json_decref(items);
		items = tally_json(&session->tally, pending_kind_words);
		break;
	case WHAT_GRANTS:
	default:
		list_grants(session, items);
		break;
	}
	tell_add(told, "items", items);
	tell_reply(agent, submission->id, told);
	return 0;
}

static int revoke_gateway(struct agent *agent, const struct session *session, const char *id,
			  struct err *why)
{
	const char *digits = id + strlen(GATEWAY_PREFIX);
	uint64_t number;
	int r = text_to_u64(digits, strlen(digits), UINT64_MAX, &number);

	return r < 0 || !agent->gateway ? -ENOENT
					: gateway_session_revoke(agent->gateway, session->number,
								 number, CLIENT_BY, why);
}

int listing_revoke(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	int r = fields_read(submission->body, revoke_fields, false, &wanted, why);

	if (r < 0)
		return r;
	if (strncmp(wanted.grant, GATEWAY_PREFIX, strlen(GATEWAY_PREFIX)) == 0)
		r = revoke_gateway(agent, submission->session, wanted.grant, why);
	else
		r = orchestrator_revoke(submission->session->orchestrator, wanted.grant);
	if (r == 0)
		tell_accepted(agent, submission, NULL);
	if (r == -ENOENT)
		return err_set(why, r, "no answer with that name is remembered");
	return r;
}
