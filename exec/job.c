#include "exec/job.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/mem.h"

#define INPUT_MAX 65536
#define ROWS      24
#define COLUMNS   80
#define GONE_MS   1000

enum { CODE_TIMED_OUT = 124, CODE_SIGNAL = 128 };

static int code_of(enum exec_job_end end, const struct exec_result *raw)
{
	switch (end) {
	case EXEC_JOB_EXITED:
	case EXEC_JOB_NOT_STARTED:
		return raw->status;
	case EXEC_JOB_SIGNALLED:
		return CODE_SIGNAL + raw->status;
	case EXEC_JOB_TIMED_OUT:
		return CODE_TIMED_OUT;
	case EXEC_JOB_INTERRUPTED:
		return CODE_SIGNAL + SIGINT;
	case EXEC_JOB_CANCELLED:
	case EXEC_JOB_DENIED:
	case EXEC_JOB_KILLED:
		break;
	}
	/* What it did when it was told to end. */
	if (raw->end == EXEC_EXITED)
		return raw->status;
	return CODE_SIGNAL + (raw->end == EXEC_SIGNALLED ? raw->status : SIGKILL);
}

static enum exec_job_end end_of(const struct exec_job *job)
{
	if (job->is_stopping)
		return job->stop_end;
	switch (job->raw.end) {
	case EXEC_EXITED:
		return EXEC_JOB_EXITED;
	case EXEC_SIGNALLED:
		return job->was_interrupted && job->raw.status == SIGINT ? EXEC_JOB_INTERRUPTED
									 : EXEC_JOB_SIGNALLED;
	case EXEC_NOT_STARTED:
		return EXEC_JOB_NOT_STARTED;
	case EXEC_KILLED:
		break;
	}
	return EXEC_JOB_KILLED;
}

static void make_result(struct exec_job *job)
{
	enum exec_job_end end = end_of(job);

	job->result = (struct exec_job_result){
		.end = end,
		.code = code_of(end, &job->raw),
		.raw = job->raw,
		.was_interrupted = job->was_interrupted,
		.is_cut = job->is_cut,
		.running_ms = clock_running_ms(&job->clock),
		.total_ms = clock_total_ms(&job->clock),
	};
	(void)snprintf(job->result.why, sizeof(job->result.why), "%s",
		       job->is_stopping ? job->stop_why : job->raw.why);
}

static void on_output(const struct exec_output *output, void *arg)
{
	struct exec_job *job = arg;

	job->depth++;
	job->events->on_output(job, output, job->arg);
	job->depth--;
}

static void on_unread(void *arg)
{
	job_poll_check(arg);
}

static void destroy(void *arg)
{
	struct exec_job *job = arg;

	exec_free(job->exec);
	job_input_done(&job->input);
	output_done(&job->output);
	free((char *)(uintptr_t)job->config.spill_dir);
	free((char *)(uintptr_t)job->config.spill_name);
	free(job);
}

void job_bury(struct exec_job *job)
{
	if (!job->is_freed)
		return;
	loop_timer_stop(&job->task);
	destroy(job);
}

static void finish(void *arg)
{
	struct exec_job *job = arg;

	make_result(job);
	job->state = JOB_ENDED;
	if (job->exec && !exec_when_gone(job->exec, NULL)) {
		exec_free(job->exec); /* waits for nothing */
		job->exec = NULL;
	}
	job_poll_answer(job);
	if (!job->is_freed && job->events->on_end) {
		job->depth++;
		job->events->on_end(job, &job->result, job->arg);
		job->depth--;
	}
	job_bury(job);
}

static void on_gone(void *arg)
{
	struct exec_job *job = arg;

	if (job->state == JOB_DRAINING && !job->is_freed)
		loop_defer(job->loop, &job->task, finish, job); /* exec is still on the stack */
}

/* The rest of the sandbox is waited for in the loop, as exec_free() would not. A kernel that does
 * not give it back has the result wait no longer than that. */
static void on_drained(bool is_cut, void *arg)
{
	struct exec_job *job = arg;

	job->is_cut = is_cut;
	output_close(&job->output);
	if (job->exec && exec_when_gone(job->exec, on_gone))
		loop_timer_start(job->loop, &job->task, GONE_MS, finish, job);
	else
		finish(job);
}

static const struct output_events output_events = {
	.on_output = on_output,
	.on_unread = on_unread,
	.on_drained = on_drained,
};

static void on_room(void *arg)
{
	struct exec_job *job = arg;

	if (!job->events->on_room)
		return;
	job->depth++;
	job->events->on_room(job, job->arg);
	job->depth--;
}

void job_end(struct exec_job *job, const struct exec_result *raw)
{
	job->raw = *raw;
	job->state = JOB_DRAINING;
	clock_end(&job->clock);
	loop_timer_stop(&job->limit);
	loop_timer_stop(&job->grace);
	job_input_close(&job->input);
	output_drain(&job->output);
}

struct exec_job *exec_job_new(struct loop *loop, const struct exec_job_config *config,
			      const struct exec_job_events *events, void *arg)
{
	struct exec_job *job = mem_new(sizeof(*job));
	bool has_input = config->has_input || config->io == EXEC_JOB_PTY;

	assert(events->on_egress);
	job->loop = loop;
	job->events = events;
	job->arg = arg;
	job->config = *config;
	job->config.spill_dir = mem_strdup_or_null(config->spill_dir);
	job->config.spill_name = mem_strdup_or_null(config->spill_name);
	if (job->config.size.rows == 0)
		job->config.size.rows = ROWS;
	if (job->config.size.columns == 0)
		job->config.size.columns = COLUMNS;
	output_init(&job->output, loop, &job->config, &output_events, job);
	job->output.is_told = events->on_output != NULL;
	job_input_init(&job->input, loop, config->input_max ? config->input_max : INPUT_MAX,
		       has_input, on_room, job);
	return job;
}

static void silence(struct exec_job *job)
{
	job->is_freed = true;
	loop_timer_stop(&job->task);
	exec_job_poll_withdraw(job);
	loop_timer_stop(&job->limit);
	loop_timer_stop(&job->grace);
	job_input_close(&job->input);
	output_close(&job->output);
}

void exec_job_free(struct exec_job *job)
{
	if (!job || job->is_freed)
		return;
	silence(job);
	if (job->depth > 0)
		loop_defer(job->loop, &job->task, destroy, job);
	else
		destroy(job);
}

void exec_job_pause_clock(struct exec_job *job)
{
	clock_pause(&job->clock);
	clock_pause(&job->poll.clock);
	job_stop_arm(job);
	job_poll_arm(job);
}

void exec_job_resume_clock(struct exec_job *job)
{
	(void)clock_resume(&job->clock); /* one too many changes nothing */
	(void)clock_resume(&job->poll.clock);
	job_stop_arm(job);
	job_poll_arm(job);
}

struct exec *exec_job_exec(const struct exec_job *job)
{
	return job->state == JOB_RUNNING ? job->exec : NULL;
}

ssize_t exec_job_write(struct exec_job *job, const void *bytes, size_t len)
{
	return job_input_write(&job->input, bytes, len);
}

void exec_job_close_input(struct exec_job *job)
{
	job_input_finish(&job->input);
}

int exec_job_resize(struct exec_job *job, struct exec_size size)
{
	const struct winsize to = { .ws_row = size.rows, .ws_col = size.columns };
	int terminal = job->output.sources[0].fd;

	if (job->config.io != EXEC_JOB_PTY)
		return -ENOTTY;
	if (job->state == JOB_DRAINING || job->state == JOB_ENDED)
		return -ESRCH;
	job->config.size = size; /* where it does not exist yet */
	return terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &to) < 0 ? -errno : 0;
}

void exec_job_consumed(struct exec_job *job, size_t bytes)
{
	output_consumed(&job->output, bytes);
}

const struct exec_job_result *exec_job_result(const struct exec_job *job)
{
	return job->state == JOB_ENDED ? &job->result : NULL;
}
