#include "agent/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core.h"
#include "agent/outcome.h"
#include "agent/judge.h"
#include "agent/tell.h"
#include "agent/trial.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_decided.h"

#define SHOWN_MAX 1024 /* bytes of a command, in a record */

struct task *task_new(struct session *session, enum task_kind kind, const char *id)
{
	struct task *task = mem_new(sizeof(*task));

	task->session = session;
	task->kind = kind;
	task->id = mem_strdup(id);
	task->started_ms = loop_now_ms(session->agent->loop);
	return task;
}

/* The last word, and it is freed. @more is taken, may be NULL. */
static void complete(struct task *task, const char *outcome, json_t *more)
{
	struct agent *agent = task->session->agent;
	json_t *event = tell_of_task(TELL_TASK_COMPLETE, task);

	tell_add(event, "outcome", json_string(outcome));
	tell_add(event, "duration_ms",
		 json_integer((json_int_t)(loop_now_ms(agent->loop) - task->started_ms)));
	if (more)
		(void)json_object_update(event, more); /* out of memory only */
	json_decref(more);
	tell_send(agent, event);
	task_free(task);
	agent_look(agent);
}

static void finish_exec(struct task *task, const struct orchestrator_result *result)
{
	json_t *more = json_object();

	tell_send(task->session->agent, outcome_exec_end(task, result));
	outcome_add_words(more, result);
	complete(task, outcome_status(result), more);
}

static void finish_question(struct task *task, const struct orchestrator_result *result)
{
	json_t *more = json_object();

	if (result->kind == ORCHESTRATOR_DONE)
		extra_add(&task->session->permits, &task->permits);
	outcome_add_words(more, result);
	complete(task, result->kind == ORCHESTRATOR_DONE ? "approved" : outcome_status(result),
		 more);
}

static bool is_deferred(const struct orchestrator_result *result)
{
	return result->kind == ORCHESTRATOR_DONE && result->attempt_count > 0 &&
	       result->outcomes[result->attempt_count - 1].is_deferred;
}

int task_record(const struct task *task, const struct orchestrator_result *rejected,
		bool is_unconfined)
{
	static const struct {
		enum policy_reason reason;
		const char *by;
	} rejections[] = {
		[ORCHESTRATOR_REJECTED_BY_RULE] = { POLICY_RULE_DENY, "policy" },
		[ORCHESTRATOR_REJECTED_BY_PERSON] = { POLICY_DENIED_SESSION, "an earlier answer" },
		[ORCHESTRATOR_REJECTED_BY_HOOK] = { POLICY_DENIED_REVIEW, "a hook" },
		[ORCHESTRATOR_REJECTED_BY_REVIEWER] = { POLICY_DENIED_REVIEW, "the reviewer" },
		[ORCHESTRATOR_REJECTED_REVIEWER_LATE] = { POLICY_PROMPT_TIMEOUT, "" },
		[ORCHESTRATOR_REJECTED_NO_ANSWER] = { POLICY_NO_APPROVER, "" },
	};
	struct agent *agent = task->session->agent;
	auto_free char *line =
		task->argv ? text_command_line((const char *const *)task->argv, SHOWN_MAX)
			   : mem_strdup_or_null(task->justification);
	struct gateway_decided decided = {
		.kind = task->about,
		.is_allowed = !rejected,
		.is_unconfined = is_unconfined,
		.reason = rejected ? rejections[rejected->kind].reason : POLICY_RULE_ALLOW,
		.by = rejected ? rejections[rejected->kind].by : "policy",
		.shown = line,
		.cause = rejected ? rejected->why : "nobody was asked",
		.waited_ms = rejected ? loop_now_ms(agent->loop) - task->started_ms : 0,
	};

	return agent->gateway ? gateway_decided(agent->gateway, &decided) : -EPIPE;
}

/* What a person said was written down when it was said. */
static void record_end(const struct task *task, const struct orchestrator_result *result)
{
	bool is_of_person = result->kind == ORCHESTRATOR_REJECTED_BY_PERSON && task->was_asked;

	if (result->kind <= ORCHESTRATOR_REJECTED_NO_ANSWER && !is_of_person)
		(void)task_record(task, result, false); /* it is denied all the same */
}

/* Once, from the loop. */
static void on_done(const struct orchestrator_result *result, void *arg)
{
	struct task *task = arg;

	task->is_started = false;
	if (task->kind == TASK_PROGRAM) /* recorded as such */
		return judge_done(task, result);
	record_end(task, result);
	if (task->kind == TASK_QUESTION)
		return finish_question(task, result);
	if (!is_deferred(result))
		return finish_exec(task, result);
	struct trial *trial = task->trials[task->trial_count - 1];
	const struct trial *last;

	task->earlier = outcome_attempts(result, result->attempt_count - 1, &last);
	/* It went on just before the orchestrator heard that it was cancelled. */
	if (task->is_cancelled)
		trial_cancel(trial, "cancelled");
	trial_defer(trial);
}

int task_begin(struct task *task, struct orchestrator_request *request, struct err *why)
{
	struct session *session = task->session;

	static const char *const about[] = {
		[ORCHESTRATOR_EXEC] = "exec",
		[ORCHESTRATOR_PATCH] = "patch",
		[ORCHESTRATOR_NETWORK] = "network",
		[ORCHESTRATOR_PERMISSIONS] = "permissions",
		[ORCHESTRATOR_ELICITATION] = "elicitation",
	};

	task->about = about[request->kind];
	request->client = session->number;
	request->environment = "";
	request->sandbox = session->sandbox;
	request->done = on_done;
	request->arg = task;
	int r = orchestrator_start(session->orchestrator, request, &task->asked_as, why);

	if (r < 0)
		return r;
	task->is_started = true;
	TAILQ_INSERT_TAIL(&session->tasks, task, entry);
	session->task_count++;
	if (task->kind == TASK_PROGRAM)
		return 0;
	json_t *event = tell_of_task(TELL_TASK_STARTED, task);

	tell_add(event, "kind", json_string(task->kind == TASK_EXEC ? "exec" : "question"));
	tell_send(session->agent, event);
	return 0;
}

void task_end_deferred(struct task *task, struct trial *trial)
{
	const char *status;

	tell_send(task->session->agent, outcome_deferred_end(task, trial, &status));
	complete(task, status, NULL);
}

void task_cancel(struct task *task, const char *why)
{
	task->is_cancelled = true;
	if (task->is_started) {
		/* -ENOENT: its result is on its way. */
		(void)orchestrator_cancel(task->session->orchestrator, task->asked_as);
		return;
	}
	if (task->trial_count > 0)
		trial_cancel(task->trials[task->trial_count - 1], why);
}

void task_free(struct task *task)
{
	struct session *session = task->session;

	if (task->entry.tqe_prev) {
		TAILQ_REMOVE(&session->tasks, task, entry);
		session->task_count--;
	}
	loop_timer_stop(&task->granted);
	for (size_t i = 0; i < task->trial_count; i++)
		trial_free(task->trials[i]);
	if (task->world)
		session->agent->config.host->world_free(task->world, session->agent->config.arg);
	extra_done(&task->permits);
	mem_free_list(task->world_writable);
	mem_free_list(task->argv);
	mem_free_list(task->env);
	mem_free_list(task->own_env);
	json_decref(task->earlier);
	free(task->poll_id);
	free(task->file);
	free(task->line);
	free(task->rule);
	free(task->justification);
	free(task->cwd);
	free(task->id);
	free(task);
}

struct task *task_find(const struct session *session, uint64_t number)
{
	struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		if (task->kind == TASK_EXEC && task->number == number)
			return task;
	}
	return NULL;
}

struct trial *task_find_trial(const struct agent *agent, uint64_t exec)
{
	const struct session *session;
	const struct task *task;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		TAILQ_FOREACH (task, &session->tasks, entry) {
			for (size_t i = 0; i < task->trial_count; i++) {
				if (task->trials[i]->exec == exec)
					return task->trials[i];
			}
		}
	}
	return NULL;
}

void task_drop_proposal(struct proposal *proposal)
{
	/* It is dead when the gateway is. */
	if (proposal->session->agent->gateway)
		gateway_proposal_withdraw(proposal->proposal);
	TAILQ_REMOVE(&proposal->session->proposals, proposal, entry);
	free(proposal->id);
	free(proposal);
}
