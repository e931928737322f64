#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "exec/job.h"

#define NO_SANDBOX 125

/* What exec tells. */

static void drop_egress(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct exec_job *job = arg;

	if (job->is_freed || job->is_stopping) {
		drop_egress(fds, count);
		return -ECANCELED;
	}
	job->depth++;
	int r = job->events->on_egress(fds, count, job->arg);

	job->depth--;
	return r == 0 && (job->is_freed || job->is_stopping) ? -ECANCELED : r;
}

static void on_done(const struct exec_result *result, void *arg)
{
	struct exec_job *job = arg;

	if (!job->is_freed)
		job_end(job, result);
}

static void on_pty(int master, void *arg)
{
	struct exec_job *job = arg;

	if (job->is_freed) {
		fd_close(master);
		return;
	}
	output_read(&job->output, EXEC_STDOUT, master, true);
	job_input_start(&job->input, master, true);
	(void)exec_job_resize(job, job->config.size); /* it may have changed since the start */
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	struct exec_job *job = arg;

	if (job->is_freed)
		return;
	job->depth++;
	job->on_refused(evidence, job->arg);
	job->depth--;
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	struct exec_job *job = arg;

	if (job->is_freed)
		return;
	job->depth++;
	job->on_program(id, program, argv, cwd, job->arg);
	job->depth--;
}

/* The ends of the pipes that are the command's, and no longer than its start takes. */
struct ends {
	int fds[3];
};

static void close_ends(struct ends *ends)
{
	for (int i = 0; i < 3; i++)
		fd_close(ends->fds[i]);
}

static int open_output(struct exec_job *job, struct ends *ends, int at, struct err *why)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_errno(why, errno, "cannot make a pipe");
	ends->fds[at] = pair[1];
	output_read(&job->output, at == 1 ? EXEC_STDOUT : EXEC_STDERR, pair[0], false);
	return 0;
}

static int open_input(struct exec_job *job, struct ends *ends, struct err *why)
{
	int pair[2];

	if (!job->config.has_input) {
		ends->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return ends->fds[0] < 0 ? err_errno(why, errno, "/dev/null") : 0;
	}
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_errno(why, errno, "cannot make a pipe");
	ends->fds[0] = pair[0];
	job_input_start(&job->input, pair[1], false);
	return 0;
}

static int open_ends(struct exec_job *job, struct ends *ends, struct err *why)
{
	int r = open_input(job, ends, why);

	if (r == 0)
		r = open_output(job, ends, 1, why);
	if (r < 0 || job->config.io == EXEC_JOB_PIPES)
		return r < 0 ? r : open_output(job, ends, 2, why);
	ends->fds[2] = fcntl(ends->fds[1], F_DUPFD_CLOEXEC, 0);
	return ends->fds[2] < 0 ? err_errno(why, errno, "cannot copy a descriptor") : 0;
}

static int start(struct exec_job *job, const struct exec_plan_config *plan, struct err *why)
{
	struct exec_plan_config config = *plan;
	struct ends ends = { .fds = { -1, -1, -1 } };
	bool has_pty = job->config.io == EXEC_JOB_PTY;
	int r = has_pty ? 0 : open_ends(job, &ends, why);

	job->on_refused = plan->on_refused;
	job->on_program = plan->on_program;
	config.stdio = has_pty ? NULL : ends.fds;
	config.pty = has_pty ? &job->config.size : NULL;
	config.on_pty = has_pty ? on_pty : NULL;
	config.on_refused = plan->on_refused ? on_refused : NULL;
	config.on_program = plan->on_program ? on_program : NULL;
	if (r == 0) {
		job->exec = exec_start(job->loop, &config, on_egress, on_done, job, why);
		r = job->exec ? 0 : -ECANCELED;
	}
	close_ends(&ends);
	return r;
}

void exec_job_start(struct exec_job *job, const struct exec_plan_config *plan)
{
	struct exec_result failed = { .end = EXEC_NOT_STARTED, .status = NO_SANDBOX };
	struct err why = { 0 };

	if (job->state != JOB_NEW)
		return; /* stopped before */
	job->state = JOB_RUNNING;
	clock_begin(&job->clock, job->loop);
	if (start(job, plan, &why) < 0) {
		(void)snprintf(failed.why, sizeof(failed.why), "%.*s", (int)sizeof(failed.why) - 1,
			       why.text);
		job_end(job, &failed);
		return;
	}
	job_stop_arm(job);
}
