#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "exec/run/exec_impl.h"

#define GRACE_MS 2000

static bool is_gone(const struct exec *exec)
{
	return exec->state == EXEC_DRAINING || exec->state == EXEC_ENDED;
}

static void on_grace_over(void *arg)
{
	struct exec *exec = arg;

	exec_process_kill(exec->process, exec->stop_why);
}

static void remember(struct exec *exec, enum exec_end end, const char *why)
{
	if (exec->is_stopping)
		return;
	exec->is_stopping = true;
	exec->stop_end = end;
	(void)snprintf(exec->stop_why, sizeof(exec->stop_why), "%.*s",
		       (int)sizeof(exec->stop_why) - 1, why);
}

static void never_start(struct exec *exec)
{
	const struct exec_process_result raw = { .end = EXEC_PROCESS_NOT_STARTED, .status = 125 };

	exec_ended(exec, &raw);
}

/* While the sandbox is being set up the signal waits; and the listeners, once ready, are not
 * opened: so the command does not run. */
static void stop(struct exec *exec, enum exec_end end, const char *why)
{
	bool is_first = !exec->is_stopping;

	/* The other ends describe what the command itself did, so a stop must not use them. */
	assert(end == EXEC_CANCELLED || end == EXEC_DENIED || end == EXEC_TIMED_OUT ||
	       (end == EXEC_INTERRUPTED && exec->state == EXEC_NEW));

	remember(exec, end, why);
	if (exec->state == EXEC_NEW) {
		never_start(exec);
	} else if (is_first) {
		exec_process_signal(exec->process, SIGTERM);
		exec_process_signal(exec->process,
				    SIGCONT); /* a stopped process would not handle SIGTERM */
		loop_timer_start(exec->loop, &exec->grace,
				 exec->config.grace_ms > 0 ? exec->config.grace_ms : GRACE_MS,
				 on_grace_over, exec);
	}
}

int exec_stop(struct exec *exec, enum exec_end end, const char *why)
{
	if (is_gone(exec))
		return -ESRCH;
	stop(exec, end, why);
	return 0;
}

int exec_interrupt(struct exec *exec)
{
	int terminal = exec->output.sources[0].fd;
	int r = 0;

	if (is_gone(exec))
		return -ESRCH;
	if (exec->state != EXEC_RUNNING)
		return -EAGAIN;
	if (exec->config.io == EXEC_IO_PTY && terminal >= 0)
		r = ioctl(terminal, TIOCSIG, SIGINT) < 0 ? -errno : 0;
	else
		exec_process_signal(exec->process, SIGINT);
	exec->was_interrupted |= r == 0;
	return r;
}

static void on_limit(void *arg)
{
	struct exec *exec = arg;
	char why[64];

	if (clock_running_ms(&exec->clock) < exec->config.limit_ms) {
		exec_stop_arm(exec); /* the timer ran slightly early */
		return;
	}
	(void)snprintf(why, sizeof(why), "it ran longer than %" PRId64 " ms",
		       exec->config.limit_ms);
	stop(exec, EXEC_TIMED_OUT, why);
}

void exec_stop_arm(struct exec *exec)
{
	int64_t left = exec->config.limit_ms - clock_running_ms(&exec->clock);
	bool is_on = exec->config.limit_ms > 0 && !exec->is_stopping &&
		     exec->state == EXEC_RUNNING && !clock_is_paused(&exec->clock);

	loop_timer_stop(&exec->limit);
	if (is_on)
		loop_timer_start(exec->loop, &exec->limit, left > 0 ? left : 0, on_limit, exec);
}
