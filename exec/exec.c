#include "exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/launch.h"
#include "exec/notify.h"
#include "exec/plan.h"
#include "exec/pty.h"
#include "exec/supervise.h"
#include "exec/wire.h"

struct exec {
	struct supervise *supervise;
	struct pty *pty; /* NULL: none of 0–2 is a terminal of ours */
	struct exec_size size;
	exec_pty_fn on_pty;    /* NULL: no pty for the caller */
	struct notify *notify; /* NULL: nobody is told of calls */
	struct exec_result result;
	exec_egress_fn egress;
	exec_done_fn done;
	void (*gone)(void *arg); /* NULL: nobody wants to know */
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
	const struct winsize size = { .ws_row = exec->size.rows, .ws_col = exec->size.columns };

	if (exec->pty) {
		pty_start(exec->pty, master);
		return;
	}
	(void)ioctl(master, TIOCSWINSZ, &size); /* fails on no pty */
	exec->on_pty(master, exec->arg);
}

static int on_listener(int listener, int told, void *arg)
{
	struct exec *exec = arg;

	if (!exec->notify)
		return -EPROTO;
	notify_start(exec->notify, listener, told);
	return 0;
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
	exec->result.refused = exec->notify ? notify_count(exec->notify) : 0;
	if (exec->pty)
		pty_end(exec->pty, on_drained, exec);
	else
		exec->done(&exec->result, exec->arg);
}

static void on_gone(void *arg)
{
	struct exec *exec = arg;

	if (exec->gone)
		exec->gone(exec->arg);
}

static const struct supervise_events events = {
	.on_ready = on_ready,
	.on_pty = on_pty,
	.on_listener = on_listener,
	.on_stopped = on_stopped,
	.on_end = on_end,
	.on_gone = on_gone,
};

/* The command's 0–2 become a pty later, inside: until then it has nothing there, ours least of all.
 */
static int launch_with_pty(int sealed, uint32_t flags, struct launch *launch, struct err *why)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int stdio[3] = { null, null, null };

	if (null < 0)
		return err_errno(why, errno, "/dev/null");
	return launch_init(sealed, flags, stdio, launch, why);
}

static int start(struct exec *exec, struct loop *loop, const struct exec_plan_config *config,
		 struct err *why)
{
	struct launch launch = { .pidfd = -1, .control = -1 };
	int r = 0;
	struct plan *plan = plan_new(config, &r, why);

	if (!plan)
		return r;
	for (size_t i = 0; i < plan->warnings.count; i++) {
		auto_free char *warning = text_visible_dup(plan->warnings.list[i]);

		log_warn("exec: %s", warning);
	}
	if (log_get_level() >= LOG_LEVEL_DEBUG)
		plan->flags |= WIRE_TIMES;
	if (!(plan->flags & WIRE_UNCONFINED)) {
		plan->flags |= notify_wishes(config);
	} else if (config->on_program) {
		plan_free(plan);
		return err_set(why, -ENOTSUP,
			       "programs cannot be judged where nothing confines them");
	}
	auto_close int sealed = plan_seal(plan, why);
	uint32_t flags = plan->flags, terminals = flags & WIRE_TERMINALS;

	if ((plan->flags & WIRE_TELLS) != 0)
		exec->notify = notify_new(loop, plan, config, exec->arg);
	else
		plan_free(plan);
	if (sealed < 0)
		return sealed;
	if (config->pty && !config->on_pty)
		return err_set(why, -EINVAL, "a pty, and nobody to take it");
	if (config->pty) {
		exec->size = *config->pty;
		exec->on_pty = config->on_pty;
	} else if (terminals) {
		exec->pty = pty_new(loop, terminals, why);
		if (!exec->pty)
			return -ENOTTY;
	}
	r = config->pty ? launch_with_pty(sealed, flags, &launch, why)
			: launch_init(sealed, flags, config->stdio, &launch, why);
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
	if (exec->notify && exec->supervise)
		supervise_kill(exec->supervise, 0, "it is not wanted any more");
	notify_free(exec->notify); /* what is traced has to be buried by us */
	supervise_free(exec->supervise);
	pty_free(exec->pty);
	free(exec);
}

int exec_program_answer(struct exec *exec, uint64_t id, bool is_allowed)
{
	return exec->notify ? notify_answer(exec->notify, id, is_allowed) : -ENOENT;
}

bool exec_when_gone(struct exec *exec, void (*gone)(void *arg))
{
	bool is_left = !supervise_is_gone(exec->supervise);

	exec->gone = is_left ? gone : NULL;
	return is_left;
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
