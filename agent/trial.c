#include "agent/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/channel.h"
#include "agent/confine.h"
#include "agent/core.h"
#include "agent/judge.h"
#include "agent/refusal.h"
#include "agent/task.h"
#include "agent/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_sandbox.h"

#define COMMAND_MAX  512
#define WINDOW_BYTES (256 << 10) /* of output on its way to the client */
#define POLL_BYTES   (1 << 20)

static struct agent *agent_of(const struct trial *trial)
{
	return trial->task->session->agent;
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct trial *trial = arg;

	return gateway_open_way(agent_of(trial)->gateway, trial->exec, fds, count);
}

/* @is_last: nothing comes behind it, so what waits of a character is all there is of it. */
static void tell_output(struct trial *trial, const struct exec_output *output, bool is_last)
{
	static const char *const streams[] = { "stdout", "stderr", "output" };
	struct piece *piece = &trial->pieces[output->stream];
	uint64_t *told = &trial->told[output->stream];
	uint64_t offset = (output->len > 0 ? output->offset : *told) - piece->len;
	size_t len;
	auto_free char *bytes = piece_join(piece, output->bytes, output->len, is_last, &len);

	if (output->len > 0)
		*told = output->offset + output->len;
	if (len == 0 && output->dropped == 0)
		return;
	json_t *event = tell_of_task(TELL_EXEC_OUTPUT, trial->task);

	tell_add(event, "attempt", json_integer((json_int_t)trial->exec));
	tell_add(event, "stream", json_string(streams[output->stream]));
	tell_add(event, "offset", json_integer((json_int_t)offset));
	tell_bytes(event, bytes, len);
	if (output->dropped)
		tell_add(event, "dropped", json_integer((json_int_t)output->dropped));
	tell_send(agent_of(trial), event);
}

static void on_output(struct exec_job *job, const struct exec_output *output, void *arg)
{
	struct trial *trial = arg;

	if (!trial->task->is_streamed)
		return; /* polled */
	tell_output(trial, output, output->dropped > 0);
	/* What the client has not read is not read from the command either. */
	if (channel_is_full(agent_of(trial)->channel))
		trial->owed += output->len;
	else
		exec_job_consumed(job, output->len);
}

/* What waited for the rest of a character. */
static void tell_rest(struct trial *trial)
{
	for (size_t i = 0; i < EXEC_STREAMS; i++) {
		const struct exec_output none = { .stream = (enum exec_stream)i };

		tell_output(trial, &none, true);
	}
}

void trial_consume(struct trial *trial)
{
	if (trial->owed == 0 || trial->has_result)
		return;
	exec_job_consumed(trial->job, trial->owed);
	trial->owed = 0;
}

static void on_end(struct exec_job *job, const struct exec_job_result *result, void *arg)
{
	struct trial *trial = arg;

	trial->result = *result;
	trial->has_result = true;
	tell_rest(trial);
	loop_timer_stop(&trial->yield);
	judge_trial_ended(trial);
	/* What the network did to it is told before that it ended: trial_settle() follows. */
	gateway_exec_end(agent_of(trial)->gateway, trial->exec, result->code);
}

static const struct exec_job_events job_events = {
	.on_egress = on_egress,
	.on_end = on_end,
	.on_output = on_output,
};

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	refusal_add_evidence(arg, evidence);
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	judge_ask(arg, id, program, argv);
}

static void settle_attempt(struct trial *trial, const struct orchestrator_outcome *outcome)
{
	trial->has_settled = true;
	/* -ENOENT: it was given up meanwhile. */
	(void)orchestrator_attempt_ended(trial->task->session->orchestrator, trial->number,
					 outcome);
}

/* It goes on, and its call is told so. */
static void yield_now(struct trial *trial)
{
	struct orchestrator_outcome outcome = {
		.end = ORCHESTRATOR_EXITED,
		.refusals = trial->refusals.list,
		.refusal_count = trial->refusals.count,
		.is_deferred = true,
		.output = trial,
	};

	if (trial->has_result || trial->has_settled)
		return;
	trial->is_deferred = true;
	settle_attempt(trial, &outcome);
}

static void on_yield(void *arg)
{
	yield_now(arg);
}

static void start_yield(struct trial *trial, int64_t after_ms)
{
	struct loop *loop = agent_of(trial)->loop;

	trial->yield_ms = loop_now_ms(loop) + after_ms;
	loop_timer_start(loop, &trial->yield, after_ms, on_yield, trial);
}

/* While somebody is being asked about it the time is not its own. */
static void hold_yield(struct trial *trial, bool is_held)
{
	int64_t left_ms = trial->yield_ms - loop_now_ms(agent_of(trial)->loop);

	if (!trial->task->is_background || trial->is_deferred || trial->has_result)
		return;
	if (!is_held)
		return start_yield(trial, trial->yield_ms);
	loop_timer_stop(&trial->yield);
	trial->yield_ms = left_ms > 0 ? left_ms : 0;
}

void trial_defer(struct trial *trial)
{
	json_t *event = tell_of_task(TELL_BACKGROUND, trial->task);

	tell_add(event, "attempt", json_integer((json_int_t)trial->exec));
	tell_send(agent_of(trial), event);
	if (trial->has_result)
		trial_settle(trial);
}

void trial_pause(struct trial *trial, bool is_paused)
{
	if (is_paused) {
		if (trial->pauses++ == 0)
			hold_yield(trial, true);
		exec_job_pause_clock(trial->job);
		return;
	}
	if (trial->pauses == 0)
		return;
	exec_job_resume_clock(trial->job);
	if (--trial->pauses == 0)
		hold_yield(trial, false);
}

void trial_stop(struct trial *trial, const char *why)
{
	/* -ESRCH: it has ended by itself. */
	(void)exec_job_stop(trial->job, EXEC_JOB_CANCELLED, why);
}

void trial_cancel(struct trial *trial, const char *why)
{
	trial_stop(trial, why);
}

void trial_settle(struct trial *trial)
{
	static const enum orchestrator_end ends[] = {
		[EXEC_JOB_EXITED] = ORCHESTRATOR_EXITED,
		[EXEC_JOB_SIGNALLED] = ORCHESTRATOR_SIGNALLED,
		[EXEC_JOB_TIMED_OUT] = ORCHESTRATOR_TIMED_OUT,
		[EXEC_JOB_CANCELLED] = ORCHESTRATOR_STOPPED,
		[EXEC_JOB_INTERRUPTED] = ORCHESTRATOR_INTERRUPTED,
		[EXEC_JOB_DENIED] = ORCHESTRATOR_STOPPED,
		[EXEC_JOB_NOT_STARTED] = ORCHESTRATOR_NOT_STARTED,
		[EXEC_JOB_KILLED] = ORCHESTRATOR_FAILED,
	};
	bool is_signal = trial->result.raw.end == EXEC_SIGNALLED;
	struct orchestrator_outcome outcome = {
		.end = ends[trial->result.end],
		.status = is_signal ? trial->result.raw.status : trial->result.code,
		.why = trial->result.why,
		.refusals = trial->refusals.list,
		.refusal_count = trial->refusals.count,
		.duration_ms = trial->result.total_ms,
		.output = trial,
	};

	if (!trial->has_result)
		return;
	if (!trial->is_deferred)
		settle_attempt(trial, &outcome);
	else if (!trial->task->is_started)
		task_end_deferred(trial->task, trial);
	/* else: its result is on its way, and trial_defer() looks again */
}

char *trial_destination(const struct orchestrator_access *access)
{
	bool is_v6 = strchr(access->name, ':') != NULL;

	return mem_printf("%s://%s%s%s:%u", access->protocol, is_v6 ? "[" : "", access->name,
			  is_v6 ? "]" : "", (unsigned int)access->port);
}

/* Destinations that its approval came with. */
static int grant(struct trial *trial, const struct orchestrator_attempt *attempt, struct err *why)
{
	for (size_t i = 0; i < attempt->access_count; i++) {
		const struct orchestrator_access *access = &attempt->accesses[i];

		if (access->what != ORCHESTRATOR_DESTINATION)
			continue;
		auto_free char *text = trial_destination(access);
		struct gateway_exec_grant permit = {
			.destination = text,
			.by = "the agent's client",
			.is_for_session = attempt->is_for_session && i >= attempt->new_from,
		};
		int r = gateway_grant_exec(agent_of(trial)->gateway, trial->exec, &permit, NULL,
					   why);

		if (r < 0)
			return r;
	}
	return 0;
}

static void make_job(struct trial *trial)
{
	const struct task *task = trial->task;
	const struct session *session = task->session;
	struct agent *agent = session->agent;
	auto_free char *name = mem_printf("%llu", (unsigned long long)trial->exec);
	struct exec_job_config config = {
		.io = task->has_pty ? EXEC_JOB_PTY : EXEC_JOB_PIPES,
		.size = task->size,
		.has_input = task->has_input || task->has_pty,
		.limit_ms = task->timeout_ms,
		.head_max = (size_t)session->kept_max,
		.tail_max = (size_t)session->kept_max,
		.event_bytes_max = (uint64_t)session->event_bytes_max,
		.unread_max = task->is_streamed ? 0 : POLL_BYTES,
		.window = task->is_streamed ? WINDOW_BYTES : 0,
		.spill_dir = agent->config.spill_dir,
		.spill_name = name,
		.spill = agent->config.spill_dir && !task->has_pty
				 ? BIT(EXEC_STDOUT) | BIT(EXEC_STDERR)
				 : 0,
	};

	trial->job = exec_job_new(agent->loop, &config, &job_events, trial);
}

/* Then it can be told what was not to be seen, at the price of a look at all that is opened. */
static bool restricts_reading(const struct exec_sandbox *sandbox)
{
	return exec_sandbox_has_denials(sandbox) || exec_sandbox_access(sandbox, "/") == EXEC_DENY;
}

static void start_job(struct trial *trial, const struct orchestrator_attempt *attempt)
{
	const struct task *task = trial->task;
	const struct agent *agent = agent_of(trial);
	const struct command_file *file = &attempt->program;
	struct exec_plan_config plan = {
		.argv = (const char *const *)task->argv,
		.env = agent->config.env,
		.env_set = agent->config.env_set,
		.env_asked = (const char *const *)task->env,
		.cwd = task->cwd,
		.hidden = agent->config.hidden,
		.read_only = agent->config.read_only,
		.protection = agent->config.protection,
		.sandbox = trial->sandbox,
		.program = { file->path[0] ? file->path : NULL, file->device, file->inode },
		.on_refused = trial->is_confined ? on_refused : NULL,
		.tells_reads = trial->is_confined && restricts_reading(trial->sandbox),
		.on_program =
			task->session->must_intercept && trial->is_confined ? on_program : NULL,
	};

	exec_job_start(trial->job, &plan);
}

static void tell_begin(const struct trial *trial)
{
	const struct task *task = trial->task;
	json_t *event = tell_of_task(TELL_EXEC_BEGIN, task);

	tell_add(event, "attempt", json_integer((json_int_t)trial->exec));
	tell_add(event, "retry", json_boolean(trial->is_retry));
	tell_add(event, "argv", tell_list((const char *const *)task->argv));
	tell_add(event, "cwd", tell_text(task->cwd));
	tell_add(event, "confined", json_boolean(trial->is_confined));
	tell_send(agent_of(trial), event);
}

static struct exec_sandbox *sandbox_for(const struct session *session,
					const struct orchestrator_attempt *attempt, struct err *why)
{
	return attempt->sandbox ? exec_sandbox_copy(attempt->sandbox)
				: exec_sandbox_unconfined(session->sandbox, why);
}

static struct trial *make(struct task *task, const struct orchestrator_attempt *attempt,
			  struct exec_sandbox *sandbox)
{
	struct trial *trial = mem_new(sizeof(*trial));

	trial->task = task;
	trial->number = attempt->number;
	trial->exec = ++task->session->agent->last_exec;
	trial->is_confined = attempt->is_confined;
	trial->is_retry = attempt->is_retry;
	trial->sandbox = sandbox;
	trial->evidence = json_array();
	trial->allowed = json_array();
	return trial;
}

static int start_exec(struct task *task, const struct orchestrator_attempt *attempt,
		      struct err *why)
{
	struct agent *agent = task->session->agent;
	auto_free char *command = text_command_line((const char *const *)task->argv, COMMAND_MAX);

	if (task->trial_count == AGENT_TRIALS_MAX)
		return err_set(why, -EBUSY, "it was tried as often as it may be");
	if (!agent->gateway || agent->is_gone)
		return err_set(why, -EPIPE, "the gate is closing");
	struct exec_sandbox *sandbox = sandbox_for(task->session, attempt, why);

	if (!sandbox)
		return -EPERM;
	auto_free_list char **writable = confine_writable(sandbox);
	int r = agent->config.host->widen(writable, why, agent->config.arg);

	if (r < 0) {
		exec_sandbox_free(sandbox);
		return r;
	}
	struct trial *trial = make(task, attempt, sandbox);

	if (trial->is_confined)
		gateway_exec_begin(agent->gateway, trial->exec, command);
	else
		gateway_exec_begin_unconfined(agent->gateway, trial->exec, command);
	/* -ENOENT: it has just begun. */
	(void)gateway_exec_join(agent->gateway, trial->exec, task->session->number,
				task->session->question_ms);
	gateway_exec_set_argv(agent->gateway, trial->exec, (const char *const *)task->argv);
	r = grant(trial, attempt, why);
	if (r < 0) {
		gateway_exec_end(agent->gateway, trial->exec, 126);
		trial_free(trial);
		return r;
	}
	task->trials[task->trial_count++] = trial;
	make_job(trial);
	tell_begin(trial);
	start_job(trial, attempt);
	if (task->is_background)
		start_yield(trial, task->yield_ms);
	return 0;
}

/* A patch that was approved: whoever asked applies it. */
static void on_granted(void *arg)
{
	struct task *task = arg;
	const struct orchestrator_outcome outcome = { .end = ORCHESTRATOR_EXITED };

	/* -ENOENT: it was cancelled meanwhile. */
	(void)orchestrator_attempt_ended(task->session->orchestrator, task->attempt, &outcome);
}

int trial_start(const struct orchestrator_attempt *attempt, struct err *why)
{
	struct task *task = attempt->request->arg;
	struct agent *agent = task->session->agent;

	if (!task->was_asked && task_record(task, NULL, !attempt->is_confined) < 0)
		return err_set(why, -EIO, "the decision cannot be recorded, so it is a denial");
	if (task->kind == TASK_EXEC)
		return start_exec(task, attempt, why);
	task->attempt = attempt->number;
	loop_defer(agent->loop, &task->granted, on_granted, task);
	return 0;
}
struct trial *trial_find(const struct session *session, uint64_t number)
{
	const struct task *task;

	TAILQ_FOREACH (task, &session->tasks, entry) {
		for (size_t i = 0; i < task->trial_count; i++) {
			if (task->trials[i]->number == number)
				return task->trials[i];
		}
	}
	return NULL;
}

void trial_free(struct trial *trial)
{
	loop_timer_stop(&trial->yield);
	judge_trial_ended(trial);
	exec_job_free(trial->job);
	exec_sandbox_free(trial->sandbox);
	refusal_forget(trial);
	json_decref(trial->evidence);
	json_decref(trial->allowed);
	free(trial);
}
