#include "agent/judge.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core.h"
#include "agent/task.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define COMMAND_MAX 512

/* Written down with the command that wanted it. */
static void record(const struct trial *trial, const struct gateway_refused *refused)
{
	gateway_exec_refused(trial->task->session->agent->gateway, trial->exec, refused);
}

static void record_rule(const struct trial *trial, const struct exec_program *program,
			const char *const *argv, const struct command_verdict *verdict)
{
	auto_free char *line = text_command_line(argv, COMMAND_MAX);

	record(trial, &(struct gateway_refused){ .path = program->path,
						 .command = line,
						 .reason = POLICY_RULE_DENY,
						 .rule = verdict->rule,
						 .because = verdict->because });
}

static enum policy_reason reason_of(enum orchestrator_result_kind kind)
{
	switch ((int)kind) {
	case ORCHESTRATOR_REJECTED_BY_PERSON:
	case ORCHESTRATOR_REJECTED_BY_HOOK:
		return POLICY_DENIED_ONCE;
	case ORCHESTRATOR_REJECTED_BY_REVIEWER:
		return POLICY_DENIED_REVIEW;
	case ORCHESTRATOR_CANCELLED:
		return POLICY_EXEC_ENDED;
	default:
		return POLICY_NO_APPROVER;
	}
}

/* Asked about, and not allowed. */
static void record_answer(const struct task *task, enum policy_reason reason, const char *words)
{
	record(task->of, &(struct gateway_refused){ .path = task->file,
						    .command = task->line,
						    .reason = reason,
						    .rule = task->rule,
						    .because = words });
}

static void answer(struct trial *trial, uint64_t id, bool is_allowed)
{
	struct exec *exec = trial->has_result ? NULL : exec_job_exec(trial->job);

	/* -ENOENT: what asked is dead. */
	if (exec)
		(void)exec_program_answer(exec, id, is_allowed);
}

/* What is not understood of a script is judged when it is executed: what is seen counts. */
static void judge(const struct trial *trial, const struct exec_program *program,
		  const char *const *argv, struct command_verdict *ret)
{
	const struct exec_program *reader = program->interpreter;
	const struct command_opened by = { reader ? reader->path : NULL,
					   reader ? reader->device : 0, reader ? reader->inode : 0,
					   NULL };
	const struct command_opened opened = { program->path, program->device, program->inode,
					       reader ? &by : NULL };

	command_program_decide(trial->task->session->agent->rules, trial->task->world, &opened,
			       argv, true, ret);
}

/* As one access of the running attempt, with its words for the person, and the rule's. */
static void put(struct trial *trial, uint64_t id, const struct exec_program *program,
		const char *const *argv, const struct command_verdict *verdict)
{
	struct session *session = trial->task->session;
	auto_free char *line = text_command_line(argv, COMMAND_MAX);
	auto_free char *reason = mem_printf("a rule asks: %s",
					    verdict->because[0] ? verdict->because : verdict->rule);
	const struct orchestrator_access access = { .what = ORCHESTRATOR_PROGRAM,
						    .name = program->path };
	struct orchestrator_request request = {
		.kind = ORCHESTRATOR_PERMISSIONS,
		.cwd = trial->task->cwd,
		.argv = argv,
		.accesses = &access,
		.access_count = 1,
		.has_requirement = true,
		.requirement = ORCHESTRATOR_ONE_SHOT,
		.reason = reason,
		.justification = trial->task->justification,
		.attempt = trial->number,
	};
	struct task *task = task_new(session, TASK_PROGRAM, trial->task->id);
	struct err why = { 0 };

	task->of = trial;
	task->program = id;
	task->file = mem_strdup(program->path);
	task->rule = mem_strdup(verdict->rule);
	task->line = take(line);
	task->number = trial->task->number;
	if (task_begin(task, &request, &why) == 0)
		return;
	record_answer(task, POLICY_OVERLOADED, why.text);
	task_free(task);
	answer(trial, id, false);
}

void judge_ask(struct trial *trial, uint64_t id, const struct exec_program *program,
	       const char *const *argv)
{
	struct command_verdict verdict;

	const struct command_rules *rules = trial->task->session->agent->rules;

	if (!rules || command_rules_count(rules) == 0)
		return answer(trial, id, true);
	judge(trial, program, argv, &verdict);
	if (verdict.action == COMMAND_ASK)
		put(trial, id, program, argv, &verdict);
	else
		answer(trial, id, verdict.action != COMMAND_DENY);
	if (verdict.action == COMMAND_DENY)
		record_rule(trial, program, argv, &verdict);
}

void judge_done(struct task *task, const struct orchestrator_result *result)
{
	struct agent *agent = task->session->agent;

	bool is_allowed = result->kind == ORCHESTRATOR_DONE;

	if (task->of) {
		answer(task->of, task->program, is_allowed);
		if (!is_allowed)
			record_answer(task, reason_of(result->kind), result->why);
	}
	task_free(task);
	agent_look(agent);
}

void judge_trial_ended(struct trial *trial)
{
	struct task *task;

	TAILQ_FOREACH (task, &trial->task->session->tasks, entry) {
		if (task->kind != TASK_PROGRAM || task->of != trial)
			continue;
		task->of = NULL;
		task_cancel(task, "the command has ended");
	}
}
