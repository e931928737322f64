#include <errno.h>

#include "exec/job.h"

static bool is_ready(const struct exec_job *job)
{
	return job->state == JOB_ENDED || job->output.unread.len >= job->poll.max ||
	       clock_running_ms(&job->poll.clock) >= job->poll.wait_ms;
}

void job_poll_answer(struct exec_job *job)
{
	struct job_poll *poll = &job->poll;
	struct ring *unread = &job->output.unread;
	exec_poll_fn done = poll->done;
	struct exec_poll answer = { .dropped = job->output.unread_dropped };

	if (!done)
		return;
	loop_timer_stop(&poll->timer);
	poll->done = NULL;
	answer.bytes = ring_peek(unread);
	answer.len = unread->len < poll->max ? unread->len : poll->max;
	output_polled(&job->output, answer.len); /* nothing is read meanwhile: the bytes stay */
	if (job->state == JOB_ENDED && unread->len == 0)
		answer.result = &job->result;
	job->depth++;
	done(job, &answer, poll->arg);
	job->depth--;
}

static void on_time(void *arg)
{
	struct exec_job *job = arg;

	if (!is_ready(job)) {
		job_poll_arm(job); /* paused, or the timer was a little early */
		return;
	}
	job_poll_answer(job);
	job_bury(job);
}

void job_poll_arm(struct exec_job *job)
{
	struct job_poll *poll = &job->poll;
	int64_t left;

	if (!poll->done)
		return;
	left = poll->wait_ms - clock_running_ms(&poll->clock);
	if (is_ready(job))
		loop_defer(job->loop, &poll->timer, on_time, job);
	else if (clock_is_paused(&poll->clock))
		loop_timer_stop(&poll->timer);
	else
		loop_timer_start(job->loop, &poll->timer, left, on_time, job);
}

void job_poll_check(struct exec_job *job)
{
	if (job->poll.done && is_ready(job))
		loop_defer(job->loop, &job->poll.timer, on_time, job);
}

int exec_job_poll(struct exec_job *job, int64_t wait_ms, size_t max_bytes, exec_poll_fn done,
		  void *arg)
{
	size_t limit = job->config.unread_max;

	if (limit == 0)
		return -EINVAL;
	if (job->poll.done)
		return -EBUSY;
	/* A full queue is an answer: with back-pressure no more would ever come. */
	if (job->config.window > 0 && job->config.window < limit)
		limit = job->config.window;
	job->poll = (struct job_poll){
		.done = done,
		.arg = arg,
		.max = max_bytes > 0 && max_bytes < limit ? max_bytes : limit,
		.wait_ms = wait_ms,
		.clock.pauses = job->clock.pauses,
	};
	clock_begin(&job->poll.clock, job->loop);
	job_poll_arm(job);
	return 0;
}

void exec_job_poll_withdraw(struct exec_job *job)
{
	loop_timer_stop(&job->poll.timer);
	job->poll.done = NULL;
}
