/* The cost of an exec in addition to its process: COUNT runs of true(1) each way, taking turns, and
 * then COUNT execs at once. usage: bench-exec [COUNT] */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/exec.h"

struct bench {
	struct loop *loop;
	size_t execs_left;
};

static const char *const command[] = { "true", NULL };
static const struct exec_plan_config plan = { .argv = command, .cwd = "/var/tmp" };

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void fail(const char *why)
{
	(void)fprintf(stderr, "bench-exec: %s\n", why);
	exit(1);
}

static int on_egress(int *fds, size_t count, void *arg)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return 0;
}

static void on_done(const struct exec_process_result *result, void *arg)
{
	struct bench *bench = arg;

	if (result->end != EXEC_PROCESS_EXITED || result->status != 0)
		fail(result->why);
	loop_stop(bench->loop);
}

static double time_process(struct bench *bench)
{
	struct err why = { 0 };
	double start = now_ms();
	struct exec_process *process =
		exec_process_start(bench->loop, &plan, on_egress, on_done, bench, &why);

	if (!process)
		fail(why.text);
	loop_run(bench->loop);
	exec_process_free(process);
	return now_ms() - start;
}

static void on_end(struct exec *exec, const struct exec_result *result, void *arg)
{
	struct bench *bench = arg;

	if (result->code != 0)
		fail(result->why);
	exec_free(exec);
	if (--bench->execs_left == 0)
		loop_stop(bench->loop);
}

static double time_jobs(struct bench *bench, size_t count)
{
	static const struct exec_events events = { .on_egress = on_egress, .on_end = on_end };
	static const struct exec_config config;
	double start = now_ms();

	bench->execs_left = count;
	for (size_t i = 0; i < count; i++)
		exec_start(exec_new(bench->loop, &config, &events, bench), &plan);
	loop_run(bench->loop);
	return now_ms() - start;
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
	struct bench bench = { .loop = loop_new() };
	auto_free double *by_exec = mem_new_array(count + 1, sizeof(double));
	auto_free double *by_job = mem_new_array(count + 1, sizeof(double));
	struct rlimit files;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)getrlimit(RLIMIT_NOFILE, &files); /* five descriptors an exec */
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
	for (size_t i = 0; i < count; i++) {
		by_exec[i] = time_process(&bench);
		by_job[i] = time_jobs(&bench, 1);
	}
	double one = median(by_exec, count), exec = median(by_job, count);

	printf("exec   median %6.2f ms\n", one);
	printf("exec    median %6.2f ms   exec / exec: %.2f\n", exec, exec / one);
	printf("%zu jobs at once: %.2f ms each\n", count, time_jobs(&bench, count) / (double)count);
	loop_free(bench.loop);
	return 0;
}
