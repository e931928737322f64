/* What a job costs beside the exec in it: COUNT runs of `true`, each way in turns, one after
 * another, and then COUNT jobs at once. usage: bench-job [COUNT] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/exec_job.h"

static const char *const argv_true[] = { "/bin/true", NULL };
static struct exec_plan_config plan = { .argv = argv_true, .cwd = "/var/tmp" };

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int on_egress(int *fds, size_t count, void *arg)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return 0;
}

static void on_done(const struct exec_result *result, void *arg)
{
	if (result->end != EXEC_EXITED || result->status != 0)
		exit(1);
	loop_stop(arg);
}

static double free_ms;

static void run_exec(struct loop *loop)
{
	struct err why = { 0 };
	struct exec *exec = exec_start(loop, &plan, on_egress, on_done, loop, &why);

	if (!exec) {
		(void)fprintf(stderr, "%s\n", why.text);
		exit(1);
	}
	loop_run(loop);
	double before = now_ms();
	exec_free(exec);
	free_ms += now_ms() - before;
}

static int jobs_left;

static void on_end(struct exec_job *job, const struct exec_job_result *result, void *arg)
{
	if (result->code != 0)
		exit(1);
	double before = now_ms();
	exec_job_free(job);
	free_ms += now_ms() - before;
	if (--jobs_left == 0)
		loop_stop(arg);
}

static const struct exec_job_events events = { .on_egress = on_egress, .on_end = on_end };

static void start_job(struct loop *loop)
{
	static const struct exec_job_config config;

	jobs_left++;
	exec_job_start(exec_job_new(loop, &config, &events, loop), &plan);
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *ms, size_t count)
{
	qsort(ms, count, sizeof(*ms), compare);
	return ms[count / 2];
}

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
	struct rlimit files;
	struct loop *loop = loop_new();
	double *by_exec = mem_new_array(count, sizeof(double));
	double *by_job = mem_new_array(count, sizeof(double));

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (size_t i = 0; i < count; i++) {
		double start = now_ms();

		run_exec(loop);
		by_exec[i] = now_ms() - start;
		start = now_ms();
		start_job(loop);
		loop_run(loop);
		loop_step(loop);
		by_job[i] = now_ms() - start;
	}
	printf("exec_start: median %.2f ms\n", median(by_exec, count));
	printf("exec_job:   median %.2f ms, ratio %.3f\n", median(by_job, count),
	       median(by_job, count) / median(by_exec, count));
	printf("free: %.3f ms each\n", free_ms / 2 / count);
	double start = now_ms();

	for (size_t i = 0; i < count; i++)
		start_job(loop);
	loop_run(loop);
	printf("%zu jobs at once: %.2f ms each\n", count, (now_ms() - start) / (double)count);
	return 0;
}
