#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "exec/job.h"

#define GRACE_MS 2000

static bool is_gone(const struct exec_job *job)
{
	return job->state == JOB_DRAINING || job->state == JOB_ENDED;
}

static void on_grace_over(void *arg)
{
	struct exec_job *job = arg;

	exec_kill(job->exec, job->stop_why);
}

static void remember(struct exec_job *job, enum exec_job_end end, const char *why)
{
	if (job->is_stopping)
		return;
	job->is_stopping = true;
	job->stop_end = end;
	(void)snprintf(job->stop_why, sizeof(job->stop_why), "%.*s", (int)sizeof(job->stop_why) - 1,
		       why);
}

static void never_start(struct exec_job *job)
{
	const struct exec_result raw = { .end = EXEC_NOT_STARTED, .status = 125 };

	job_end(job, &raw);
}

/* While it is set up the signal waits, and the way out, once it is there, is not opened: so nothing
 * runs. */
static void stop(struct exec_job *job, enum exec_job_end end, const char *why, bool has_grace)
{
	bool is_first = !job->is_stopping;

	/* The other ends are a command's own, and would say what did not happen. */
	assert(end == EXEC_JOB_CANCELLED || end == EXEC_JOB_DENIED || end == EXEC_JOB_TIMED_OUT);

	remember(job, end, why);
	if (job->state == JOB_NEW) {
		never_start(job);
	} else if (!has_grace) {
		exec_kill(job->exec, job->stop_why);
	} else if (is_first) {
		exec_signal(job->exec, SIGTERM);
		exec_signal(job->exec, SIGCONT); /* what is stopped would not hear it */
		loop_timer_start(job->loop, &job->grace,
				 job->config.grace_ms > 0 ? job->config.grace_ms : GRACE_MS,
				 on_grace_over, job);
	}
}

int exec_job_stop(struct exec_job *job, enum exec_job_end end, const char *why)
{
	if (is_gone(job))
		return -ESRCH;
	stop(job, end, why, true);
	return 0;
}

int exec_job_kill(struct exec_job *job, enum exec_job_end end, const char *why)
{
	if (is_gone(job))
		return -ESRCH;
	stop(job, end, why, false);
	return 0;
}

int exec_job_signal(struct exec_job *job, int signal)
{
	if (is_gone(job))
		return -ESRCH;
	if (job->state != JOB_RUNNING)
		return -EAGAIN;
	exec_signal(job->exec, signal);
	return 0;
}

int exec_job_interrupt(struct exec_job *job)
{
	int terminal = job->output.sources[0].fd;
	int r;

	if (job->config.io == EXEC_JOB_PTY && job->state == JOB_RUNNING && terminal >= 0)
		r = ioctl(terminal, TIOCSIG, SIGINT) < 0 ? -errno : 0;
	else
		r = exec_job_signal(job, SIGINT);
	job->was_interrupted |= r == 0;
	return r;
}

static void on_limit(void *arg)
{
	struct exec_job *job = arg;
	char why[64];

	if (clock_running_ms(&job->clock) < job->config.limit_ms) {
		job_stop_arm(job); /* the timer was a little early */
		return;
	}
	(void)snprintf(why, sizeof(why), "it ran longer than %" PRId64 " ms", job->config.limit_ms);
	stop(job, EXEC_JOB_TIMED_OUT, why, true);
}

void job_stop_arm(struct exec_job *job)
{
	int64_t left = job->config.limit_ms - clock_running_ms(&job->clock);
	bool is_on = job->config.limit_ms > 0 && !job->is_stopping && job->state == JOB_RUNNING &&
		     !clock_is_paused(&job->clock);

	loop_timer_stop(&job->limit);
	if (is_on)
		loop_timer_start(job->loop, &job->limit, left > 0 ? left : 0, on_limit, job);
}
