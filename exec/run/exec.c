#include "exec/run/exec_impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

#define INPUT_MAX 65536
#define ROWS      24
#define COLUMNS   80
#define GONE_MS   1000

enum { CODE_TIMED_OUT = 124, CODE_NO_SANDBOX = 125, CODE_SIGNAL = 128 };

static int code_of(enum exec_end end, const struct exec_process_result *raw)
{
	switch (end) {
	case EXEC_EXITED:
	case EXEC_NOT_STARTED:
		return raw->status;
	case EXEC_SIGNALLED:
		return CODE_SIGNAL + raw->status;
	case EXEC_TIMED_OUT:
		return CODE_TIMED_OUT;
	case EXEC_INTERRUPTED:
		return CODE_SIGNAL + SIGINT;
	case EXEC_CANCELLED:
	case EXEC_DENIED:
	case EXEC_KILLED:
		break;
	}
	/* The status with which it reacted to the request to stop. */
	if (raw->end == EXEC_PROCESS_EXITED)
		return raw->status;
	return CODE_SIGNAL + (raw->end == EXEC_PROCESS_SIGNALLED ? raw->status : SIGKILL);
}

static enum exec_end end_of(const struct exec *exec)
{
	if (exec->is_stopping)
		return exec->stop_end;
	switch (exec->raw.end) {
	case EXEC_PROCESS_EXITED:
		return EXEC_EXITED;
	case EXEC_PROCESS_SIGNALLED:
		return exec->was_interrupted && exec->raw.status == SIGINT ? EXEC_INTERRUPTED
									   : EXEC_SIGNALLED;
	case EXEC_PROCESS_NOT_STARTED:
		return EXEC_NOT_STARTED;
	case EXEC_PROCESS_KILLED:
		break;
	}
	return EXEC_KILLED;
}

static void make_result(struct exec *exec)
{
	enum exec_end end = end_of(exec);

	exec->result = (struct exec_result){
		.end = end,
		.code = code_of(end, &exec->raw),
		.raw = exec->raw,
		.was_interrupted = exec->was_interrupted,
		.is_cut = exec->is_cut,
		.running_ms = clock_running_ms(&exec->clock),
		.total_ms = clock_total_ms(&exec->clock),
	};
	(void)snprintf(exec->result.why, sizeof(exec->result.why), "%s",
		       exec->is_stopping ? exec->stop_why : exec->raw.why);
}

static void on_output(const struct exec_output *output, void *arg)
{
	struct exec *exec = arg;

	exec->depth++;
	exec->events->on_output(exec, output, exec->arg);
	exec->depth--;
}

static void on_unread(void *arg)
{
	exec_poll_check(arg);
}

static void destroy(void *arg)
{
	struct exec *exec = arg;

	exec_process_free(exec->process);
	exec_input_done(&exec->input);
	output_done(&exec->output);
	free((char *)(uintptr_t)exec->config.spill_dir);
	free((char *)(uintptr_t)exec->config.spill_name);
	free(exec);
}

void exec_bury(struct exec *exec)
{
	if (!exec->is_freed)
		return;
	loop_timer_stop(&exec->task);
	destroy(exec);
}

static void finish(void *arg)
{
	struct exec *exec = arg;

	make_result(exec);
	exec->state = EXEC_ENDED;
	if (exec->process && !exec_process_when_gone(exec->process, NULL)) {
		exec_process_free(exec->process); /* does not block */
		exec->process = NULL;
	}
	exec_poll_answer(exec);
	if (!exec->is_freed && exec->events->on_end) {
		exec->depth++;
		exec->events->on_end(exec, &exec->result, exec->arg);
		exec->depth--;
	}
	exec_bury(exec);
}

static void on_gone(void *arg)
{
	struct exec *exec = arg;

	if (exec->state == EXEC_DRAINING && !exec->is_freed)
		loop_defer(exec->loop, &exec->task, finish,
			   exec); /* the process's function is still on the stack */
}

/* The rest of the sandbox is waited for in the loop; exec_process_free() would block. If the kernel
 * does not destroy it in time, the result is reported after GONE_MS. */
static void on_drained(bool is_cut, void *arg)
{
	struct exec *exec = arg;

	exec->is_cut = is_cut;
	output_close(&exec->output);
	if (exec->process && exec_process_when_gone(exec->process, on_gone))
		loop_timer_start(exec->loop, &exec->task, GONE_MS, finish, exec);
	else
		finish(exec);
}

static const struct output_events output_events = {
	.on_output = on_output,
	.on_unread = on_unread,
	.on_drained = on_drained,
};

static void on_room(void *arg)
{
	struct exec *exec = arg;

	if (!exec->events->on_room)
		return;
	exec->depth++;
	exec->events->on_room(exec, exec->arg);
	exec->depth--;
}

void exec_ended(struct exec *exec, const struct exec_process_result *raw)
{
	exec->raw = *raw;
	exec->state = EXEC_DRAINING;
	clock_end(&exec->clock);
	loop_timer_stop(&exec->limit);
	loop_timer_stop(&exec->grace);
	exec_input_close(&exec->input);
	output_drain(&exec->output);
}

struct exec *exec_new(struct loop *loop, const struct exec_config *config,
		      const struct exec_events *events, void *arg)
{
	struct exec *exec = mem_new(sizeof(*exec));
	bool has_input = config->has_input || config->io == EXEC_IO_PTY;

	assert(events->on_egress);
	exec->loop = loop;
	exec->events = events;
	exec->arg = arg;
	exec->config = *config;
	exec->config.spill_dir = mem_strdup_or_null(config->spill_dir);
	exec->config.spill_name = mem_strdup_or_null(config->spill_name);
	if (exec->config.size.rows == 0)
		exec->config.size.rows = ROWS;
	if (exec->config.size.columns == 0)
		exec->config.size.columns = COLUMNS;
	output_init(&exec->output, loop, &exec->config, &output_events, exec);
	exec->output.is_told = events->on_output != NULL;
	exec_input_init(&exec->input, loop, config->input_max ? config->input_max : INPUT_MAX,
			has_input, on_room, exec);
	return exec;
}

static void silence(struct exec *exec)
{
	exec->is_freed = true;
	loop_timer_stop(&exec->task);
	exec_poll_withdraw(exec);
	loop_timer_stop(&exec->limit);
	loop_timer_stop(&exec->grace);
	exec_input_close(&exec->input);
	output_close(&exec->output);
}

void exec_free(struct exec *exec)
{
	if (!exec || exec->is_freed)
		return;
	silence(exec);
	if (exec->depth > 0)
		loop_defer(exec->loop, &exec->task, destroy, exec);
	else
		destroy(exec);
}

void exec_pause_clock(struct exec *exec)
{
	clock_pause(&exec->clock);
	clock_pause(&exec->poll.clock);
	exec_stop_arm(exec);
	exec_poll_arm(exec);
}

void exec_resume_clock(struct exec *exec)
{
	(void)clock_resume(&exec->clock); /* a second call has no effect */
	(void)clock_resume(&exec->poll.clock);
	exec_stop_arm(exec);
	exec_poll_arm(exec);
}

int exec_answer(struct exec *exec, uint64_t id, bool is_allowed)
{
	return exec->state == EXEC_RUNNING && exec->process
		       ? exec_process_answer(exec->process, id, is_allowed)
		       : -ESRCH;
}

ssize_t exec_write(struct exec *exec, const void *bytes, size_t len)
{
	return exec_input_write(&exec->input, bytes, len);
}

void exec_close_input(struct exec *exec)
{
	exec_input_finish(&exec->input);
}

int exec_resize(struct exec *exec, struct exec_size size)
{
	const struct winsize to = { .ws_row = size.rows, .ws_col = size.columns };
	int terminal = exec->output.sources[0].fd;

	if (exec->config.io != EXEC_IO_PTY)
		return -ENOTTY;
	if (exec->state == EXEC_DRAINING || exec->state == EXEC_ENDED)
		return -ESRCH;
	exec->config.size = size; /* saved for the start, if it is not running */
	return terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &to) < 0 ? -errno : 0;
}

void exec_consumed(struct exec *exec, size_t bytes)
{
	output_consumed(&exec->output, bytes);
}

/* Events of the exec. */

static int on_egress(int *fds, size_t count, void *arg)
{
	struct exec *exec = arg;

	if (exec->is_freed || exec->is_stopping) {
		fd_close_all(fds, count);
		return -ECANCELED;
	}
	exec->depth++;
	int r = exec->events->on_egress(fds, count, exec->arg);

	exec->depth--;
	return r == 0 && (exec->is_freed || exec->is_stopping) ? -ECANCELED : r;
}

static void on_done(const struct exec_process_result *result, void *arg)
{
	struct exec *exec = arg;

	if (!exec->is_freed)
		exec_ended(exec, result);
}

static void on_pty(int master, void *arg)
{
	struct exec *exec = arg;

	if (exec->is_freed) {
		fd_close(master);
		return;
	}
	output_read(&exec->output, EXEC_STDOUT, master, true);
	exec_input_start(&exec->input, master, true);
	(void)exec_resize(exec, exec->config.size); /* it may have changed since exec_start() */
}

static void on_refused(const struct exec_evidence *evidence, void *arg)
{
	struct exec *exec = arg;

	if (exec->is_freed)
		return;
	exec->depth++;
	exec->on_refused(evidence, exec->arg);
	exec->depth--;
}

static void on_probed(const struct exec_probe *probe, void *arg)
{
	struct exec *exec = arg;

	if (exec->is_freed)
		return;
	exec->depth++;
	exec->on_probed(probe, exec->arg);
	exec->depth--;
}

static void on_program(uint64_t id, const struct exec_program *program, const char *const *argv,
		       const char *cwd, void *arg)
{
	struct exec *exec = arg;

	if (exec->is_freed)
		return;
	exec->depth++;
	exec->on_program(id, program, argv, cwd, exec->arg);
	exec->depth--;
}

/* The command's ends of the pipes, which we hold only while it starts. */
struct ends {
	int fds[3];
};

static void close_ends(struct ends *ends)
{
	for (int i = 0; i < 3; i++)
		fd_close(ends->fds[i]);
}

static int open_output(struct exec *exec, struct ends *ends, int at, struct err *why)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_errno(why, errno, "cannot make a pipe");
	ends->fds[at] = pair[1];
	output_read(&exec->output, at == 1 ? EXEC_STDOUT : EXEC_STDERR, pair[0], false);
	return 0;
}

static int open_input(struct exec *exec, struct ends *ends, struct err *why)
{
	int pair[2];

	if (!exec->config.has_input) {
		ends->fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return ends->fds[0] < 0 ? err_errno(why, errno, "/dev/null") : 0;
	}
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_errno(why, errno, "cannot make a pipe");
	ends->fds[0] = pair[0];
	exec_input_start(&exec->input, pair[1], false);
	return 0;
}

static int open_ends(struct exec *exec, struct ends *ends, struct err *why)
{
	int r = open_input(exec, ends, why);

	if (r == 0)
		r = open_output(exec, ends, 1, why);
	if (r < 0 || exec->config.io == EXEC_IO_PIPES)
		return r < 0 ? r : open_output(exec, ends, 2, why);
	ends->fds[2] = fcntl(ends->fds[1], F_DUPFD_CLOEXEC, 0);
	return ends->fds[2] < 0 ? err_errno(why, errno, "cannot copy a descriptor") : 0;
}

static int start(struct exec *exec, const struct exec_plan_config *plan, struct err *why)
{
	struct exec_plan_config config = *plan;
	struct ends ends = { .fds = { -1, -1, -1 } };
	bool has_pty = exec->config.io == EXEC_IO_PTY;
	int r = has_pty ? 0 : open_ends(exec, &ends, why);

	exec->on_refused = plan->on_refused;
	exec->on_program = plan->on_program;
	exec->on_probed = plan->on_probed;
	config.stdio = has_pty ? NULL : ends.fds;
	config.pty = has_pty ? &exec->config.size : NULL;
	config.on_pty = has_pty ? on_pty : NULL;
	config.on_refused = plan->on_refused ? on_refused : NULL;
	config.on_program = plan->on_program ? on_program : NULL;
	config.on_probed = plan->on_probed ? on_probed : NULL;
	if (r == 0) {
		exec->process =
			exec_process_start(exec->loop, &config, on_egress, on_done, exec, why);
		r = exec->process ? 0 : -ECANCELED;
	}
	close_ends(&ends);
	return r;
}

static void fail(struct exec *exec, const char *why)
{
	struct exec_process_result failed = { .end = EXEC_PROCESS_NOT_STARTED,
					      .status = CODE_NO_SANDBOX };

	(void)snprintf(failed.why, sizeof(failed.why), "%.*s", (int)sizeof(failed.why) - 1, why);
	exec_ended(exec, &failed);
}

void exec_start(struct exec *exec, const struct exec_plan_config *plan)
{
	struct err why = { 0 };

	if (exec->state != EXEC_NEW)
		return; /* stopped before */
	exec->state = EXEC_RUNNING;
	clock_begin(&exec->clock, exec->loop);
	if (start(exec, plan, &why) < 0)
		fail(exec, why.text);
	else
		exec_stop_arm(exec);
}

void exec_refuse(struct exec *exec, const char *why)
{
	if (exec->state == EXEC_NEW)
		fail(exec, why);
}
