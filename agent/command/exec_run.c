#include "agent/command/exec_run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command/exec_report.h"
#include "agent/command/extra.h"
#include "agent/command/judge.h"
#include "agent/command/look.h"
#include "agent/command/outcome.h"
#include "agent/command/refusal.h"
#include "agent/command/task.h"
#include "agent/command/task_exec.h"
#include "agent/record.h"
#include "agent/rpc/limits.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "base/text.h"
#include "exec/exec_probe.h"
#include "exec/exec_sandbox.h"
#include "exec/orchestrator/orchestrator_judge.h"
#include "gateway/gateway_note.h"
#include "policies/policies_gate.h"

#define COMMAND_MAX  512
#define WINDOW_BYTES (256 << 10) /* of output on its way to the client */
#define POLL_BYTES   (1 << 20)

static struct agent *agent_of(const struct task_exec *exec)
{
	return exec->task->session->agent;
}

static struct task_exec *exec_new_of(struct task *task, const struct orchestrator_exec *approved,
				     struct exec_sandbox *sandbox)
{
	struct task_exec *exec = mem_new(sizeof(*exec));

	exec->task = task;
	exec->number = approved->number;
	exec->attempt = task->exec_count + 1;
	exec->is_confined = approved->is_confined;
	exec->sandbox = sandbox;
	exec->program = approved->program;
	if (approved->is_open_by_rule) {
		/* Its programs start others by their names, too. */
		exec->env = mem_copy_list((const char *const *)task->env);
		mem_append_list(&exec->env, mem_printf("PATH=%s", look_own_path(task)));
	}
	refusal_init(&exec->refusals);
	exec->allowed = json_array();
	return exec;
}

static void take_result(struct task_exec *exec, const struct exec_result *result)
{
	exec->result = *result;
	exec->has_result = true;
	exec_report_rest(exec);
	loop_timer_stop(&exec->yield);
}

static void tell_orchestrator(struct task_exec *exec, const struct orchestrator_outcome *outcome)
{
	exec->has_settled = true;
	exec->refusals.is_closed = !exec->is_deferred;
	/* -ENOENT: it was cancelled meanwhile. */
	(void)orchestrator_exec_ended(exec->task->session->orchestrator, exec->number, outcome);
}

/* Puts the exec into the background, and tells its task. */
static void yield_now(struct task_exec *exec)
{
	struct orchestrator_outcome outcome = {
		.end = EXEC_EXITED,
		.refusals = exec->refusals.list,
		.refusal_count = exec->refusals.count,
		.is_deferred = true,
		.output = exec,
	};

	if (exec->has_result || exec->has_settled)
		return;
	exec->is_deferred = true;
	tell_orchestrator(exec, &outcome);
}

static void on_yield(void *arg)
{
	yield_now(arg);
}

static void start_yield(struct task_exec *exec, int64_t after_ms)
{
	struct loop *loop = agent_of(exec)->loop;

	exec->yield_ms = loop_now_ms(loop) + after_ms;
	loop_timer_start(loop, &exec->yield, after_ms, on_yield, exec);
}

static void run(struct task_exec *exec)
{
	exec_start(exec->running, &exec->plan);
	if (exec->task->is_background)
		start_yield(exec, exec->task->yield_ms);
}

/* The clock for going to the background stops while a person or program is asked. */
static void hold_yield(struct task_exec *exec, bool is_held)
{
	int64_t left_ms = exec->yield_ms - loop_now_ms(agent_of(exec)->loop);

	if (!exec->task->is_background || exec->is_deferred || exec->has_result)
		return;
	if (!is_held)
		return start_yield(exec, exec->yield_ms);
	loop_timer_stop(&exec->yield);
	exec->yield_ms = left_ms > 0 ? left_ms : 0;
}

static void pause_clock(struct task_exec *exec, bool is_paused)
{
	if (is_paused) {
		if (exec->pauses++ == 0)
			hold_yield(exec, true);
		exec_pause_clock(exec->running);
		return;
	}
	if (exec->pauses == 0)
		return;
	exec_resume_clock(exec->running);
	if (--exec->pauses == 0)
		hold_yield(exec, false);
}

static void stop_exec(struct task_exec *exec, const char *why)
{
	/* -ESRCH: it has ended by itself. */
	(void)exec_stop(exec->running, EXEC_CANCELLED, why);
}

static void settle(struct task_exec *exec)
{
	bool is_signal = exec->result.raw.end == EXEC_PROCESS_SIGNALLED;
	struct orchestrator_outcome outcome = {
		.end = exec->result.end,
		.status = is_signal ? exec->result.raw.status : exec->result.code,
		.why = exec->result.why,
		.refusals = exec->refusals.list,
		.refusal_count = exec->refusals.count,
		.is_clean = refusal_is_beside(&exec->refusals, &exec->result.raw),
		.duration_ms = exec->result.total_ms,
		.output = exec,
	};

	tell_orchestrator(exec, &outcome);
}

static void free_exec(struct task_exec *exec)
{
	loop_timer_stop(&exec->yield);
	aside_free(exec->look.aside);
	mem_free_list(exec->env);
	free(exec->look.seen);
	free(exec->look.unknown);
	json_decref(exec->look.made);
	judge_drop(exec);
	exec_free(exec->running);
	exec_sandbox_free(exec->sandbox);
	refusal_done(&exec->refusals);
	json_decref(exec->allowed);
	free(exec);
}

static struct task_exec *find_in(const struct session *session, uint64_t number)
{
	return task_find_exec(session->agent, number);
}

void exec_run_stop(uint64_t number, const char *why, void *arg)
{
	struct task_exec *exec = find_in(arg, number);

	if (exec)
		stop_exec(exec, why);
}

void exec_run_pause(uint64_t number, bool is_paused, void *arg)
{
	struct task_exec *exec = find_in(arg, number);

	if (exec)
		pause_clock(exec, is_paused);
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct task_exec *exec = arg;

	return gateway_open_way(agent_of(exec)->gateway, exec->number, fds, count);
}

static void on_output(struct exec *running, const struct exec_output *output, void *arg)
{
	exec_report_output(arg, output);
}

static void on_end(struct exec *running, const struct exec_result *result, void *arg)
{
	struct task_exec *exec = arg;

	take_result(exec, result);
	judge_exec_ended(exec);
	look_after(exec); /* GATEWAY_EXEC_ENDED follows */
}

static const struct exec_events events = {
	.on_egress = on_egress,
	.on_end = on_end,
	.on_output = on_output,
};

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	struct task_exec *exec = arg;

	refusal_add_evidence(&exec->refusals, evidence);
	if (evidence->what == EXEC_REFUSED_PROGRAM)
		return; /* a decision, with its own record */
	auto_free char *text = exec_evidence_text(evidence);

	gateway_exec_note(agent_of(exec)->gateway, exec->number,
			  exec_evidence_is_network(evidence) ? GATEWAY_CUT_OFF : GATEWAY_REFUSED,
			  NULL, text);
}

static void note_probe(const struct task_exec *exec, const char *text)
{
	gateway_exec_note(agent_of(exec)->gateway, exec->number, GATEWAY_PROBED, NULL, text);
}

/* It is recorded before the command starts. */
static void on_probed(const struct exec_probe *probe, void *arg)
{
	auto_free char *text = exec_probe_text(probe);

	note_probe(arg, text);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	judge_ask(arg, &(struct orchestrator_judged){ id, program, argv, cwd });
}

/* Grants the destinations of its approval. */
static int grant(struct task_exec *exec, const struct orchestrator_exec *approved, struct err *why)
{
	for (size_t i = 0; i < approved->access_count; i++) {
		const struct orchestrator_access *access = &approved->accesses[i];

		if (access->what != ORCHESTRATOR_DESTINATION)
			continue;
		auto_free char *text = extra_destination(access);
		struct gateway_exec_grant permit = {
			.destination = text,
			.by = record_by(approved->by, approved->name),
			.is_for_session = approved->is_for_session && i >= approved->new_from,
		};
		int r = gateway_grant_exec(agent_of(exec)->gateway, exec->number, &permit, NULL,
					   why);

		if (r < 0)
			return r;
	}
	return 0;
}

static void make_running(struct task_exec *exec)
{
	const struct task *task = exec->task;
	const struct session *session = task->session;
	struct agent *agent = session->agent;
	auto_free char *name = mem_printf("%llu", (unsigned long long)exec->number);
	struct exec_config config = {
		.io = task->has_pty ? EXEC_IO_PTY : EXEC_IO_PIPES,
		.size = task->size,
		.has_input = task->has_input || task->has_pty,
		.limit_ms = task->timeout_ms,
		.head_max = (size_t)session->kept_max,
		.tail_max = (size_t)session->kept_max,
		.events_max = task->is_whole ? UINT_MAX : 0,
		.event_bytes_max = task->is_whole ? UINT64_MAX : (uint64_t)session->event_bytes_max,
		.unread_max = task->is_streamed ? 0 : POLL_BYTES,
		.window = task->is_streamed ? WINDOW_BYTES : 0,
		.spill_dir = agent->config.spill_dir,
		.spill_name = name,
		.spill = agent->config.spill_dir && !task->has_pty && !task->is_whole
				 ? BIT(EXEC_STDOUT) | BIT(EXEC_STDERR)
				 : 0,
	};

	exec->running = exec_new(agent->loop, &config, &events, exec);
}

/* If so, hidden files that the command tried to open can be reported; that makes every open slower.
 */
static bool restricts_reading(const struct exec_sandbox *sandbox)
{
	return exec_sandbox_has_denials(sandbox) || exec_sandbox_access(sandbox, "/") == EXEC_DENY;
}

/* The caches of tools belong to one directory: a command of another one could change what is used
 * there later. A sandbox that does not let the command write there has none either. */
static void put_caches(struct task_exec *exec)
{
	const struct agent_config *config = &agent_of(exec)->config;
	const char *cwd = exec->task->session->cwd;

	if (config->host->caches && exec_sandbox_access(exec->sandbox, cwd) == EXEC_WRITE)
		exec->plan.caches = config->host->caches(cwd, &exec->plan.cache_count, config->arg);
}

/* Makes the plan, except for what look_before() finds in the file system. */
static void make_plan(struct task_exec *exec)
{
	const struct task *task = exec->task;
	const struct agent *agent = agent_of(exec);
	const struct command_file *file = &exec->program;

	exec->plan = (struct exec_plan_config){
		.argv = (const char *const *)task->argv,
		.env = agent->config.env,
		.env_set = agent->config.env_set,
		.env_asked = (const char *const *)(exec->env ? exec->env : task->env),
		.cwd = task->cwd,
		.hidden = agent->config.hidden,
		.read_only = agent->config.read_only,
		.protection = agent->config.protection,
		.limits = agent->config.limits,
		.sockets = agent->config.sockets,
		.cache_root = agent->config.cache_root,
		.sandbox = exec->sandbox,
		.program = { file->path[0] ? file->path : NULL, file->device, file->inode },
		.on_refused = exec->is_confined ? on_refused : NULL,
		.tells_reads = exec->is_confined && restricts_reading(exec->sandbox),
		.on_probed = agent->config.has_no_probe ? NULL : on_probed,
		.control = agent->config.control,
		.captures_udp = policy_wants_udp(agent->policy),
		.on_program =
			task->session->must_intercept && exec->is_confined ? on_program : NULL,
	};
	put_caches(exec);
}

static void tell_begin(const struct task_exec *exec)
{
	const struct task *task = exec->task;
	json_t *event = task_event(task);

	tell_add(event, "attempt", json_integer((json_int_t)exec->attempt));
	tell_add(event, "record_exec", json_integer((json_int_t)exec->number));
	tell_add(event, "command", tell_list((const char *const *)task->argv));
	tell_add(event, "cwd", tell_text(task->cwd));
	tell_add(event, "confined", json_boolean(exec->is_confined));
	tell_send(agent_of(exec), TELL_EXEC_BEGIN, event);
}

static struct exec_sandbox *sandbox_for(const struct session *session,
					const struct orchestrator_exec *approved, struct err *why)
{
	return approved->sandbox ? exec_sandbox_copy(approved->sandbox)
				 : exec_sandbox_unconfined(session->sandbox, why);
}

int exec_run_start(const struct orchestrator_exec *approved, struct err *why, void *arg)
{
	struct task *task = approved->wanted->arg;
	struct agent *agent = task->session->agent;
	auto_free char *command = text_command_line((const char *const *)task->argv, COMMAND_MAX);

	if (task->exec_count == AGENT_EXECS_MAX)
		return err_set(why, -EBUSY, "the command was tried as often as is allowed");
	if (!agent->gateway || agent->is_gone)
		return err_set(why, -EPIPE, "the gate is closing");
	struct exec_sandbox *sandbox = sandbox_for(task->session, approved, why);

	if (!sandbox)
		return -EPERM;
	struct task_exec *exec = exec_new_of(task, approved, sandbox);

	if (exec->is_confined)
		gateway_exec_begin(agent->gateway, exec->number, command);
	else
		gateway_exec_begin_unconfined(agent->gateway, exec->number, command);
	/* -ENOENT: it has just begun. */
	(void)gateway_exec_join(agent->gateway, exec->number, task->session->number,
				task->session->question_ms);
	gateway_exec_set_argv(agent->gateway, exec->number, (const char *const *)task->argv);
	if (!exec->is_confined || agent->config.has_no_probe)
		note_probe(exec, exec_probe_absent(exec->is_confined));
	int r = grant(exec, approved, why);

	if (r < 0) {
		gateway_exec_end(agent->gateway, exec->number, 126);
		free_exec(exec);
		return r;
	}
	task->execs[task->exec_count++] = exec;
	make_running(exec);
	tell_begin(exec);
	make_plan(exec);
	look_before(exec, run);
	return 0;
}

static void stop(struct task *task, const char *why)
{
	if (task->exec_count > 0)
		stop_exec(task->execs[task->exec_count - 1], why);
}

static void drop(struct task *task)
{
	for (size_t i = 0; i < task->exec_count; i++) {
		judge_exec_ended(task->execs[i]);
		free_exec(task->execs[i]);
	}
}

static void finish(struct task *task, const struct orchestrator_result *result)
{
	task_complete(task, outcome_json(task, result));
}

static bool is_deferred(const struct orchestrator_result *result)
{
	return result->kind == ORCHESTRATOR_DONE && result->exec_count > 0 &&
	       result->outcomes[result->exec_count - 1].is_deferred;
}

/* The gateway has finished with the exec, and the search for what it made is complete. */
static void settled(struct task_exec *exec)
{
	struct task *task = exec->task;

	if (!exec->has_result || exec->look.aside)
		return; /* look_after() is still searching */
	if (!exec->is_deferred) {
		settle(exec);
	} else if (!task->is_started) {
		task_complete(task, outcome_deferred_json(task, exec));
	}
	/* else: its result follows, and done() checks again */
}

/* Tells that the command continues after its result. */
static void defer(struct task_exec *exec)
{
	json_t *event = task_event(exec->task);

	tell_add(event, "attempt", json_integer((json_int_t)exec->attempt));
	tell_send(agent_of(exec), TELL_BACKGROUND, event);
	if (exec->has_result)
		settled(exec);
}

static void done(struct task *task, const struct orchestrator_result *result)
{
	if (!is_deferred(result))
		return finish(task, result);
	struct task_exec *exec = task->execs[task->exec_count - 1];

	task->first = outcome_first(result, result->exec_count);
	/* It went to the background just before the orchestrator processed its cancellation. */
	if (task->is_cancelled)
		stop_exec(exec, "cancelled");
	defer(exec);
}

void exec_run_event(uint64_t number, const struct gateway_exec_event *event, void *arg)
{
	struct task_exec *exec = task_find_exec(arg, number);

	if (!exec)
		return;
	exec_report_network(exec, event);
	if (event->kind == GATEWAY_EXEC_ENDED)
		settled(exec);
}

const struct task_ops exec_run_ops = {
	.kind = TASK_EXEC,
	.done = done,
	.stop = stop,
	.drop = drop,
};
