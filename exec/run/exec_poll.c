#include <errno.h>

#include "exec/run/exec_impl.h"

static bool is_ready(const struct exec *exec)
{
	return exec->state == EXEC_ENDED || exec->output.unread.len >= exec->poll.max ||
	       clock_running_ms(&exec->poll.clock) >= exec->poll.wait_ms;
}

void exec_poll_answer(struct exec *exec)
{
	struct exec_poll_wait *poll = &exec->poll;
	struct ring *unread = &exec->output.unread;
	exec_poll_fn done = poll->done;
	struct exec_poll answer = { .dropped = exec->output.unread_dropped };

	if (!done)
		return;
	loop_timer_stop(&poll->timer);
	poll->done = NULL;
	answer.bytes = ring_peek(unread);
	answer.len = unread->len < poll->max ? unread->len : poll->max;
	output_polled(&exec->output,
		      answer.len); /* nothing is read meanwhile, so @bytes stay valid */
	if (exec->state == EXEC_ENDED && unread->len == 0)
		answer.result = &exec->result;
	exec->depth++;
	done(exec, &answer, poll->arg);
	exec->depth--;
}

static void on_time(void *arg)
{
	struct exec *exec = arg;

	if (!is_ready(exec)) {
		exec_poll_arm(exec); /* paused, or the timer ran slightly early */
		return;
	}
	exec_poll_answer(exec);
	exec_bury(exec);
}

void exec_poll_arm(struct exec *exec)
{
	struct exec_poll_wait *poll = &exec->poll;
	int64_t left;

	if (!poll->done)
		return;
	left = poll->wait_ms - clock_running_ms(&poll->clock);
	if (is_ready(exec))
		loop_defer(exec->loop, &poll->timer, on_time, exec);
	else if (clock_is_paused(&poll->clock))
		loop_timer_stop(&poll->timer);
	else
		loop_timer_start(exec->loop, &poll->timer, left, on_time, exec);
}

void exec_poll_check(struct exec *exec)
{
	if (exec->poll.done && is_ready(exec))
		loop_defer(exec->loop, &exec->poll.timer, on_time, exec);
}

int exec_poll(struct exec *exec, int64_t wait_ms, size_t max_bytes, exec_poll_fn done, void *arg)
{
	size_t limit = exec->config.unread_max;

	if (limit == 0)
		return -EINVAL;
	if (exec->poll.done)
		return -EBUSY;
	/* A full queue is answered at once: with back-pressure no more bytes would ever come. */
	if (exec->config.window > 0 && exec->config.window < limit)
		limit = exec->config.window;
	exec->poll = (struct exec_poll_wait){
		.done = done,
		.arg = arg,
		.max = max_bytes > 0 && max_bytes < limit ? max_bytes : limit,
		.wait_ms = wait_ms,
		.clock.pauses = exec->clock.pauses,
	};
	clock_begin(&exec->poll.clock, exec->loop);
	exec_poll_arm(exec);
	return 0;
}

void exec_poll_withdraw(struct exec *exec)
{
	loop_timer_stop(&exec->poll.timer);
	exec->poll.done = NULL;
}
