#include "agent/command/judge.h"

#include <stdlib.h>
#include <string.h>

#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/command/task_exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/orchestrator/orchestrator_judge.h"

#define COMMAND_MAX 512

/* Records the refusal with the command that wanted the program. */
static void record(const struct task_exec *exec, const struct gateway_refused *refused)
{
	gateway_exec_refused(exec->task->session->agent->gateway, exec->number, refused);
}

static void record_rule(const struct task_exec *exec, const struct exec_program *program,
			const char *const *argv, const struct command_verdict *verdict)
{
	auto_free char *line = text_command_line(argv, COMMAND_MAX);

	record(exec, &(struct gateway_refused){ .path = program->path,
						.command = line,
						.reason = POLICY_RULE_DENY,
						.rule = verdict->rule,
						.because = verdict->because });
}

/* Records that the question could not be asked. */
static void record_overload(const struct task *task, const char *words)
{
	record(task->of, &(struct gateway_refused){ .path = task->program->program->path,
						    .command = task->line,
						    .reason = POLICY_OVERLOADED,
						    .rule = task->rule,
						    .because = words });
}

static void answer(struct task_exec *exec, uint64_t id, bool is_allowed)
{
	/* -ENOENT, -ESRCH: the process that waits for the answer has ended. */
	(void)exec_answer(exec->running, id, is_allowed);
}

/* In a separate process. A script is judged by the commands that could be read in it; the others
 * are judged when they are executed. */
static int decide(const struct orchestrator_judged *judged, const struct command_opened *opened,
		  struct command_verdict *ret, void *arg)
{
	const struct task *task = ((const struct task_exec *)arg)->task;
	struct command_world *world = task_world_new(task, judged->cwd);

	command_program_decide(task->session->agent->rules, world, opened, judged->argv, ret);
	task->session->agent->config.host->world_free(world, task->session->agent->config.arg);
	return (int)ret->action;
}

/* Records that the rules could not be applied, so that the program does not start. */
static void refuse(struct task_exec *exec, const struct orchestrator_judged *judged,
		   const char *words)
{
	auto_free char *line = text_command_line(judged->argv, COMMAND_MAX);

	record(exec, &(struct gateway_refused){ .path = judged->program->path,
						.command = line,
						.reason = POLICY_PROGRAM_UNKNOWN,
						.because = words });
	answer(exec, judged->id, false);
}

typedef void (*decided_fn)(const struct orchestrator_judged *judged,
			   const struct orchestrator_judgement *judgement, const char *why,
			   void *arg);

/* Starts *@judge if it was not needed before. Without rules every program is allowed. */
static void judge_by(struct task_exec *exec, struct orchestrator_judge **judge, decided_fn done,
		     const struct orchestrator_judged *judged)
{
	const struct agent *agent = exec->task->session->agent;
	const struct command_rules *rules = agent->rules;
	const struct orchestrator_judge_config config = {
		.loop = agent->loop, .decide = decide, .done = done, .arg = exec
	};

	if (!rules || command_rules_count(rules) == 0)
		return answer(exec, judged->id, true);
	if (!*judge)
		*judge = orchestrator_judge_new(&config);
	if (orchestrator_judge_add(*judge, judged) < 0)
		refuse(exec, judged, "too many programs wait for their judgement");
}

/* It is allowed, or a rule denies it. */
static void settle(struct task_exec *exec, const struct orchestrator_judged *judged,
		   const struct command_verdict *verdict)
{
	answer(exec, judged->id, verdict->action != COMMAND_DENY);
	if (verdict->action == COMMAND_DENY)
		record_rule(exec, judged->program, judged->argv, verdict);
}

/* The rules may have changed while the question was open. */
static void on_decided_again(const struct orchestrator_judged *judged,
			     const struct orchestrator_judgement *judgement, const char *why,
			     void *arg)
{
	if (judgement)
		settle(arg, judged, &judgement->verdict);
	else
		refuse(arg, judged, why);
}

/* The question was answered by a decider; the answer was recorded already. */
static void on_judged(struct task *task, const struct orchestrator_result *result)
{
	struct agent *agent = task->session->agent;

	if (task->of && result->kind == ORCHESTRATOR_DONE)
		judge_by(task->of, &task->of->again, on_decided_again, task->program);
	else if (task->of)
		answer(task->of, task->program->id, false);
	task_free(task);
	client_look(agent);
}

static const struct task_ops program_ops = { .kind = TASK_PROGRAM, .done = on_judged };

/* Asks about the program, and the interpreter of a script, as additional accesses of the running
 * exec, with the requester's words and the rule's. */
static void put(struct task_exec *exec, const struct orchestrator_judged *judged,
		const struct command_verdict *verdict)
{
	struct session *session = exec->task->session;
	auto_free char *line = text_command_line(judged->argv, COMMAND_MAX);
	auto_free char *reason = mem_printf("a rule asks: %s",
					    verdict->because[0] ? verdict->because : verdict->rule);
	const struct exec_program *reader = judged->program->interpreter;
	const struct orchestrator_access accesses[] = {
		{ .what = ORCHESTRATOR_PROGRAM, .name = judged->program->path },
		{ .what = ORCHESTRATOR_PROGRAM, .name = reader ? reader->path : NULL },
	};
	struct orchestrator_request request = {
		.kind = ORCHESTRATOR_PERMISSIONS,
		.cwd = judged->cwd,
		.argv = judged->argv,
		.accesses = accesses,
		.access_count = reader ? 2 : 1,
		.is_one_shot = true,
		.reason = reason,
		.justification = exec->task->justification,
		.exec = exec->number,
	};
	struct task *task = task_new(session, &program_ops, exec->task->id);
	struct err why = { 0 };

	task->of = exec;
	task->program = orchestrator_judge_copy(judged);
	task->rule = mem_strdup(verdict->rule);
	task->line = take(line);
	task->number = exec->task->number;
	if (task_begin(task, &request, &why) == 0)
		return;
	record_overload(task, why.text);
	task_free(task);
	answer(exec, judged->id, false);
}

static void on_decided(const struct orchestrator_judged *judged,
		       const struct orchestrator_judgement *judgement, const char *why, void *arg)
{
	struct task_exec *exec = arg;
	const struct command_verdict *verdict = judgement ? &judgement->verdict : NULL;

	if (!verdict)
		return refuse(exec, judged, why);
	if (verdict->action == COMMAND_ASK)
		return put(exec, judged, verdict);
	settle(exec, judged, verdict);
}

void judge_ask(struct task_exec *exec, const struct orchestrator_judged *judged)
{
	judge_by(exec, &exec->judge, on_decided, judged);
}

void judge_drop(struct task_exec *exec)
{
	orchestrator_judge_free(take(exec->judge));
	orchestrator_judge_free(take(exec->again));
}

void judge_exec_ended(struct task_exec *exec)
{
	struct task *task;

	judge_drop(exec);
	TAILQ_FOREACH (task, &exec->task->session->tasks, entry) {
		if (task->ops->kind != TASK_PROGRAM || task->of != exec)
			continue;
		task->of = NULL;
		task_cancel(task, "the command has ended");
	}
}
