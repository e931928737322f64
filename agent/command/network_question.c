#include "agent/command/network_question.h"

#include <string.h>

#include "agent/pending.h"
#include "agent/command/task.h"
#include "agent/command/task_exec.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"

static const struct {
	enum approver_risk bit;
	const char *name;
} risks[] = {
	{ APPROVER_FIRST_SEEN, "first_seen" }, { APPROVER_LOOKALIKE, "lookalike" },
	{ APPROVER_LITERAL, "literal" },       { APPROVER_RAW_TCP, "raw_tcp" },
	{ APPROVER_LISTED, "listed" },
};

const char network_question_nobody[] = "the session's approval policy";

/* May people be asked about destinations in @session? */
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

/* All commands that wait share one question: if one of them may not ask, it is not put to the
 * client. */
static bool is_for_client(const struct agent *agent, const struct approver_question *question)
{
	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && question->execs[i]; i++) {
		const struct task_exec *exec = task_find_exec(agent, question->execs[i]);

		if (exec && !may_ask(exec->task->session))
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

/* @chain: their names, with " > " between them; the last one is the program that asks. */
static json_t *parents_json(const char *chain)
{
	static const char between[] = " > ";
	auto_free char *names = mem_strdup_or_null(chain);
	json_t *list = json_array();
	char *next;

	for (char *name = names; name && (next = strstr(name, between)) != NULL;
	     name = next + strlen(between)) {
		*next = '\0';
		(void)json_array_append_new(list, tell_text(name)); /* fails only without memory */
	}
	return list;
}

static void add_who(json_t *event, const struct agent *agent,
		    const struct approver_question *question)
{
	json_t *execs = json_array(), *ids = json_array(), *commands = json_array();

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX; i++) {
		const struct task_exec *exec =
			question->execs[i] ? task_find_exec(agent, question->execs[i]) : NULL;

		if (exec) {
			(void)json_array_append_new(execs,
						    json_integer((json_int_t)exec->task->number));
			(void)json_array_append_new(ids, tell_id(exec->task->id));
		}
		if (i < question->command_count && question->commands[i])
			(void)json_array_append_new(commands, tell_text(question->commands[i]));
	}
	tell_add(event, "execs", execs);
	tell_add(event, "ids", ids);
	tell_add(event, "commands", commands);
}

/* What changes while it is open. */
static json_t *state_json(const struct agent *agent, const struct approver_question *question)
{
	json_t *event = json_object();

	tell_add(event, "approval", json_string(question->id));
	add_who(event, agent, question);
	tell_add(event, "waiting", json_integer(question->waiting));
	tell_add(event, "times", json_integer(question->times));
	tell_add(event, "remaining_ms", json_integer((json_int_t)question->left_ms));
	return event;
}

static json_t *question_json(const struct agent *agent, const struct approver_question *question)
{
	json_t *event = state_json(agent, question);

	tell_add(event, "kind", json_string("network"));
	tell_add(event, "destination", tell_destination(&question->dst));
	tell_add(event, "decisions",
		 pending_choices(BIT(ORCHESTRATOR_DENY) | BIT(ORCHESTRATOR_ABORT) |
				 BIT(ORCHESTRATOR_ONCE) | BIT(ORCHESTRATOR_SESSION) |
				 BIT(ORCHESTRATOR_ALWAYS) | BIT(ORCHESTRATOR_DENY_ALWAYS)));
	tell_add_text(event, "rule", question->rule);
	tell_add_text(event, "because", question->because);
	tell_add_text(event, "warning", question->warning);
	tell_add_text(event, "reason", question->plea);
	tell_add_text(event, "program", question->program);
	tell_add(event, "parent_processes", parents_json(question->chain));
	tell_add(event, "risk", risks_json(question->risk));
	if (question->risk)
		tell_add(event, "confirmation", tell_text(question->typed));
	tell_add(event, "private", json_boolean(question->is_private));
	return event;
}

static void refuse(struct agent *agent, const char *id)
{
	const struct approver_answer answer = {
		.action = POLICY_DENY,
		.scope = GATEWAY_ONCE,
		.is_nobody = true,
		.by = network_question_nobody,
		.words = "this session asks no questions",
	};
	struct err why = { 0 };

	/* -ENOENT: it has ended already. */
	(void)gateway_embedded_answer(agent->gateway, id, &answer, NULL, NULL, &why);
}

void network_question_ask(const struct approver_question *question, void *arg)
{
	struct agent *agent = arg;

	if (agent->is_gone || !is_for_client(agent, question))
		return refuse(agent, question->id);
	pending_add(agent, question->id, ORCHESTRATOR_NETWORK, NULL);
	tell_send(agent, TELL_APPROVAL_REQUEST, question_json(agent, question));
}

void network_question_changed(const struct approver_question *question, void *arg)
{
	struct agent *agent = arg;

	if (!is_for_client(agent, question))
		return refuse(agent, question->id);
	if (pending_find(agent, question->id))
		tell_send(agent, TELL_APPROVAL_UPDATED, state_json(agent, question));
}

/* Also called after the client's own answer, which was told already. */
void network_question_retract(const struct approver_end *end, void *arg)
{
	struct agent *agent = arg;
	struct pending *pending = pending_find(agent, end->id);
	json_t *event;

	if (!pending)
		return;
	pending_forget(agent, pending);
	event = json_object();
	tell_add(event, "approval", tell_text(end->id));
	tell_add(event, "message", tell_text(end->how));
	tell_send(agent, TELL_APPROVAL_RESOLVED, event);
}
