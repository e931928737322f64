#include "tests/unit/exec/job_rig.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define GUARD_MS 60000

static void add_text(struct job_text *text, const char *bytes, size_t len)
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
	struct job_rig *rig = arg;

	ck_assert_uint_eq(count, EXEC_EGRESS_FDS);
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	rig->rig.egress_count++;
	return rig->rig.egress_result;
}

static void on_output(struct exec_job *job, const struct exec_output *output, void *arg)
{
	struct job_rig *rig = arg;

	ck_assert_ptr_eq(job, rig->job);
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
		exec_job_consumed(job, output->len);
}

static void on_end(struct exec_job *job, const struct exec_job_result *result, void *arg)
{
	struct job_rig *rig = arg;

	ck_assert_ptr_eq(job, rig->job);
	ck_assert(!rig->has_ended);
	rig->has_ended = true;
	rig->result = *result;
	ck_assert_ptr_eq(exec_job_result(job), result);
}

static void on_room(struct exec_job *job, void *arg)
{
	struct job_rig *rig = arg;

	rig->rooms_seen++;
}

void job_rig_init(struct job_rig *rig, int user)
{
	*rig = (struct job_rig){
		.events = { .on_egress = on_egress,
			    .on_end = on_end,
			    .on_output = on_output,
			    .on_room = on_room },
	};
	rig_init(&rig->rig, user);
	ck_assert(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
}

void job_rig_done(struct job_rig *rig)
{
	exec_job_free(rig->job);
	loop_step(rig->rig.loop); /* one that a callback freed */
	/* Nothing of any job is left, not even to be buried. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	for (int i = 0; i < EXEC_STREAMS; i++)
		free(rig->live[i].bytes);
	free(rig->polled.bytes);
	rig_done(&rig->rig);
}

void job_rig_new(struct job_rig *rig)
{
	rig->job = exec_job_new(rig->rig.loop, &rig->config, &rig->events, rig);
}

void job_rig_go(struct job_rig *rig, const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	rig->rig.config.argv = argv;
	exec_job_start(rig->job, &rig->rig.config);
	rig->rig.config.argv = NULL;
	ck_assert(!rig->has_ended); /* nothing is told inside the call */
}

void job_rig_start(struct job_rig *rig, const char *script)
{
	job_rig_new(rig);
	job_rig_go(rig, script);
}

static void on_guard(void *arg)
{
	ck_abort_msg("nothing happens");
}

void job_rig_turn(struct job_rig *rig)
{
	struct loop_timer guard = { 0 };

	loop_timer_start(rig->rig.loop, &guard, GUARD_MS, on_guard, NULL);
	event_base_loop(loop_base(rig->rig.loop), EVLOOP_ONCE);
	loop_timer_stop(&guard);
}

void job_rig_wait(struct job_rig *rig)
{
	while (!rig->has_ended)
		job_rig_turn(rig);
}

void job_rig_await(struct job_rig *rig, const char *text)
{
	struct job_text *seen = &rig->live[EXEC_STDOUT];

	while (!seen->bytes || !strstr(seen->bytes, text)) {
		ck_assert_msg(!rig->has_ended, "it ended, printing %s", seen->bytes);
		job_rig_turn(rig);
	}
}

static void on_poll(struct exec_job *job, const struct exec_poll *poll, void *arg)
{
	struct job_rig *rig = arg;

	ck_assert_ptr_eq(job, rig->job);
	rig->poll = *poll;
	rig->polls_seen++;
	add_text(&rig->polled, poll->bytes, poll->len);
}

const char *job_rig_poll(struct job_rig *rig, int64_t wait_ms, size_t max_bytes)
{
	unsigned int before = rig->polls_seen;

	rig->polled.len = 0;
	ck_assert_int_eq(exec_job_poll(rig->job, wait_ms, max_bytes, on_poll, rig), 0);
	ck_assert_uint_eq(rig->polls_seen, before);
	while (rig->polls_seen == before)
		job_rig_turn(rig);
	return rig->polled.bytes;
}

void job_rig_run(struct job_rig *rig, const char *script)
{
	job_rig_start(rig, script);
	job_rig_wait(rig);
}
