#include "tests/unit/exec/run/exec_rig.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define GUARD_MS 240000

static void add_text(struct exec_text *text, const char *bytes, size_t len)
{
	if (text->len + len + 1 > text->room) {
		text->room = (text->len + len + 1) * 2;
		text->bytes = mem_grow(text->bytes, text->room, 1);
	}
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
	text->bytes[text->len] = '\0';
}

static int on_egress(int *fds, size_t count, void *arg)
{
	struct exec_rig *rig = arg;

	ck_assert_uint_eq(count, EXEC_EGRESS_FDS);
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	rig->rig.egress_count++;
	return rig->rig.egress_result;
}

static void on_output(struct exec *exec, const struct exec_output *output, void *arg)
{
	struct exec_rig *rig = arg;

	ck_assert_ptr_eq(exec, rig->exec);
	ck_assert(!rig->has_ended);
	if (output->dropped > 0) {
		rig->notes_seen++;
		rig->dropped += output->dropped;
		return;
	}
	ck_assert_uint_eq(rig->notes_seen, 0); /* the note is the last */
	ck_assert_uint_gt(output->len, 0);
	ck_assert_uint_eq(output->offset, rig->live[output->stream].len);
	rig->events_seen++;
	add_text(&rig->live[output->stream], output->bytes, output->len);
	add_text(&rig->live[EXEC_MERGED], output->bytes, output->len);
	if (!rig->is_consumer_slow)
		exec_consumed(exec, output->len);
}

static void on_end(struct exec *exec, const struct exec_result *result, void *arg)
{
	struct exec_rig *rig = arg;

	ck_assert_ptr_eq(exec, rig->exec);
	ck_assert(!rig->has_ended);
	rig->has_ended = true;
	rig->result = *result;
}

static void on_room(struct exec *exec, void *arg)
{
	struct exec_rig *rig = arg;

	rig->rooms_seen++;
}

void exec_rig_init(struct exec_rig *rig, int user)
{
	*rig = (struct exec_rig){
		.events = { .on_egress = on_egress,
			    .on_end = on_end,
			    .on_output = on_output,
			    .on_room = on_room },
	};
	rig_init(&rig->rig, user);
	ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

void exec_rig_done(struct exec_rig *rig)
{
	exec_free(rig->exec);
	loop_step(rig->rig.loop); /* one that a callback freed */
	for (int i = 0; i < EXEC_STREAMS; i++)
		free(rig->live[i].bytes);
	free(rig->polled.bytes);
	rig_done(&rig->rig);
	/* Nothing of any exec is left, not even to be buried. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

void exec_rig_new(struct exec_rig *rig)
{
	rig->exec = exec_new(rig->rig.loop, &rig->config, &rig->events, rig);
}

void exec_rig_go(struct exec_rig *rig, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	rig->rig.config.argv = argv;
	exec_start(rig->exec, &rig->rig.config);
	rig->rig.config.argv = NULL;
	ck_assert(!rig->has_ended); /* nothing is told inside the call */
}

void exec_rig_start(struct exec_rig *rig, const char *script)
{
	exec_rig_new(rig);
	exec_rig_go(rig, script);
}

static void on_guard(void *arg)
{
	ck_abort_msg("nothing happens");
}

void exec_rig_turn(struct exec_rig *rig)
{
	struct loop_timer guard = { 0 };

	loop_timer_start(rig->rig.loop, &guard, GUARD_MS, on_guard, NULL);
	event_base_loop(loop_base(rig->rig.loop), EVLOOP_ONCE);
	loop_timer_stop(&guard);
}

void exec_rig_wait(struct exec_rig *rig)
{
	while (!rig->has_ended)
		exec_rig_turn(rig);
}

void exec_rig_await(struct exec_rig *rig, const char *text)
{
	struct exec_text *seen = &rig->live[EXEC_STDOUT];

	while (!seen->bytes || !strstr(seen->bytes, text)) {
		ck_assert_msg(!rig->has_ended, "it ended, printing %s", seen->bytes);
		exec_rig_turn(rig);
	}
}

static void on_poll(struct exec *exec, const struct exec_poll *poll, void *arg)
{
	struct exec_rig *rig = arg;

	ck_assert_ptr_eq(exec, rig->exec);
	rig->poll = *poll;
	rig->polls_seen++;
	add_text(&rig->polled, poll->bytes, poll->len);
}

const char *exec_rig_poll(struct exec_rig *rig, int64_t wait_ms, size_t max_bytes)
{
	unsigned int before = rig->polls_seen;

	rig->polled.len = 0;
	ck_assert_int_eq(exec_poll(rig->exec, wait_ms, max_bytes, on_poll, rig), 0);
	ck_assert_uint_eq(rig->polls_seen, before);
	while (rig->polls_seen == before)
		exec_rig_turn(rig);
	return rig->polled.bytes;
}

void exec_rig_run(struct exec_rig *rig, const char *script)
{
	exec_rig_start(rig, script);
	exec_rig_wait(rig);
}
