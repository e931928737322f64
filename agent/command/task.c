#include "agent/command/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session/client.h"
#include "agent/command/extra.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "agent/command/task_exec.h"
#include "base/process/aside.h"
#include "base/mem.h"
#include "exec/orchestrator/orchestrator_judge.h"

struct task *task_new(struct session *session, const struct task_ops *ops, const char *id)
{
	struct task *task = mem_new(sizeof(*task));

	task->session = session;
	task->ops = ops;
	task->id = mem_strdup(id);
	task->sandbox = orchestrator_widen(session->orchestrator, session->sandbox);
	task->started_ms = loop_now_ms(session->agent->loop);
	return task;
}

static json_t *of_task(const struct task *task)
{
	json_t *object = tell_of_session(task->session);

	if (task->ops->kind == TASK_EXEC)
		tell_add(object, "exec", json_integer((json_int_t)task->number));
	return object;
}

json_t *task_event(const struct task *task)
{
	json_t *object = of_task(task);

	tell_add(object, "id", tell_id(task->id));
	return object;
}

void task_complete(struct task *task, json_t *result)
{
	struct agent *agent = task->session->agent;
	json_t *whole = of_task(task);

	(void)json_object_update(whole, result); /* fails only without memory */
	json_decref(result);
	tell_reply(agent, task->id, whole);
	task_free(task);
	client_look(agent);
}

/* Called once, from the loop. */
static void on_done(const struct orchestrator_result *result, void *arg)
{
	struct task *task = arg;

	task->is_started = false;
	task->ops->done(task, result);
}

void task_add(struct task *task)
{
	TAILQ_INSERT_TAIL(&task->session->tasks, task, entry);
	task->session->task_count++;
}

void task_refuse(struct task *task, int error, const char *why)
{
	struct agent *agent = task->session->agent;

	extra_add(&task->session->permits, &task->given); /* it was not used */
	tell_failure(agent, task->id, error, why);
	task_free(task);
	client_look(agent);
}

int task_begin(struct task *task, struct orchestrator_request *request, struct err *why)
{
	struct session *session = task->session;

	request->client = session->number;
	request->sandbox = task->sandbox;
	request->done = on_done;
	request->arg = task;
	int r = orchestrator_start(session->orchestrator, request, &task->request, why);

	if (r < 0)
		return r;
	task->is_started = true;
	if (!task->entry.tqe_prev)
		task_add(task);
	if (task->ops->kind == TASK_PROGRAM)
		return 0;
	json_t *event = task_event(task);

	tell_add(event, "kind", json_string(task->ops->kind == TASK_EXEC ? "exec" : "question"));
	tell_send(session->agent, TELL_TASK_STARTED, event);
	return 0;
}

void task_cancel(struct task *task, const char *why)
{
	task->is_cancelled = true;
	if (task->look.aside)
		return task_refuse(task, -EBUSY, why);
	if (task->is_started) {
		/* -ENOENT: its result follows. */
		(void)orchestrator_cancel(task->session->orchestrator, task->request);
		return;
	}
	if (task->ops->stop)
		task->ops->stop(task, why);
}

void task_free(struct task *task)
{
	struct session *session = task->session;

	if (task->entry.tqe_prev) {
		TAILQ_REMOVE(&session->tasks, task, entry);
		session->task_count--;
	}
	if (task->ops->drop)
		task->ops->drop(task);
	if (task->world)
		session->agent->config.host->world_free(task->world, session->agent->config.arg);
	aside_free(task->look.aside);
	free(task->look.bytes);
	extra_done(&task->permits);
	extra_done(&task->given);
	mem_free_list(task->files);
	free(task->changes);
	mem_free_list(task->world_writable);
	mem_free_list(task->argv);
	mem_free_list(task->env);
	mem_free_list(task->own_env);
	json_decref(task->first);
	free(task->poll_id);
	orchestrator_judge_copy_free(task->program);
	free(task->line);
	free(task->rule);
	free(task->justification);
	free(task->cwd);
	exec_sandbox_free(task->sandbox);
	free(task->id);
	free(task);
}

/* The PATH that the command will have. */
static const char *search_path(const struct task *task)
{
	const char *const *const lists[] = { task->session->agent->config.env_set,
					     (const char *const *)task->env };
	const char *path = getenv("PATH");

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const char *const *at = lists[i]; at && *at; at++) {
			if (strncmp(*at, "PATH=", 5) == 0)
				path = *at + 5;
		}
	}
	return path;
}

struct command_world *task_world_new(const struct task *task, const char *cwd)
{
	const struct agent_config *config = &task->session->agent->config;

	return config->host->world_new(cwd, search_path(task), task->world_writable, config->arg);
}

struct task *task_find(const struct session *session, uint64_t number)
{
	struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		if (task->ops->kind == TASK_EXEC && task->number == number)
			return task;
	}
	return NULL;
}

struct task_exec *task_find_exec(const struct agent *agent, uint64_t number)
{
	const struct session *session;
	const struct task *task;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		TAILQ_FOREACH (task, &session->tasks, entry) {
			for (size_t i = 0; i < task->exec_count; i++) {
				if (task->execs[i]->number == number)
					return task->execs[i];
			}
		}
	}
	return NULL;
}
