#include "agent/agent.h"

#include <stdlib.h>

#include "agent/pending.h"
#include "agent/rpc/channel.h"
#include "agent/session/client.h"
#include "agent/session/policy_writer.h"
#include "agent/rpc/limits.h"
#include "agent/rpc/rpc.h"
#include "agent/command/exec_run.h"
#include "agent/command/network_question.h"
#include "agent/session/session.h"
#include "agent/session/submission.h"
#include "agent/session/agent_session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "agent/command/exec_report.h"
#include "agent/command/task_exec.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "policies/policies_load.h"

/* The client reads again: execs whose output was held back may continue. */
static void on_room(void *arg)
{
	struct agent *agent = arg;
	struct session *session;
	struct task *task;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		TAILQ_FOREACH (task, &session->tasks, entry) {
			for (size_t i = 0; i < task->exec_count; i++)
				exec_report_consume(task->execs[i]);
		}
	}
}

static bool is_finishing(const struct agent *agent)
{
	const struct session *session;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		if (!session->is_closing)
			return false;
	}
	return !TAILQ_EMPTY(&agent->sessions);
}

static void deny_gateway(struct agent *agent)
{
	struct pending *pending, *next;

	gateway_embedded_attach(agent->gateway, false);
	for (pending = TAILQ_FIRST(&agent->pending); pending; pending = next) {
		next = TAILQ_NEXT(pending, entry);
		if (!pending->session)
			pending_forget(agent, pending);
	}
}

/* If the client has ended its last session, it has only closed its side and may still read; unless
 * what it sent is not served any more. */
static void on_end(const char *why, void *arg)
{
	struct agent *agent = arg;
	struct session *session;

	bool is_bad = channel_is_lost(agent->channel) || rpc_has_given_up(agent->rpc);

	if (!is_bad && agent_session_is_pending(agent)) {
		agent->end = why;
		return;
	}
	if (is_bad || !is_finishing(agent))
		return agent_end(agent, why);
	deny_gateway(agent);
	TAILQ_FOREACH (session, &agent->sessions, entry)
		(void)orchestrator_client_gone(session->orchestrator, session->number);
	agent->is_deaf = true;
	client_look(agent);
}

static void on_configured(struct agent *agent, json_t *held)
{
	submission_serve_held(held, agent);
	if (agent->end && !agent->is_gone && !agent_session_is_pending(agent))
		on_end(agent->end, agent);
}

static void on_empty(void *arg)
{
	client_look(arg);
}

static const struct rpc_events rpc_events = {
	.on_message = submission_serve,
	.on_room = on_room,
	.on_end = on_end,
	.on_empty = on_empty,
};

/* The last events are still written: on_empty() is called when they were. */
static void finish(struct agent *agent)
{
	channel_finish(agent->channel);
	if (agent->has_gone || !channel_is_empty(agent->channel))
		return;
	agent->has_gone = true;
	loop_timer_stop(&agent->deadline);
	agent->config.host->on_end(agent->config.arg);
}

static void look_now(void *arg)
{
	struct agent *agent = arg;
	struct session *session, *next;

	for (session = TAILQ_FIRST(&agent->sessions); session; session = next) {
		next = TAILQ_NEXT(session, entry);
		(void)agent_session_sweep(session); /* frees it if it has no more tasks */
	}
	if (TAILQ_EMPTY(&agent->sessions) && !policy_writer_is_busy(agent) &&
	    (agent->is_gone || agent->is_deaf))
		finish(agent);
}

struct agent *agent_new(const struct agent_config *config, struct err *why)
{
	struct agent *agent = mem_new(sizeof(*agent));

	agent->config = *config;
	agent->loop = config->loop;
	agent->on_look = look_now;
	agent->on_configured = on_configured;
	TAILQ_INIT(&agent->sessions);
	TAILQ_INIT(&agent->pending);
	agent->embedded = (struct gateway_embedded){
		.on_question = network_question_ask,
		.on_update = network_question_changed,
		.on_retract = network_question_retract,
		.on_exec_event = exec_run_event,
		.arg = agent,
	};
	const struct rpc_config rpc = {
		.loop = agent->loop,
		.in = config->in,
		.out = config->out,
		.events = &rpc_events,
		.arg = agent,
	};

	agent->rpc = rpc_new(&rpc, why);
	if (!agent->rpc) {
		free(agent);
		return NULL;
	}
	agent->channel = rpc_channel(agent->rpc);
	return agent;
}

const struct gateway_embedded *agent_embedded(struct agent *agent)
{
	return &agent->embedded;
}

void agent_set_helpers(struct agent *agent, const struct gateway_helpers *helpers)
{
	agent->helpers = helpers;
}

void agent_start(struct agent *agent, struct gateway *gateway, const struct policy *policy)
{
	agent->gateway = gateway;
	agent->policy = policy;
	agent->rules = policy_commands(policy);
	channel_start(agent->channel);
}

void agent_set_policy(struct agent *agent, const struct policy *policy)
{
	struct session *session;

	agent->policy = policy;
	agent->rules = policy_commands(policy);
	TAILQ_FOREACH (session, &agent->sessions, entry)
		orchestrator_set_rules(session->orchestrator, agent->rules);
}

void agent_abort(struct agent *agent, unsigned long long number)
{
	struct task_exec *exec = task_find_exec(agent, number);

	if (exec)
		task_cancel(exec->task, "an approver aborted the command");
}

struct agent_denials agent_denials(const struct agent *agent)
{
	return (struct agent_denials){ agent->denied, agent->unanswered };
}

/* Something did not end in time: the host frees what is left, which kills it. */
static void on_late(void *arg)
{
	struct agent *agent = arg;

	if (agent->has_gone)
		return;
	agent->has_gone = true;
	loop_timer_stop(&agent->ending);
	log_warn("some of the client's commands did not end in time and are killed");
	agent->config.host->on_end(agent->config.arg);
}

void agent_end(struct agent *agent, const char *why)
{
	struct session *session;

	if (agent->is_gone)
		return;
	tell_closing(agent, why);
	agent->is_gone = true;
	channel_finish(agent->channel);
	if (agent->gateway)
		deny_gateway(agent);
	TAILQ_FOREACH (session, &agent->sessions, entry)
		agent_session_end(session, "the client has disconnected");
	loop_timer_start(agent->loop, &agent->deadline, AGENT_END_MS, on_late, agent);
	client_look(agent);
}

void agent_free(struct agent *agent)
{
	struct session *session;

	if (!agent)
		return;
	gateway_forget_kept(agent->gateway, &agent->kept);
	json_decref(agent->unkept);
	agent->gateway = NULL;
	policy_writer_forget_all(agent);
	loop_timer_stop(&agent->ending);
	loop_timer_stop(&agent->deadline);
	while ((session = TAILQ_FIRST(&agent->sessions))) {
		TAILQ_REMOVE(&agent->sessions, session, entry);
		agent_session_free(session);
	}
	while (!TAILQ_EMPTY(&agent->pending))
		pending_forget(agent, TAILQ_FIRST(&agent->pending));
	rpc_free(agent->rpc);
	free(agent);
}
