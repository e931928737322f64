#include "exec/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/launch.h"
#include "exec/plan.h"
#include "exec/pty.h"
#include "exec/supervise.h"
#include "exec/wire.h"

struct exec {
	struct supervise *supervise;
	struct pty *pty; /* NULL: none of 0–2 is a terminal */
	struct exec_result result;
	exec_egress_fn egress;
	exec_done_fn done;
	void *arg;
};

static int on_ready(int *fds, void *arg)
{
	struct exec *exec = arg;

	return exec->egress(fds, EXEC_EGRESS_FDS, exec->arg);
}

static void on_pty(int master, void *arg)
{
	struct exec *exec = arg;

	pty_start(exec->pty, master);
}

/* As a shell's child: the whole job stops, and goes on when the shell says so. Where nobody could
 * (an orphaned process group, or SIGTSTP ignored) the signal is dropped, and the command goes on at
 * once. */
static void on_stopped(void *arg)
{
	struct exec *exec = arg;

	if (!exec->pty)
		return;
	pty_suspend(exec->pty);
	(void)kill(0, SIGTSTP);
	pty_resume(exec->pty);
	supervise_signal(exec->supervise, SIGCONT);
}

static void on_drained(void *arg)
{
	struct exec *exec = arg;

	exec->done(&exec->result, exec->arg);
}

static void on_end(const struct exec_result *result, void *arg)
{
	struct exec *exec = arg;

	exec->result = *result;
	if (exec->pty)
		pty_end(exec->pty, on_drained, exec);
	else
		exec->done(&exec->result, exec->arg);
}

static const struct supervise_events events = {
	.on_ready = on_ready,
	.on_pty = on_pty,
	.on_stopped = on_stopped,
	.on_end = on_end,
};

static int start(struct exec *exec, struct loop *loop, const struct exec_plan_config *config,
		 struct err *why)
{
	struct launch launch = { .pidfd = -1, .control = -1 };
	int r = 0;
	struct plan *plan = plan_new(config, &r, why);

	if (!plan)
		return r;
	if (log_get_level() >= LOG_LEVEL_DEBUG)
		plan->flags |= WIRE_TIMES;
	auto_close int sealed = plan_seal(plan, why);
	uint32_t flags = plan->flags, terminals = flags & WIRE_TERMINALS;

	plan_free(plan);
	if (sealed < 0)
		return sealed;
	if (terminals) {
		exec->pty = pty_new(loop, terminals, why);
		if (!exec->pty)
			return -ENOTTY;
	}
	r = launch_init(sealed, flags, &launch, why);
	if (r < 0)
		return r;
	exec->supervise =
		supervise_new(loop, &launch, config->argv[0], terminals != 0, &events, exec);
	return 0;
}

struct exec *exec_start(struct loop *loop, const struct exec_plan_config *config,
			exec_egress_fn egress, exec_done_fn done, void *arg, struct err *why)
{
	struct exec *exec = mem_new(sizeof(*exec));

	exec->egress = egress;
	exec->done = done;
	exec->arg = arg;
	if (start(exec, loop, config, why) < 0) {
		exec_free(exec);
		return NULL;
	}
	return exec;
}

void exec_kill(struct exec *exec, const char *why)
{
	supervise_kill(exec->supervise, 0, why);
}

void exec_signal(struct exec *exec, int signal)
{
	supervise_signal(exec->supervise, signal);
}

void exec_free(struct exec *exec)
{
	if (!exec)
		return;
	supervise_free(exec->supervise);
	pty_free(exec->pty);
	free(exec);
}

void exec_hold_terminal(struct exec *exec)
{
	if (exec->pty)
		pty_hold(exec->pty);
}

void exec_release_terminal(struct exec *exec)
{
	if (exec->pty)
		pty_release(exec->pty);
}
