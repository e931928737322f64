#include "agent/record.h"

#include <errno.h>

#include "agent/pending.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/command/task_exec.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/orchestrator_decided.h"
#include "exec/orchestrator/orchestrator_judge.h"
#include "gateway/gateway_decided.h"

#define SHOWN_MAX 1024 /* bytes of the subject of a decision */

/* The name of each decider, and the code for its allow and its denial. */
static const struct {
	enum policy_reason allows, denies;
	const char *by, *through;
} bys[ORCHESTRATOR_BYS] = {
	[ORCHESTRATOR_BY_RULE] = { POLICY_RULE_ALLOW, POLICY_RULE_DENY, "policy", NULL },
	[ORCHESTRATOR_BY_MODE] = { POLICY_DEFAULT_ALLOW, POLICY_NO_APPROVER, "policy", NULL },
	[ORCHESTRATOR_BY_EARLIER] = { POLICY_GRANTED_SESSION, POLICY_DENIED_SESSION,
				      "an earlier answer", NULL },
	[ORCHESTRATOR_BY_PERSON] = { POLICY_GRANTED_ONCE, POLICY_DENIED_ONCE, CLIENT_BY, "agent" },
	[ORCHESTRATOR_BY_NOBODY] = { POLICY_NONE, POLICY_NO_APPROVER, "policy", "agent" },
	[ORCHESTRATOR_BY_HOOK] = { POLICY_GRANTED_REVIEW, POLICY_DENIED_REVIEW, NULL, "hook" },
	[ORCHESTRATOR_BY_REVIEWER] = { POLICY_GRANTED_REVIEW, POLICY_DENIED_REVIEW, NULL,
				       "reviewer" },
	[ORCHESTRATOR_BY_TIMEOUT] = { POLICY_NONE, POLICY_PROMPT_TIMEOUT, NULL, NULL },
	[ORCHESTRATOR_BY_ABSENCE] = { POLICY_NONE, POLICY_NO_APPROVER, NULL, NULL },
	[ORCHESTRATOR_BY_DEPARTURE] = { POLICY_NONE, POLICY_APPROVER_GONE, NULL, NULL },
	[ORCHESTRATOR_BY_WITHDRAWAL] = { POLICY_NONE, POLICY_WITHDRAWN, CLIENT_BY, NULL },
};

static enum policy_reason reason_of(const struct orchestrator_decided *decided)
{
	static const enum policy_reason allows[] = {
		[ORCHESTRATOR_HOLDS_ONCE] = POLICY_GRANTED_ONCE,
		[ORCHESTRATOR_HOLDS_SESSION] = POLICY_GRANTED_SESSION,
		[ORCHESTRATOR_HOLDS_ALWAYS] = POLICY_GRANTED_ALWAYS,
		[ORCHESTRATOR_HOLDS_ABORT] = POLICY_NONE,
	};
	static const enum policy_reason denies[] = {
		[ORCHESTRATOR_HOLDS_ONCE] = POLICY_DENIED_ONCE,
		[ORCHESTRATOR_HOLDS_SESSION] = POLICY_DENIED_SESSION,
		[ORCHESTRATOR_HOLDS_ALWAYS] = POLICY_DENIED_ALWAYS,
		[ORCHESTRATOR_HOLDS_ABORT] = POLICY_ABORTED,
	};

	if (decided->by == ORCHESTRATOR_BY_PERSON)
		return decided->is_allowed ? allows[decided->holds] : denies[decided->holds];
	return decided->is_allowed ? bys[decided->by].allows : bys[decided->by].denies;
}

const char *record_by(enum orchestrator_by by, const char *name)
{
	if (by == ORCHESTRATOR_BY_PERSON && name && name[0])
		return name; /* not the client: another approver */
	return bys[by].by ? bys[by].by : name;
}

/* The subject of the decision, in words of the requester only. */
static char *shown_of(const struct orchestrator_decided *decided)
{
	const struct orchestrator_request *request = decided->wanted;
	const char *const *words =
		request->argv && request->argv[0] ? request->argv : request->keys;

	if (words && words[0])
		return text_command_line(words, SHOWN_MAX);
	if (request->kind == ORCHESTRATOR_PERMISSIONS)
		return mem_strdup(decided->grants);
	return mem_strdup_or_null(request->justification);
}

static const struct task *task_of(const struct session *session, uint64_t request)
{
	const struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		if (task->request == request)
			return task;
	}
	return NULL;
}

/* The command of the record, by the gateway's number: the exec that asks for a program, or the
 * task's last exec. */
static uint64_t exec_of(const struct task *task)
{
	if (task && task->of)
		return task->of->number;
	return task && task->exec_count > 0 ? task->execs[task->exec_count - 1]->number : 0;
}

static void count_denial(struct agent *agent, enum policy_reason reason)
{
	switch ((int)reason) {
	case POLICY_NO_APPROVER:
	case POLICY_APPROVER_GONE:
	case POLICY_PROMPT_TIMEOUT:
		agent->unanswered++;
		return;
	case POLICY_WITHDRAWN: /* by the client itself */
		return;
	default:
		agent->denied++;
	}
}

int record_decided(const struct orchestrator_decided *decided, void *arg)
{
	struct session *session = arg;
	const struct task *task = task_of(session, decided->request);
	bool is_program = task && task->ops->kind == TASK_PROGRAM;
	bool is_exec = decided->wanted->kind == ORCHESTRATOR_EXEC;
	auto_free char *shown = shown_of(decided);
	const struct gateway_decided record = {
		.exec = exec_of(task),
		.kind = is_program ? "program" : pending_kind_words[decided->kind],
		.is_allowed = decided->is_allowed,
		.is_unconfined = is_exec && !decided->is_confined,
		.is_retry = decided->is_retry,
		.reason = reason_of(decided),
		.by = record_by(decided->by, decided->name),
		.through = decided->through ? decided->through : bys[decided->by].through,
		.shown = shown,
		.program = is_program ? task->program->program->path : NULL,
		.grants = is_program ? NULL : decided->grants,
		.rule = is_program ? task->rule : decided->rule,
		.words = decided->words,
		.waited_ms = decided->waited_ms,
	};
	struct gateway *gw = session->agent->gateway;

	int r = gw ? gateway_decided(gw, &record) : -EPIPE;

	if (r == 0)
		tally_decided(&session->tally, decided, is_program);
	if (!decided->is_allowed || r < 0)
		count_denial(session->agent, record.reason);
	return r;
}
