#include "agent/agent.h"

#include <stdlib.h>

#include "agent/asking.h"
#include "agent/channel.h"
#include "agent/core.h"
#include "agent/reach.h"
#include "agent/talk.h"
#include "agent/submission.h"
#include "agent/task.h"
#include "agent/tell.h"
#include "agent/trial.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "policies/policies_load.h"

static void on_line(const char *line, size_t len, void *arg)
{
	submission_serve(arg, line, len);
}

/* Whoever held its output back because the client did not read may go on. */
static void on_room(void *arg)
{
	struct agent *agent = arg;
	struct session *session;
	struct task *task;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		TAILQ_FOREACH (task, &session->tasks, entry) {
			for (size_t i = 0; i < task->trial_count; i++)
				trial_consume(task->trials[i]);
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
	struct asked *asked, *next;

	gateway_embedded_attach(agent->gateway, false);
	for (asked = TAILQ_FIRST(&agent->asked); asked; asked = next) {
		next = TAILQ_NEXT(asked, entry);
		if (!asked->session)
			asking_forget(agent, asked);
	}
}

/* Its last session was told to end by itself: it has said all it wanted, and may still read. */
static void on_end(const char *why, void *arg)
{
	struct agent *agent = arg;
	struct session *session;

	if (!is_finishing(agent) || channel_is_lost(agent->channel))
		return agent_end(agent, why);
	deny_gateway(agent);
	TAILQ_FOREACH (session, &agent->sessions, entry)
		(void)orchestrator_client_gone(session->orchestrator, session->number);
	agent->is_deaf = true;
	agent_look(agent);
}

static void on_empty(void *arg)
{
	agent_look(arg);
}

static const struct channel_events channel_events = {
	.on_line = on_line,
	.on_room = on_room,
	.on_end = on_end,
	.on_empty = on_empty,
};

struct agent *agent_new(const struct agent_config *config, struct err *why)
{
	struct agent *agent = mem_new(sizeof(*agent));

	agent->config = *config;
	agent->loop = config->loop;
	TAILQ_INIT(&agent->sessions);
	TAILQ_INIT(&agent->asked);
	reach_init(agent);
	agent->channel =
		channel_new(agent->loop, config->in, config->out, &channel_events, agent, why);
	if (!agent->channel) {
		free(agent);
		return NULL;
	}
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

void agent_abort(struct agent *agent, unsigned long long exec)
{
	struct trial *trial = task_find_trial(agent, exec);

	if (trial)
		task_cancel(trial->task, "a person aborted the command");
}

/* What is said last is still written: the channel tells when it was. */
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
		(void)talk_sweep(session); /* true or not: it is out of the list, or stays */
	}
	if (TAILQ_EMPTY(&agent->sessions) && (agent->is_gone || agent->is_deaf))
		finish(agent);
}

void agent_look(struct agent *agent)
{
	if (!agent->has_gone)
		loop_defer(agent->loop, &agent->ending, look_now, agent);
}

/* Not everything ended in time: the host frees what is left, which kills it. */
static void on_late(void *arg)
{
	struct agent *agent = arg;

	if (agent->has_gone)
		return;
	agent->has_gone = true;
	loop_timer_stop(&agent->ending);
	log_warn("not all of the client's commands ended in time; they are killed");
	agent->config.host->on_end(agent->config.arg);
}

void agent_end(struct agent *agent, const char *why)
{
	struct session *session;

	if (agent->is_gone)
		return;
	tell_error(agent, NULL, "closing", why);
	agent->is_gone = true;
	channel_finish(agent->channel);
	if (agent->gateway)
		deny_gateway(agent);
	TAILQ_FOREACH (session, &agent->sessions, entry)
		talk_end(session, "the client is gone");
	loop_timer_start(agent->loop, &agent->deadline, AGENT_END_MS, on_late, agent);
	agent_look(agent);
}

void agent_free(struct agent *agent)
{
	struct session *session;

	if (!agent)
		return;
	agent->gateway = NULL;
	loop_timer_stop(&agent->ending);
	loop_timer_stop(&agent->deadline);
	while ((session = TAILQ_FIRST(&agent->sessions))) {
		TAILQ_REMOVE(&agent->sessions, session, entry);
		talk_free(session);
	}
	while (!TAILQ_EMPTY(&agent->asked))
		asking_forget(agent, TAILQ_FIRST(&agent->asked));
	channel_free(agent->channel);
	free(agent);
}
