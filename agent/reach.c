#include "agent/reach.h"

#include <string.h>

#include "agent/asking.h"
#include "agent/core.h"
#include "agent/refusal.h"
#include "agent/task.h"
#include "agent/tell.h"
#include "agent/trial.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"

static const struct {
	enum approver_risk bit;
	const char *name;
} risks[] = {
	{ APPROVER_FIRST_SEEN, "first_seen" }, { APPROVER_LOOKALIKE, "lookalike" },
	{ APPROVER_LITERAL, "literal" },       { APPROVER_RAW_TCP, "raw_tcp" },
	{ APPROVER_LISTED, "listed" },
};

/* Who says no where nobody is asked: no person. */
static const char nobody[] = "the session's approval policy";

static enum gateway_whose whose_is(const struct gateway_exec_event *event)
{
	return event->whose == GATEWAY_BY_NOBODY && strcmp(event->by, nobody) == 0
		       ? GATEWAY_BY_POLICY
		       : event->whose;
}

/* May people be asked about destinations there? */
static bool may_ask(const struct session *session)
{
	switch (session->mode) {
	case ORCHESTRATOR_NEVER:
		return false;
	case ORCHESTRATOR_GRANULAR:
		return (session->categories & ORCHESTRATOR_MAY_ASK_NETWORK) != 0;
	case ORCHESTRATOR_UNTRUSTED:
	case ORCHESTRATOR_ON_REQUEST:
	case ORCHESTRATOR_ON_FAILURE:
	default:
		return true;
	}
}

/* A question is one for all who wait for it: where one of them may not ask, it is none. */
static bool is_for_client(const struct agent *agent, const struct approver_question *question)
{
	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && question->execs[i]; i++) {
		const struct trial *trial = task_find_trial(agent, question->execs[i]);

		if (trial && !may_ask(trial->task->session))
			return false;
	}
	return true;
}

static json_t *risks_json(unsigned int risk)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(risks); i++) {
		if (risk & risks[i].bit)
			(void)json_array_append_new(list, json_string(risks[i].name));
	}
	return list;
}

static void add_who(json_t *event, const struct agent *agent,
		    const struct approver_question *question)
{
	json_t *execs = json_array(), *ids = json_array(), *commands = json_array();

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX; i++) {
		const struct trial *trial =
			question->execs[i] ? task_find_trial(agent, question->execs[i]) : NULL;

		if (trial) {
			(void)json_array_append_new(execs,
						    json_integer((json_int_t)trial->task->number));
			(void)json_array_append_new(ids, tell_text(trial->task->id));
		}
		if (i < question->command_count && question->commands[i])
			(void)json_array_append_new(commands, tell_text(question->commands[i]));
	}
	tell_add(event, "execs", execs);
	tell_add(event, "ids", ids);
	tell_add(event, "commands", commands);
}

static void add_text(json_t *event, const char *name, const char *text)
{
	if (text && text[0])
		tell_add(event, name, tell_text(text));
}

static json_t *question_json(enum tell_event type, const struct agent *agent,
			     const struct approver_question *question)
{
	json_t *event = tell_new(type, NULL);

	tell_add(event, "approval", json_string(question->id));
	tell_add(event, "kind", json_string("network"));
	tell_add(event, "destination", tell_destination(&question->dst));
	add_who(event, agent, question);
	tell_add(event, "waiting", json_integer(question->waiting));
	tell_add(event, "decisions",
		 asking_choices(BIT(ORCHESTRATOR_DENY) | BIT(ORCHESTRATOR_ABORT) |
				BIT(ORCHESTRATOR_ONCE) | BIT(ORCHESTRATOR_SESSION) |
				BIT(ORCHESTRATOR_ALWAYS) | BIT(ORCHESTRATOR_DENY_ALWAYS)));
	add_text(event, "rule", question->rule);
	add_text(event, "reason", question->because);
	add_text(event, "warning", question->warning);
	add_text(event, "plea", question->plea);
	add_text(event, "program", question->program);
	add_text(event, "chain", question->chain);
	tell_add(event, "risk", risks_json(question->risk));
	if (question->risk)
		tell_add(event, "typed", tell_text(question->typed));
	tell_add(event, "private", json_boolean(question->is_private));
	tell_add(event, "times", json_integer(question->times));
	tell_add(event, "left_ms", json_integer((json_int_t)question->left_ms));
	return event;
}

static void refuse(struct agent *agent, const char *id)
{
	const struct approver_answer answer = {
		.action = POLICY_DENY,
		.scope = GATEWAY_ONCE,
		.is_nobody = true,
		.by = nobody,
		.words = "nobody is asked in this session",
	};
	struct err why = { 0 };

	/* -ENOENT: it is finished already. */
	(void)gateway_embedded_answer(agent->gateway, id, &answer, NULL, NULL, &why);
}

static void on_question(const struct approver_question *question, void *arg)
{
	struct agent *agent = arg;

	if (agent->is_gone || !is_for_client(agent, question))
		return refuse(agent, question->id);
	asking_note(agent, question->id, AGENT_NETWORK, NULL);
	tell_send(agent, question_json(TELL_APPROVAL_REQUEST, agent, question));
}

static void on_update(const struct approver_question *question, void *arg)
{
	struct agent *agent = arg;

	if (!is_for_client(agent, question))
		return refuse(agent, question->id);
	if (asking_find(agent, question->id))
		tell_send(agent, question_json(TELL_APPROVAL_UPDATED, agent, question));
}

/* Also after the client's own answer, which was told already. */
static void on_retract(const struct approver_end *end, void *arg)
{
	struct agent *agent = arg;
	struct asked *asked = asking_find(agent, end->id);
	json_t *event;

	if (!asked)
		return;
	asking_forget(agent, asked);
	event = tell_new(TELL_APPROVAL_RESOLVED, NULL);
	tell_add(event, "approval", tell_text(end->id));
	tell_add(event, "decision", json_string("none"));
	tell_add(event, "how", tell_text(end->how));
	tell_send(agent, event);
}

/* Why it was blocked, in the few words there are for it elsewhere. */
static enum orchestrator_network_reason reason_of(enum policy_reason reason)
{
	static const enum orchestrator_network_reason reasons[POLICY_REASON_COUNT] = {
		[POLICY_RULE_DENY] = ORCHESTRATOR_BLOCKED_DENIED,
		[POLICY_ANSWER_DENY] = ORCHESTRATOR_BLOCKED_DENIED,
		[POLICY_DENIED_ALWAYS] = ORCHESTRATOR_BLOCKED_DENIED,
		[POLICY_DENIED_SESSION] = ORCHESTRATOR_BLOCKED_DENIED,
		[POLICY_DEFAULT_DENY] = ORCHESTRATOR_BLOCKED_UNLISTED,
		[POLICY_OUTSIDE_ONLY] = ORCHESTRATOR_BLOCKED_UNLISTED,
		[POLICY_NO_APPROVER] = ORCHESTRATOR_BLOCKED_UNLISTED,
		[POLICY_PROMPT_TIMEOUT] = ORCHESTRATOR_BLOCKED_UNLISTED,
		[POLICY_PRIVATE_ADDRESS] = ORCHESTRATOR_BLOCKED_LOCAL,
		[POLICY_METADATA_ADDRESS] = ORCHESTRATOR_BLOCKED_LOCAL,
		[POLICY_SPECIAL_ADDRESS] = ORCHESTRATOR_BLOCKED_LOCAL,
		[POLICY_OWN_LISTENER] = ORCHESTRATOR_BLOCKED_LOCAL,
		[POLICY_GATE_CLOSING] = ORCHESTRATOR_BLOCKED_NO_GATE,
	};

	return reasons[reason];
}

/* Somebody said so, in words. */
static bool has_word(const struct gateway_exec_event *event)
{
	return event->whose == GATEWAY_BY_PERSON || event->whose == GATEWAY_BY_REVIEW;
}

/* What an answer could change; all else stays. A default of deny is not beaten by what is granted
 * to a command. */
static bool is_final(const struct gateway_exec_event *event)
{
	return has_word(event) ||
	       (event->reason != POLICY_NO_APPROVER && event->reason != POLICY_PROMPT_TIMEOUT &&
		event->reason != POLICY_APPROVER_GONE);
}

static void tell_denied(const struct trial *trial, const struct gateway_exec_event *event)
{
	static const char *const whose[] = {
		[GATEWAY_BY_NOBODY] = "nobody",   [GATEWAY_BY_POLICY] = "policy",
		[GATEWAY_BY_PERSON] = "person",   [GATEWAY_BY_REVIEW] = "reviewer",
		[GATEWAY_BY_NETWORK] = "network",
	};
	json_t *told = tell_of_task(TELL_NETWORK_DENIED, trial->task);

	tell_add(told, "attempt", json_integer((json_int_t)trial->exec));
	if (event->dst)
		tell_add(told, "destination", tell_destination(event->dst));
	tell_add(told, "reason", json_string(policy_reason_code(event->reason)));
	tell_add(told, "by", json_string(whose[whose_is(event)]));
	add_text(told, "who", event->by);
	add_text(told, "rule", event->rule);
	add_text(told, "because", event->because);
	add_text(told, "cause", event->cause);
	tell_add(told, "times", json_integer(event->times));
	tell_send(trial->task->session->agent, told);
}

static void note_denied(struct trial *trial, const struct gateway_exec_event *event)
{
	static const enum orchestrator_network_kind network_kinds[] = {
		[GATEWAY_BY_NOBODY] = ORCHESTRATOR_NETWORK_DISCONNECTED,
		[GATEWAY_BY_POLICY] = ORCHESTRATOR_NETWORK_BY_POLICY,
		[GATEWAY_BY_PERSON] = ORCHESTRATOR_NETWORK_BY_PERSON,
		[GATEWAY_BY_REVIEW] = ORCHESTRATOR_NETWORK_BY_PERSON,
		[GATEWAY_BY_NETWORK] = ORCHESTRATOR_NETWORK_NOTHING,
	};
	struct orchestrator_block block = {
		.kind = network_kinds[whose_is(event)],
		.reason = reason_of(event->reason),
		.host = event->dst ? event->dst->host : "",
		.protocol = event->dst ? policy_protocol_name(event->dst->protocol) : "",
		.port = event->dst ? event->dst->port : 0,
		.words = has_word(event) ? event->because : NULL,
	};

	if (event->whose == GATEWAY_BY_NETWORK)
		return; /* nobody denied it */
	if (event->dst && event->dst->host[0])
		refusal_add_destination(trial, event->dst, is_final(event),
					policy_reason_code(event->reason));
	/* -ESTALE, -ENOENT: it was given up; what was blocked then was told by the event. */
	(void)orchestrator_network_record(trial->task->session->orchestrator, trial->number,
					  &block);
}

static void note_waiting(struct trial *trial, unsigned int questions)
{
	bool is_waiting = questions > 0;

	if (is_waiting == trial->is_waiting)
		return;
	trial->is_waiting = is_waiting;
	/* -ENOENT, -ESTALE: it ended meanwhile, and has no clock any more. */
	(void)orchestrator_network_question(trial->task->session->orchestrator, trial->number,
					    is_waiting);
}

static void note_allowed(struct trial *trial, const struct gateway_exec_event *event)
{
	if (json_array_size(trial->allowed) == AGENT_ALLOWED_SHOWN)
		trial->is_allowed_cut = true;
	else if (event->dst)
		(void)json_array_append_new(trial->allowed, /* out of memory only */
					    tell_destination(event->dst));
}

static void on_exec_event(uint64_t exec, const struct gateway_exec_event *event, void *arg)
{
	struct agent *agent = arg;
	struct trial *trial = task_find_trial(agent, exec);

	if (!trial)
		return;
	trial->is_allowed_cut |= event->dropped > 0; /* it may have been one of them */
	switch (event->kind) {
	case GATEWAY_EXEC_DENIED:
		tell_denied(trial, event);
		return note_denied(trial, event);
	case GATEWAY_EXEC_WAITING:
		return note_waiting(trial, event->questions);
	case GATEWAY_EXEC_ENDED:
		return trial_settle(trial);
	case GATEWAY_EXEC_ALLOWED:
		return note_allowed(trial, event);
	default:
		return;
	}
}

void reach_init(struct agent *agent)
{
	agent->embedded = (struct gateway_embedded){
		.on_question = on_question,
		.on_update = on_update,
		.on_retract = on_retract,
		.on_exec_event = on_exec_event,
		.arg = agent,
	};
}
